"""The models are read rightly: one that holds, one that does not."""

import shutil
from pathlib import Path

import pytest

from tests.models.checking import checked

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        shutil.which("spin") is None or shutil.which("cc") is None,
        reason="spin or a C compiler is not installed",
    ),
]


def test_the_rules_in_force_decide(tmp_path: Path) -> None:
    held = checked("rules", None, tmp_path)
    assert held.violated is None
    assert not held.wrong
    assert held.states > 50, "it goes somewhere"


def test_a_mutant_is_found(tmp_path: Path) -> None:
    found = checked("rules", "IN_FORCE", tmp_path)
    assert found.violated == "(rules>=held_by)"
    assert not found.wrong
