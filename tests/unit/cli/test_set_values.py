"""`--set`."""

from decimal import Decimal
from typing import Any

import pytest

from router.cli.send_requests import parse_assignment, set_value
from router.errors import UsageError


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("a=1", "a", 1),
        ("a=1.50", "a", Decimal("1.50")),
        ("a.b=true", "a.b", True),
        ("a=null", "a", None),
        ('a="1"', "a", "1"),
        ("a=DE", "a", "DE"),
        ("a=", "a", ""),
        ("a=x=y", "a", "x=y"),
        ('a=[1, {"b": 2}]', "a", [1, {"b": 2}]),
    ],
)
def test_a_value_is_json_or_else_text(text: str, path: str, value: Any) -> None:
    assert parse_assignment(text) == (path, value)


@pytest.mark.parametrize("text", ["a", "=1", " =1", "a..b=1", "a[x]=1", "a[=1", ".a=1", "a.=1"])
def test_what_is_no_assignment_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        parse_assignment(text)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a", {"a": 9, "items": [{"sku": "x"}]}),
        ("b.c", {"a": 1, "items": [{"sku": "x"}], "b": {"c": 9}}),
        ("items[0].sku", {"a": 1, "items": [{"sku": "9"}]}),
        ("items.0.sku", {"a": 1, "items": [{"sku": "9"}]}),
        ("items[1]", {"a": 1, "items": [{"sku": "x"}, 9]}),
        ("new[0].x", {"a": 1, "items": [{"sku": "x"}], "new": [{"x": 9}]}),
    ],
)
def test_a_path_leads_to_its_place(path: str, expected: Any) -> None:
    before = {"a": 1, "items": [{"sku": "x"}]}
    assert set_value(before, path, 9) == expected
    assert before == {"a": 1, "items": [{"sku": "x"}]}


@pytest.mark.parametrize("path", ["a.b", "items.sku", "items[5]", "items[0].sku.x"])
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="--set"):
        set_value({"a": 1, "items": [{"sku": "x"}]}, path, 9)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(Decimal("512.50"), "512.50"), (7, "7"), (True, True), (None, None), ("x", "x")],
)
def test_a_number_stays_text_where_the_sender_sends_text(value: Any, expected: Any) -> None:
    assert set_value({"total_price": "1.00"}, "total_price", value) == {"total_price": expected}
