"""
I17 to I30 held against the whole router, a short run on every change.

`python -m tests.sim --seeds 2000` is the long one. Each promise is a check of `promises`, found by
its number.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from tests.acceptance.process import ROOT
from tests.sim.promises import CHECKS, broken
from tests.sim.seeds import BATCHES, named
from tests.sim.steps import STEPS
from tests.sim.whole import Whole, lived

NUMBERS = range(17, 31)
MEASURED = 24
"""Seeds that together must put every promise to the test."""


@pytest.mark.long
@BATCHES
def test_every_promise_holds(seeds: list[int]) -> None:
    for seed in seeds:
        with named(seed):
            assert broken(lived(seed))[:5] == []


@cache
def _lives() -> tuple[Whole, ...]:
    worlds = tuple(lived(seed) for seed in range(MEASURED))
    assert [broken(world) for world in worlds] == [[]] * MEASURED
    return worlds


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"I{number}")
def test_each_promise_is_put_to_the_test(number: int) -> None:
    """A check that nothing ever meets would show nothing."""
    assert sum(world.history.met[f"I{number}"] for world in _lives()) > 0


@pytest.mark.parametrize("step", STEPS)
def test_a_process_dies_at_each_named_step_and_everything_holds(step: str) -> None:
    for seed in range(40):
        world = lived(seed, step)
        assert broken(world) == [], f"seed {seed}, dies {step}"
        if step in world.history.crashes:
            return
    pytest.fail(f"no process of 40 seeds came to die {step}")


def test_the_same_seed_gives_the_same_life() -> None:
    first, again = lived(11), lived(11)
    assert first.history.begun == again.history.begun
    assert first.history.attempts == again.history.attempts


# The table of the promises: docs/dev/promises.md

ROW = re.compile(r"^\| I(\d+) \|.*\|(.*)\|$", re.MULTILINE)
CHECKED = re.compile(r"`([\w/]+\.py)(?:::(\w+))?`")
NUMBERED = re.compile(r"\bdef (test(?:_i\d+)+_\w+)\(")


def _table() -> dict[int, list[tuple[str, str]]]:
    page = (ROOT / "docs" / "dev" / "promises.md").read_text("utf-8")
    rows = {int(number): checks for number, checks in ROW.findall(page)}
    return {number: CHECKED.findall(checks) for number, checks in rows.items()}


def _numbered_tests() -> dict[tuple[str, str], set[int]]:
    """Every test whose name carries numbers, by its file and name."""
    found = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in NUMBERED.findall(path.read_text("utf-8")):
            place = path.relative_to(ROOT / "tests").as_posix()
            numbers = {int(n) for n in re.findall(r"(?<=_i)\d+(?=_)", name)}
            found[place, name] = {n for n in numbers if n in NUMBERS}
    return {key: numbers for key, numbers in found.items() if numbers}


def test_the_checks_have_the_numbers_of_the_list_and_no_others() -> None:
    assert sorted(CHECKS) == list(NUMBERS)
    assert sorted(_table()) == list(NUMBERS)


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"I{number}")
def test_a_promise_of_the_table_has_its_checks(number: int) -> None:
    checks = _table()[number]
    assert ("sim/promises.py", CHECKS[number].__name__) in checks
    for place, name in checks:
        path = ROOT / "tests" / place
        assert path.is_file(), place
        assert not name or re.search(rf"\bdef {name}\(", path.read_text("utf-8")), (place, name)


def test_a_test_with_a_number_stands_in_the_table() -> None:
    table = _table()
    missing = [
        (key, number)
        for key, numbers in _numbered_tests().items()
        for number in numbers
        if key not in table[number] and (key[0], "") not in table[number]
    ]
    assert missing == []


def test_the_table_is_not_read_as_empty() -> None:
    assert len(_numbered_tests()) > 20
    assert Path(ROOT / "docs" / "dev" / "promises.md").is_file()
