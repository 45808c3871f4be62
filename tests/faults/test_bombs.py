"""Hostile rules files, each in a process of its own; `python -m tests.faults.bombs` has all."""

import sys
from pathlib import Path

import pytest

from tests.faults.bombs import MEMORY, SECONDS, Ended, check
from tests.faults.hostile_rules import BOMBS, Bomb

pytestmark = pytest.mark.long

QUICK = (
    "a billion laughs",
    "101 aliases",
    "2,000 brackets",
    "16 MiB of brackets",
    "a key of 1 MiB",
    "an integer of a million digits",
    "tags that make objects",
    "16 MiB of zeros",
    "a condition of 15 MiB",
    "100,000 parentheses",
    "a glob of a thousand stars",
    "200,000 templates in a text",
    "a chain of 5,000 definitions",
    "3,000 misspelt endpoints",
    "5,000 actions in a circle",
    "includes in a circle",
    "an include of an endless device",
)


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are capped on Linux alone")
@pytest.mark.parametrize("name", QUICK)
def test_it_ends_in_words_in_time_and_in_little_memory(name: str, tmp_path: Path) -> None:
    [bomb] = [one for one in BOMBS if one.name == name]
    assert check(bomb, tmp_path).problems(bomb) == []


def test_names_tell_bombs_apart() -> None:
    assert len({one.name for one in BOMBS}) == len(BOMBS) >= 100


@pytest.mark.parametrize(
    ("ended", "word"),
    [
        (Ended(0, 0.1, 1, "ok"), "ended with 0"),
        (Ended(1, 0.1, 1, ""), "said"),
        (Ended(1, 0.1, 1, "Traceback (most recent call last)"), "said"),
        (Ended(1, 0.1, 1, "router: unexpected MemoryError"), "said"),
        (Ended(1, SECONDS + 1, 1, "error"), "took 11.0 s"),
        (Ended(1, 0.1, 2 * MEMORY, "error"), "took 512 MiB"),
        (Ended(-9, 0.1, 1, "error"), "ended with -9"),
    ],
)
def test_what_is_a_problem(ended: Ended, word: str) -> None:
    [problem] = ended.problems(Bomb("b", dict))
    assert problem.startswith(f"b: {word}")


def test_what_is_none() -> None:
    assert Ended(1, SECONDS, MEMORY, "error").problems(Bomb("b", dict)) == []
