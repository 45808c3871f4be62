"""The tool finds bugs of each kind, switches them, and compares rates."""

import json
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.power import sites
from tests.power.__main__ import ROOT
from tests.power.ledger import AREAS, Rate, chance, fallen, in_no_area, read, write
from tests.power.sites import Site, planted

SOURCE = b'''"""A module, 1."""
LIMIT = 3


@cached(size=7)
def told(ages: "list[1]", name: str = "ann", *, most: int = 9) -> list[int]:
    """A docstring, 2."""
    total = 4
    for age in ages:
        total += age
    if name and total > most:
        ages.append(total - len(f"{name + name}"))
    match total:
        case 8:
            return [age for age in ages if age]
    return ages if (
        total == 16  # a comment
    ) else sorted(ages, reverse=True)
'''
CALL = 'ages.append(total - len(f"{name + name}"))'
BUGS = {
    ("number", "4", "5"),
    ("sum left out", "total += age", "pass"),
    ("branch", "name and total > most", "not (name and total > most)"),
    ("and/or", "name and total > most", "name or total > most"),
    ("comparison", "total > most", "total >= most"),
    ("call left out", CALL, "None"),
    ("sign", CALL[12:-1], "total + len(f'{name + name}')"),
    ("return", "[age for age in ages if age]", "None"),
    ("filter", "age", "True"),
    ("return", SOURCE[SOURCE.index(b"ages if (") : -1].decode(), "None"),
    ("branch", "total == 16", "not (total == 16)"),
    ("comparison", "total == 16", "total != 16"),
    ("number", "16", "17"),
    ("bool", "True", "False"),
}
FOUND = list(sites.sites("p", "f.py", SOURCE))


def test_bugs_of_each_kind_are_found_and_no_others() -> None:
    assert {(site.kind, site.old, site.new) for site in FOUND} == BUGS
    assert len(FOUND) == len(BUGS)


def answers(source: bytes, on: int) -> list[Any]:
    """What the sample returns with this bug on."""

    def cached(size: int) -> Callable[[Any], Any]:
        return lambda function: [function, size][0]

    names: dict[str, Any] = {"cached": cached, "_mut": lambda number: number == on}
    exec(compile(source, "f.py", "exec"), names)  # noqa: S102 - the sample with a bug in it
    cases = ([1, 2], "ann"), ([5], "ann"), ([9], "ann"), ([4, 0], "x"), ([3, 9], ""), ([1, 12], "")
    return [names["told"](list(ages), name) for ages, name in cases]


@pytest.mark.parametrize("site", FOUND, ids=lambda site: f"{site.kind} {site.line}")
def test_a_bug_is_felt_while_it_is_on(site: Site) -> None:
    source = planted(SOURCE, [(5, site)])
    assert answers(source, on=4) == answers(SOURCE, on=4)
    assert answers(source, on=5) != answers(SOURCE, on=5)


def test_no_bug_lies_within_another() -> None:
    some = sites.drawn(ROOT, "metrics", 60, seed=1)
    places = sorted((site.file, site.start, site.end) for site in some)
    for (file, _, end), (other, start, _) in pairwise(places):
        assert file != other or end <= start
    assert sites.drawn(ROOT, "metrics", 20, seed=1) == some[:20]
    assert sites.drawn(ROOT, "metrics", 20, seed=2) != some[:20]


@pytest.mark.parametrize(
    ("now", "first", "expected"),
    [
        ((1, 4), (3, 4), 17 / 70),  # Fisher's lady tasting tea
        ((0, 4), (4, 4), 1 / 70),
        ((1, 12), (9, 12), 0.001_379_7),  # the example of most textbooks
        ((0, 3), (2, 3), 1 / 5),
        ((3, 3), (0, 3), 1),
        ((0, 0), (5, 9), 1),
    ],
)
def test_how_likely_so_few_are(
    now: tuple[int, int], first: tuple[int, int], expected: float
) -> None:
    assert chance(now, first) == pytest.approx(expected, rel=1e-4)


def rates(**caught: int) -> dict[str, Rate]:
    return {name: Rate(number, 60, 0, 1, 300, "0123abcd") for name, number in caught.items()}


@pytest.mark.parametrize(
    ("now", "worse"),
    [
        (rates(store=45, dispatch=45, cli=45), []),
        (rates(store=20, dispatch=60, cli=50), []),
        (rates(store=45, dispatch=45, cli=20), ["road", "all"]),
        (rates(store=35, dispatch=35, cli=60), ["ledger"]),
        (rates(store=37, dispatch=37, cli=37), ["all"]),
        (rates(store=45, dispatch=45), []),  # a package that went took its bugs with it
    ],
)
def test_an_area_is_judged_by_its_packages_together(now: dict[str, Rate], worse: list[str]) -> None:
    found = fallen(now, rates(store=45, dispatch=45, cli=45))
    assert [line.partition(":")[0] for line in found] == worse


def test_every_package_is_in_one_area() -> None:
    names = [name for some in AREAS.values() for name in some.split()]
    assert len(names) == len(set(names))
    assert in_no_area([*sites.packages(ROOT), "cellar"]) == {"cellar"}


def test_the_first_rates_stay(tmp_path: Path) -> None:
    place = tmp_path / "ledger.json"
    write(rates(store=45, cli=40), place)
    write(rates(cli=30), place)
    assert read(place) == (rates(store=45, cli=40), rates(store=45, cli=30))


FILES = {
    "router/__init__.py": "",
    "router/pytest_plugin.py": "",  # pytest loads it where the real one is installed
    "router/log/__init__.py": """
import functools

def larger(one, other):
    if one > other:
        return one
    return other

@functools.cache
def table():
    return {"a": 1}

def unseen():
    return [].copy()
""",
    "tests/test_log.py": """
import os, subprocess, sys
from router import log

PARENT = os.getpid()

def test_of_a_process():
    code = "import sys; from router import log; sys.exit(log.larger(1, 2) != 2)"
    subprocess.run([sys.executable, "-P", "-c", code], check=True, env={}, cwd="/")

def test_of_a_cache():
    assert log.table() == {"a": 1}

def test_that_fails_in_every_fork():
    assert log.larger(4, 3) == 4
    assert os.getpid() == PARENT

def test_that_fails_now_and_then():
    with open("runs", "a+") as file:
        file.write("x")
        log.larger(4, 3)
        assert file.tell() % 3 != 2
""",
}


def test_a_project_of_one_module(tmp_path: Path) -> None:
    """Bugs are caught in other processes and behind caches, not by tests that fail anyway."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "a"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    rows = tmp_path / "rows"
    command = [sys.executable, "-m", "tests.power", "log", "--jobs=1"]
    subprocess.run([*command, f"--root={tmp_path}", f"--rows={rows}"], cwd=ROOT, check=True)
    found = map(json.loads, rows.read_text().splitlines())
    caught = {row["what"].split(" ", 1)[1]: row["caught_by"].partition("::")[2] for row in found}
    assert caught == {
        "branch: one > other -> not (one > other)": "test_of_a_process",
        "return: one -> None": "",
        "return: other -> None": "test_of_a_process",
        "number: 1 -> 2": "test_of_a_cache",
        "return: [].copy() -> None": "",
    }
