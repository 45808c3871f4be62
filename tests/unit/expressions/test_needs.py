"""What an index may conclude from a condition."""

from decimal import Decimal
from typing import Any

import pytest

from router.expressions import FieldNeed, index_key, needs_of
from router.expressions import compile as compiled

STATUS = FieldNeed(("payload", "status"), ("paid",))


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("payload.status == 'paid'", (STATUS,)),
        ("'paid' == payload.status", (STATUS,)),
        ("$.payload.status == 'paid'", (STATUS,)),
        ("payload.status == 'paid' && payload.n > 3", (STATUS,)),
        (
            "(event == 'x' && payload.ok == true) && payload.n == 5",
            (
                FieldNeed(("event",), ("x",)),
                FieldNeed(("payload", "ok"), (True,)),
                FieldNeed(("payload", "n"), (5,)),
            ),
        ),
        ("event == 'x' || event == 'y'", (FieldNeed(("event",), ("x", "y")),)),
        ("starts_with(event, 'x')", (FieldNeed(("event",), (), ("x",)),)),
        ("starts_with(event, '')", ()),
        ("glob(event, 'x')", (FieldNeed(("event",), ("x",)),)),
        ("glob(event, 'x*y*')", (FieldNeed(("event",), (), ("x",)),)),
        ("glob(event, '*x')", ()),
        ("event == 'x' || starts_with(event, 'y')", (FieldNeed(("event",), ("x",), ("y",)),)),
        ("(event == 'x' && action == 'a') || event == 'y'", (FieldNeed(("event",), ("x", "y")),)),
        ("contains(['x', `1`], event)", (FieldNeed(("event",), ("x", 1)),)),
        ('contains(`["x", null]`, event)', ()),
        ("contains(event, 'x')", (FieldNeed(("event",), (), parts=("x",)),)),
        ("contains(event, '')", ()),
        ("contains(event, `1`)", ()),
        ("contains(event, action)", ()),
        ("ends_with(event, 'x')", (FieldNeed(("event",), (), suffixes=("x",)),)),
        ("ends_with(event, '')", ()),
        (
            "contains(event, 'x') || ends_with(event, 'y') || starts_with(event, 'z')",
            (FieldNeed(("event",), (), ("z",), ("y",), ("x",)),),
        ),
        ("event == 'x' || action == 'y'", ()),
        ("event == 'x' || payload.ok", ()),
        ("!(event == 'x')", ()),
        ("event != 'x'", ()),
        ("payload.gone == null", ()),
        ("payload.items[0] == 'x'", ()),
        ("payload.items[?n == 'x']", ()),
        ("lower(event) == 'x'", ()),
        ("payload | status == 'paid'", ()),
    ],
)
def test_needs(text: str, needs: tuple[FieldNeed, ...]) -> None:
    assert needs_of(compiled(text)) == needs


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("branch == var.main", (FieldNeed(("branch",), ("main",)),)),
        ("var.main == branch", (FieldNeed(("branch",), ("main",)),)),
        ("starts_with(branch, var.main)", (FieldNeed(("branch",), (), ("main",)),)),
        ("contains(var.all, branch)", (FieldNeed(("branch",), ("a", "b")),)),
        ("contains([var.main, 'x'], branch)", (FieldNeed(("branch",), ("main", "x")),)),
        ("branch == var.gone", ()),
        ("branch == payload.main", ()),
        ("branch == var", ()),
        ("var.main == 'main'", ()),
        ("branch == var.all", ()),
    ],
)
def test_variables_are_known(text: str, needs: tuple[FieldNeed, ...]) -> None:
    """They are the same for every event."""
    assert needs_of(compiled(text), {"main": "main", "all": ["a", "b"]}) == needs


def test_keys_are_equal_exactly_when_the_values_are() -> None:
    values: list[Any] = [1, True, "1", 0, False, "", "True"]
    assert len({index_key(value) for value in values}) == len(values)
    assert index_key(1) == index_key(Decimal("1.0")) == index_key(1.0)
    assert index_key(None) is None
    assert index_key([1]) is None
