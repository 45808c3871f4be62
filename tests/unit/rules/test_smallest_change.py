"""The smallest change is told for every kind of test, either way round, and under denials."""

from decimal import Decimal
from typing import Any

import pytest

from router.expressions import compile as compiled
from router.expressions.trace import TracePart, part_of, trace
from router.rules.smallest_change import smallest_change

PAYLOAD: dict[str, Any] = {
    "a": "x",
    "n": 3,
    "price": "398.00",
    "total": Decimal("398.00"),
    "tags": ["new"],
    "yes": True,
    "none": None,
    "ref": "refs/tags/v1",
}


def needed(text: str, *, denied: bool = False) -> tuple[str, str, str | None]:
    test = part_of(compiled(text))
    seen = trace(TracePart("not", (test,)) if denied else test, {"payload": PAYLOAD})
    [leaf] = [leaf for leaf in seen.leaves if leaf.failed]
    found = smallest_change(leaf)
    return found.of, found.needs, None if found.found is None else found.found.type


@pytest.mark.parametrize(
    ("text", "of", "needs"),
    [
        ("payload.a == 'y'", "payload.a", "needs 'y'"),
        ("'y' == payload.a", "payload.a", "needs 'y'"),
        ("payload.a != 'x'", "payload.a", "must not be 'x'"),
        ("!(payload.a == 'x')", "payload.a", "must not be 'x'"),
        ("payload.total > 500", "payload.total", "needs > 500"),
        ("500 <= payload.total", "payload.total", "needs >= 500"),
        ("!(payload.n >= 3)", "payload.n", "needs < 3"),
        ("payload.n == payload.total", "payload.n", "needs payload.total"),
        (
            "starts_with(payload.ref, 'refs/heads/')",
            "payload.ref",
            "needs to begin with 'refs/heads/'",
        ),
        ("!starts_with(payload.ref, 'refs/')", "payload.ref", "must not begin with 'refs/'"),
        ("ends_with(payload.ref, 'v2')", "payload.ref", "needs to end with 'v2'"),
        ("contains(payload.tags, 'vip')", "payload.tags", "needs to contain 'vip'"),
        ("contains(['y', 'z'], payload.a)", "payload.a", "needs to be one of ['y', 'z']"),
        ("!contains(['x', 'z'], payload.a)", "payload.a", "must be none of ['x', 'z']"),
        ("glob(payload.a, 'y*')", "payload.a", "needs to fit 'y*'"),
        ("matches(payload.a, '^y')", "payload.a", "needs to fit '^y'"),
        ("any_glob(payload.tags, 'y*')", "payload.tags", "needs a text that fits 'y*'"),
        ("exists(payload.gone)", "payload.gone", "needs to be there"),
        ("!exists(payload.a)", "payload.a", "must not be there"),
        ("payload.none", "payload.none", "needs to be true, or not empty"),
        ("!payload.yes", "payload.yes", "needs to be false, null or empty"),
        (
            "payload.tags[?@ == 'vip']",
            "payload.tags[?@ == 'vip']",
            "needs to be true, or not empty",
        ),
        (
            "cidr(payload.ref, ['10.0.0.0/8'])",
            "cidr(payload.ref, ['10.0.0.0/8'])",
            "needs to be true, or not empty",
        ),
    ],
)
def test_what_a_leaf_needed(text: str, of: str, needs: str) -> None:
    assert needed(text)[:2] == (of, needs)


def test_under_not_it_is_the_contrary() -> None:
    assert needed("payload.n > 2", denied=True) == ("payload.n", "needs <= 2", "number")
    assert needed("payload.yes", denied=True)[1] == "needs to be false, null or empty"


def test_what_was_found_goes_with_it() -> None:
    assert needed("payload.gone > 5") == ("payload.gone", "needs > 5", "absent")


@pytest.mark.parametrize(
    "text", ["payload.price > 300", "payload.price == 398", "300 < payload.price"]
)
def test_a_number_in_a_text_is_named(text: str) -> None:
    [leaf] = trace(compiled(text), {"payload": PAYLOAD}).leaves
    assert smallest_change(leaf).hint == "it is a text; write decimal(payload.price)"


def test_other_texts_are_not() -> None:
    [leaf] = trace(compiled("payload.a > 300"), {"payload": PAYLOAD}).leaves
    assert smallest_change(leaf).hint is None
