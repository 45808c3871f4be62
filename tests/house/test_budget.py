"""Sizes and imports of the router's inside may only fall; some folders import nothing of it."""

from pathlib import Path

import pytest

from tests.house import budget
from tests.house.measuring import (
    IMPORTS,
    TESTS,
    TOP,
    TOTAL,
    Share,
    Sources,
    imported,
    is_inside,
    measured,
    shares,
)

OUTSIDE = (
    "acceptance",
    "benchmarks",
    "browser",
    "deploy",
    "fleet",
    "hostile",
    "models",
    "plugins",
    "postgres",
    "release",
    "soak",
    "stores",
    "tasks",
)
"""Folders that know the router from outside, so that its inside may change without them."""
INSIDE = {
    "tests.acceptance.test_store_copy": "holds up a copy at one of its steps",
    "tests.benchmarks.test_seed": "asks retention what it would remove",
    "tests.browser.screenshots": "fills a day's activity",
    "tests.browser.test_pages": "holds the table of pages to the routes",
    "tests.fleet.test_standby": "one acceptance, and one commit of it",
    "tests.stores.test_stores": "knows how many schemas there are",
}
"""Modules of these folders that import the inside all the same, and what for."""


@pytest.fixture(scope="module")
def sources() -> Sources:
    """Ours: they are read once."""
    return Sources()


def test_nothing_is_above_its_number(sources: Sources) -> None:
    problems = budget.above(measured(sources), budget.read())
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", [TOP, "store", TOTAL, TESTS, IMPORTS])
def test_a_number_that_is_too_low_is_told(name: str, sources: Sources) -> None:
    numbers = measured(sources)
    [said] = budget.above(numbers, {**numbers, name: numbers[name] - 3})
    assert said.startswith(f"{name}: ")
    assert "3 above its number" in said
    assert f"python -m tests.house --raise {name!r}" in said


def test_a_new_package_has_no_number() -> None:
    [said] = budget.above({"new": 10, "old": 5}, {"old": 5})
    assert "new: 10, 10 above its number in tests/house/budget.json (none)" in said


def test_numbers_fall_and_rise_only_if_they_are_named() -> None:
    kept = {"shrunk": 5, "grown": 5, "raised": 5, "gone": 5}
    numbers = {"shrunk": 3, "grown": 8, "raised": 8, "new": 8}
    assert budget.lowered(numbers, kept, ["raised"]) == {"shrunk": 3, "grown": 5, "raised": 8}
    assert budget.lowered(numbers, kept, ["new"])["new"] == 8


def test_the_file_has_a_line_for_each() -> None:
    assert budget.written({"a": 1, TOTAL: 2}) == '{\n  "a": 1,\n  "total": 2\n}\n'


def tree(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_lines_and_imports_are_counted(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        router__a="1\n2\n",
        router__store__b="1\n",
        router__store__sqlite__c="1\n2",
        tests__test_d="from router.store import b, sqlite\nimport router.a\n",
    )
    counts = {TOP: 2, "store": 2, TOTAL: 4, TESTS: 2, IMPORTS: 3}
    assert measured(Sources(root)) == counts


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("from router.store.values import Job, Run", 2),
        ("def f():\n    import router.errors", 1),
        ("from router import clock", 1),
        ("from router.cli.main import run", 0),
        ("from router.cli import main", 0),
        ("from router.plugin import Event", 0),
        ("import router.pytest_plugin", 0),
        ("from router.plugin_host import pool", 1),
        ("from tests.router import a", 0),
        ("import routers", 0),
    ],
)
def test_what_is_inside(source: str, count: int) -> None:
    assert sum(map(is_inside, imported(source))) == count


def test_a_file_reaches_the_inside_by_others(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        tests__helper="import router.clock\n",
        tests__between="from tests import helper\n",
        tests__far__test_a="from tests.between import helper\n",
        tests__far__test_b="\n\n",
        tests__far__wrong="def wrong(\n",
    )
    sources = Sources(root)
    assert sources.reached("tests.far.test_a") == {"tests.helper": ["router.clock"]}
    assert shares(sources) == {".": Share(2, 1, 1), "far": Share(4, 0, 1)}


def test_folders_outside_do_not_reach_inside(sources: Sources) -> None:
    """Neither do they by a helper; each exception has its reason, and is one."""
    found = {
        module: reached
        for module in sources.files
        if module.split(".")[1:2] and module.split(".")[1] in OUTSIDE
        if (reached := sources.reached(module))
    }
    assert {module: reached for module, reached in found.items() if module not in INSIDE} == {}
    assert INSIDE.keys() <= found.keys()
