"""
Planted faults, each found at its line and column, and right files, about which nothing is said.

In the files of this folder a comment marks each fault of the line above it: the `^` stands under
its first character, the code behind it. `#@-1:18 CODE` names lines back and column, for texts that
cannot hold comments. What is not marked must not be said.
"""

import re
from pathlib import Path

import pytest

from router.config import load, render_text
from router.errors import Diagnostic

HERE = Path(__file__).parent / "planted"
PLANTED = sorted(HERE.glob("*.yaml"))
RIGHT = sorted((HERE / "right").glob("*.yaml"))
LEAST_PLANTED = 60
LEAST_RIGHT = 30
_UNDER = re.compile(r" *# *(\^) ([a-z-]+)")
_BACK = re.compile(r" *#@-(\d+):(\d+) ([a-z-]+)")

Place = tuple[int, int, str]


def marked(text: str) -> set[Place]:
    """(line, column, code) of every mark."""
    found, above = set(), 0
    for number, line in enumerate(text.splitlines(), 1):
        if under := _UNDER.fullmatch(line):
            found.add((above, under.start(1) + 1, under[2]))
        elif back := _BACK.fullmatch(line):
            found.add((number - int(back[1]), int(back[2]), back[3]))
        else:
            above = number
    return found


def said(path: Path) -> tuple[Diagnostic, ...]:
    return load(path.read_text("utf-8"), path=path.name, env={}).diagnostics


@pytest.mark.parametrize("path", PLANTED, ids=lambda path: path.stem)
def test_every_planted_fault_is_found_in_its_place_and_nothing_else(path: Path) -> None:
    found = {(d.line, d.column, d.code): d for d in said(path)}
    planted = marked(path.read_text("utf-8"))
    missed = planted - set(found)
    extra = render_text(d for place, d in found.items() if place not in planted)
    assert not missed, f"not found: {sorted(missed)}\nand not planted:\n{extra}"
    assert not extra


def test_there_are_enough_of_them() -> None:
    assert sum(len(marked(path.read_text("utf-8"))) for path in PLANTED) >= LEAST_PLANTED
    assert len(RIGHT) >= LEAST_RIGHT


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_a_right_file_hears_nothing(path: Path) -> None:
    assert render_text(said(path)) == ""
