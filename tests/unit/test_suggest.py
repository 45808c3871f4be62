"""Did you mean: near names, within a budget."""

import pytest

from router.suggest import Suggester, edit_distance


@pytest.mark.parametrize(
    ("name", "found"),
    [("mathc", "match"), ("whn", "when"), ("evnts", "events"), ("xxxxxx", None), ("ab", None)],
)
def test_nearest(name: str, found: str | None) -> None:
    assert Suggester().nearest(name, ["match", "when", "events", "id"]) == found


def test_short_names_may_differ_by_one_only() -> None:
    assert Suggester().nearest("shp", ["shop"]) == "shop"
    assert Suggester().nearest("sp", ["shop"]) is None


@pytest.mark.parametrize(
    ("a", "b", "distance"), [("", "", 0), ("ab", "ba", 1), ("abc", "abd", 1), ("abc", "x", 3)]
)
def test_distance(a: str, b: str, distance: int) -> None:
    assert edit_distance(a, b, 9) == distance


def test_work_is_bounded() -> None:
    suggest = Suggester(work=10)
    names = [f"name{i:04}" for i in range(1000)]
    assert suggest.nearest("nome0999", names) is None


def test_long_names_use_the_budget_up_sooner() -> None:
    """What costs is letters, not names: a name may be a megabyte long."""
    suggest = Suggester(work=1_000)
    assert suggest.nearest("a" * 40, ["b" * 40, "a" * 39]) is None
    assert Suggester(work=10_000).nearest("a" * 40, ["b" * 40, "a" * 39]) == "a" * 39
