"""Traced evaluation: every leaf with its verdict, place and values."""

from decimal import Decimal
from typing import Any

import pytest

from router.expressions import Definitions, Failed
from router.expressions import compile as compiled
from router.expressions.trace import Leaf, TracePart, part_of, trace

SCOPE: dict[str, Any] = {
    "event": "orders/paid",
    "payload": {"a": "x", "n": "5", "price": Decimal("1.50"), "tags": ["vip"], "none": None},
}


def leaves(text: str) -> tuple[Leaf, ...]:
    return trace(compiled(text), SCOPE).leaves


def reported(text: str) -> list[tuple[str, str]]:
    return [(leaf.text, leaf.verdict) for leaf in leaves(text)]


def test_the_leaves_are_what_and_or_and_not_join() -> None:
    assert reported("payload.a == 'x' && (payload.none || !(payload.n == '4' || payload.b))") == [
        ("payload.a == 'x'", "true"),
        ("payload.none", "false"),
        ("payload.n == '4'", "false"),
        ("payload.b", "false"),
    ]


def test_leaves_are_numbered_and_have_their_place() -> None:
    seen = leaves("payload.a == 'x' && payload.n")
    assert [(leaf.number, leaf.start, leaf.end) for leaf in seen] == [(1, 0, 16), (2, 20, 29)]
    assert trace(compiled("event"), SCOPE, first=7).leaves[0].number == 7


def test_a_denied_path_is_one_leaf() -> None:
    [leaf] = leaves("!payload.none")
    assert (leaf.text, leaf.verdict, leaf.failed) == ("!payload.none", "true", False)
    assert leaf.found[0].text == "payload.none"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("payload.a == 'x'", [("payload.a", "string", "x")]),
        ("'x' != payload.a", [("payload.a", "string", "x")]),
        ("payload.price > 1", [("payload.price", "number", Decimal("1.50"))]),
        ("payload.none == null", [("payload.none", "null", None)]),
        ("payload.gone == null", [("payload.gone", "absent", None)]),
        ("payload.a == payload.n", [("payload.a", "string", "x"), ("payload.n", "string", "5")]),
        ("contains(payload.tags, 'vip')", [("payload.tags", "array", ["vip"])]),
        ("length(payload.tags) == 1", [("length(payload.tags)", "number", 1)]),
    ],
)
def test_a_leaf_has_what_was_found(text: str, found: list[tuple[str, str, Any]]) -> None:
    [leaf] = leaves(text)
    assert [(f.text, f.type, f.value) for f in leaf.found] == found


def test_an_error_says_why() -> None:
    one, two = leaves("payload.gone == 'x' && payload.n > 3")
    assert (one.verdict, one.reason) == ("error", "payload.gone is not there")
    assert two.verdict == "error"
    assert "is a string; " in (two.reason or "")


def test_a_value_that_cannot_be_had_says_why_too() -> None:
    [leaf] = leaves("length(payload.price) > 1")
    assert (leaf.verdict, leaf.found[0].type) == ("error", "error")
    assert leaf.found[0].value == leaf.reason


def test_what_stands_in_no_way_is_not_evaluated() -> None:
    assert reported("payload.a || payload.none")[1] == ("payload.none", "not evaluated")
    assert reported("!(payload.none && payload.a)")[1] == ("payload.a", "not evaluated")


def test_all_that_stands_in_the_way_is_told() -> None:
    assert reported("payload.none && payload.b && event") == [
        ("payload.none", "false"),
        ("payload.b", "false"),
        ("event", "true"),
    ]
    assert reported("!(payload.a || event)")[1] == ("event", "true")


@pytest.mark.parametrize(
    ("text", "missing", "pivots"),
    [
        ("event && payload.a", 0, ()),
        ("event && payload.b", 1, (2,)),
        ("payload.b && payload.c", 2, ()),
        ("payload.b || payload.c", 1, (1, 2)),
        ("(payload.b && payload.c) || payload.none", 1, (3,)),
        ("!(payload.a || event)", 2, ()),
        ("!(payload.a && event)", 1, (1, 2)),
        ("payload.gone > 1 && event", 1, (1,)),
    ],
)
def test_how_many_leaves_are_missing(text: str, missing: int, pivots: tuple[int, ...]) -> None:
    seen = trace(compiled(text), SCOPE)
    assert (seen.missing, seen.pivots) == (missing, pivots)


def test_under_a_denial_a_true_leaf_fails() -> None:
    first, second = leaves("!(payload.b || event)")
    assert (first.wanted, first.failed) == (False, False)
    assert (second.wanted, second.failed) == (False, True)


def test_several_expressions_are_judged_as_one() -> None:
    some = TracePart("any", (part_of(compiled("payload.b")), part_of(compiled("payload.gone > 1"))))
    seen = trace(TracePart("not", (some,)), SCOPE)
    assert isinstance(seen.verdict, Failed)
    assert [leaf.expression for leaf in seen.leaves] == ["payload.b", "payload.gone > 1"]


def test_definitions_are_read() -> None:
    scope: dict[str, Any] = {"payload": {"n": "612.50"}}
    scope["def"] = Definitions({"total": compiled("decimal(payload.n)")}, scope)
    [leaf] = trace(compiled("def.total >= 500"), scope).leaves
    assert leaf.found[0].value == Decimal("612.50")
    [leaf] = trace(compiled("def"), scope).leaves
    assert leaf.found[0].value == {"total": Decimal("612.50")}


def test_definitions_that_hold_everything_are_only_named() -> None:
    scope: dict[str, Any] = {"payload": 1}
    scope["def"] = Definitions({"a": compiled("$"), "b": compiled("$")}, scope)
    shown = {"payload": 1, "def": "(definitions)"}
    [leaf] = trace(compiled("def"), scope).leaves
    assert leaf.found[0].value == {"a": shown, "b": shown}
    [leaf] = trace(compiled("keys($) == null"), scope).leaves
    assert leaf.verdict == "false"
    [leaf] = trace(compiled("$"), scope).leaves
    assert leaf.found[0].value == shown
