"""Did you mean: near names, within a budget."""

import pytest

from router.suggest import (
    FixHint,
    Suggester,
    begun_alike,
    by_beginning,
    closest,
    edit_distance,
    meaning,
)


@pytest.mark.parametrize(
    ("name", "found"),
    [("mathc", ["match"]), ("whn", ["when"]), ("evnts", ["events"]), ("xxxxxx", []), ("ab", [])],
)
def test_nearest(name: str, found: list[str]) -> None:
    assert Suggester().closest(name, ["match", "when", "events", "id"]) == found


def test_short_names_may_differ_by_one_only() -> None:
    assert Suggester().closest("shp", ["shop"]) == ["shop"]
    assert Suggester().closest("sp", ["shop"]) == []


@pytest.mark.parametrize(
    ("a", "b", "distance"), [("", "", 0), ("ab", "ba", 1), ("abc", "abd", 1), ("abc", "x", 3)]
)
def test_distance(a: str, b: str, distance: int) -> None:
    assert edit_distance(a, b, 9) == distance


def test_work_is_bounded() -> None:
    suggest = Suggester(work=10)
    names = [f"name{i:04}" for i in range(1000)]
    assert suggest.closest("nome0999", names) == []


def test_long_names_use_the_budget_up_sooner() -> None:
    """What costs is letters, not names: a name may be a megabyte long."""
    suggest = Suggester(work=1_000)
    assert suggest.closest("a" * 40, ["b" * 40, "a" * 39]) == []
    assert Suggester(work=10_000).closest("a" * 40, ["b" * 40, "a" * 39]) == ["a" * 39]


def test_a_lone_near_name_is_a_fix_and_one_of_several_is_only_a_hint() -> None:
    lone = meaning("shp", Suggester().closest("shp", ["shop", "mail"]), lambda name: f"<{name}>")
    assert isinstance(lone, FixHint)
    assert (lone, lone.text) == ("did you mean 'shop'?", "<shop>")
    several = Suggester().hint("shap", ["shop", "ship"])
    assert several == "did you mean 'shop'?"
    assert not isinstance(several, FixHint)


def test_a_word_that_may_be_near_by_chance_is_only_a_hint() -> None:
    assert Suggester().hint("amount", ["account"]) == "did you mean 'account'?"
    assert not isinstance(Suggester().hint("amount", ["account"]), FixHint)
    assert isinstance(Suggester().hint("ORDERS/PIAD", ["orders/paid"]), FixHint)


@pytest.mark.parametrize(
    ("word", "known", "result"),
    [
        ("lowre", ["lower", "upper"], ["lower"]),
        ("teh", ["the", "tea"], ["the", "tea"]),
        ("cat", ["dog"], []),
        ("abcd", ["abxy"], []),
        ("repositry", ["repository"], ["repository"]),
    ],
)
def test_the_closest_of_some_words(word: str, known: list[str], result: list[str]) -> None:
    assert closest(word, known) == result


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
        ("assignee", "assigneeId"),
        ("labels", "labelIds"),
        ("id", "ip"),
        ("cc", "bcc"),
        ("ids", "id"),
    ],
)
def test_two_words_are_no_misspellings_of_each_other(name: str, other: str) -> None:
    assert Suggester().closest(name, [other]) == []
    assert Suggester().closest(other, [name]) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("unlabled", "unlabeled"),
        ("lable", "label"),
        ("ID", "id"),
        ("reopend", "reopened"),
        ("userId", "user_id"),
    ],
)
def test_a_misspelling_of_such_a_word_is_one(name: str, meant: str) -> None:
    assert Suggester().closest(name, ["labeled", meant, "opened"]) == [meant]


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("open", ["closed", "opened", "reopened"], "opened"),
        ("charge.success", ["charge.failed", "charge.succeeded"], "charge.succeeded"),
        ("charge.failure", ["charge.failed", "charge.succeeded"], "charge.failed"),
        ("customer.subscription", ["customer.subscription.a.b", "customer.subscription.a"], "…a"),
        ("approve", ["APPROVED"], "APPROVED"),
        ("invoice.payment_done", ["invoice.payment_failed"], None),
        ("compared", ["completed"], None),
        ("sub", ["submitted"], None),
        ("open", ["reopened"], None),
        ("assignee", ["assigneeId"], None),
    ],
)
def test_a_word_that_begins_alike(name: str, known: list[str], meant: str | None) -> None:
    meant = meant and meant.replace("…", "customer.subscription.")
    hint = begun_alike(name, known)
    assert hint == (f"did you mean '{meant}'?" if meant else None)
    assert not isinstance(hint, FixHint)


def test_the_nearest_of_a_list_come_first() -> None:
    assert by_beginning("Paid", ["part", "open", "PAID_OUT"]) == ["PAID_OUT", "part", "open"]
