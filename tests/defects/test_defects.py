"""The list of defects does not rot, and a few are planted; `python -m tests.defects` plants all."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest

from tests.defects import ALL, PUBLISHED
from tests.defects.defect import ROOT, Defect, Edit, Rotten, defect
from tests.defects.proving import Copy, Outcomes, copies, judged

SOME = (7, 11, 24)
"""A comparison, a statement of SQL, a query: each where the copy might not be what is tested."""


@pytest.mark.parametrize("one", ALL, ids=lambda one: str(one.number))
def test_what_a_defect_changes_stands_there_once(one: Defect) -> None:
    one.check(ROOT)


@pytest.mark.parametrize("one", ALL, ids=lambda one: str(one.number))
def test_the_tests_that_must_catch_it_are_there(one: Defect) -> None:
    assert one.caught_by
    for node in one.caught_by:
        file, _, name = node.partition("::")
        assert name.partition("[")[0] in names_in(file), node


@cache
def names_in(file: str) -> frozenset[str]:
    """The names of a file's tests."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def test_no_number_is_given_twice_and_the_published_ones_are_all_there() -> None:
    """A number goes with its feature, and no other defect gets it."""
    assert len({one.number for one in ALL}) == len(ALL)
    assert [one.number for one in PUBLISHED] == list(range(1, 26))


@pytest.fixture(scope="module")
def copy() -> Iterator[Copy]:
    with copies(1) as (one,):
        yield one


@pytest.mark.long
@pytest.mark.parametrize("number", SOME)
def test_it_is_caught(number: int, copy: Copy) -> None:
    [one] = [one for one in ALL if one.number == number]
    verdict = copy.prove(one)
    assert verdict.state == "caught", verdict.output
    assert verdict.saw == one.caught_by


@pytest.mark.long
def test_without_a_defect_nothing_is_caught_and_the_copy_is_as_before(copy: Copy) -> None:
    harmless = defect(
        0,
        "nothing at all",
        Edit("router/egress.py", '"127.0.0.0/8",', '"127.0.0.0/8", '),
        "unit/test_egress.py::test_local_names",
    )
    place = copy.root / "router/egress.py"
    before = place.read_bytes()
    assert copy.prove(harmless).state == "survived"
    assert place.read_bytes() == before == (ROOT / "router/egress.py").read_bytes()


def test_a_text_that_is_not_there_once_is_said() -> None:
    rotten = (Edit("router/egress.py", "no such text", ""), Edit("router/egress.py", "a", "b"))
    for edit in rotten:
        with pytest.raises(Rotten, match=r"found \d+ times in router/egress.py, not once"):
            defect(0, "gone", edit, "unit/test_egress.py::test_local_names").check(ROOT)


@pytest.mark.parametrize(
    ("status", "said", "state"),
    [
        (1, {"tests/a.py::x[1]": {"passed"}, "tests/a.py::x[2]": {"failed"}}, "caught"),
        (1, {"tests/a.py::xy": {"failed"}, "tests/a.py::x": {"passed"}}, "survived"),
        (0, {"tests/a.py::x": {"skipped"}}, "not shown"),
        (2, {}, "broken"),
        (0, {}, "broken"),
    ],
)
def test_what_counts_as_caught(status: int, said: dict[str, set[str]], state: str) -> None:
    one = defect(0, "any", Edit("f", "a", "b"), "a.py::x")
    assert judged(one, Outcomes(status, said, ""), 0.0).state == state
