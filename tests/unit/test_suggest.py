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


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("unlabeled", "labeled"),
        ("issues.labeled", "issues.unlabeled"),
        ("pull_request.dequeued", "pull_request.enqueued"),
        ("deactivated", "activated"),
        ("dislike", "like"),
        ("reopened", "opened"),
        ("inactive", "active"),
        ("id", "ip"),
        ("cc", "bcc"),
        ("ids", "id"),
    ],
)
def test_two_words_are_no_misspellings_of_each_other(name: str, other: str) -> None:
    assert Suggester().nearest(name, [other]) is None
    assert Suggester().nearest(other, [name]) is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [("unlabled", "unlabeled"), ("lable", "label"), ("ID", "id"), ("reopend", "reopened")],
)
def test_a_misspelling_of_such_a_word_is_one(name: str, meant: str) -> None:
    assert Suggester().nearest(name, ["labeled", meant, "opened"]) == meant
