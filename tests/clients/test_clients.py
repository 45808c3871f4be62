"""The short form of `python -m tests.clients`."""

import time

import pytest

from router.providers import builtin
from tests.clients.cases import changes_of
from tests.clients.compare import compared
from tests.clients.libraries import LIBRARIES, Library

CASES = 300


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda found: found.provider)
def test_the_senders_own_library_agrees(library: Library) -> None:
    if not library.installed:
        pytest.skip(f"{library.package} is not installed: pip install -e '.[clients]'")
    found = compared(library, CASES, seed=1, now_s=int(time.time()))
    assert found.differences == []
    assert CASES // 10 < found.genuine < CASES
    assert len({how for how, _ in found.verdicts}) >= len(changes_of(builtin()[library.provider]))
