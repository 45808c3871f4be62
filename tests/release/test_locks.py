"""The locks fit the project: what it asks for is pinned within its range, and by hashes."""

import re

import pytest
from packaging.utils import canonicalize_name

from tests.release.locks import BUILD, CI, IMAGE, ROOT, pinned, wanted

LOCKS = (IMAGE, BUILD, CI)
RENEW = "renew them: `python -m tests.release lock`"


@pytest.mark.parametrize("lock", LOCKS)
def test_what_the_project_asks_for_is_pinned_within_its_range(lock: str) -> None:
    pins = pinned(lock)
    for asked in wanted(lock):
        pin = pins.get(canonicalize_name(asked.name))
        assert pin is not None, f"{lock} lacks {asked.name}; {RENEW}"
        [version] = [one.version for one in pin.specifier]
        assert asked.specifier.contains(version), f"{lock}: {pin} is not {asked}; {RENEW}"


@pytest.mark.parametrize("lock", LOCKS)
def test_each_pin_has_hashes_and_nothing_names_a_place(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    named = {canonicalize_name(re.split(r"[=;\s]", block)[0]) for block in blocks}
    assert named == pinned(lock).keys()
    assert len(named) >= len(wanted(lock))
    shape = re.compile(r"[\w.-]+==\S+( ; [^\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n")
    assert [block for block in blocks if not shape.fullmatch(block)] == []


def test_ci_tests_with_the_versions_of_the_image() -> None:
    ours, theirs = pinned(CI), pinned(IMAGE)
    assert [name for name in ours.keys() & theirs.keys() if ours[name] != theirs[name]] == []
