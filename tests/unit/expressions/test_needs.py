"""What an index may conclude from a condition."""

from decimal import Decimal
from typing import Any

import pytest

from router.expressions import Need, index_key, needs_of
from router.expressions import compile as compiled

STATUS = Need(("payload", "status"), ("paid",))


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
                Need(("event",), ("x",)),
                Need(("payload", "ok"), (True,)),
                Need(("payload", "n"), (5,)),
            ),
        ),
        ("event == 'x' || event == 'y'", (Need(("event",), ("x", "y")),)),
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
def test_needs(text: str, needs: tuple[Need, ...]) -> None:
    assert needs_of(compiled(text)) == needs


def test_keys_are_equal_exactly_when_the_values_are() -> None:
    values: list[Any] = [1, True, "1", 0, False, "", "True"]
    assert len({index_key(value) for value in values}) == len(values)
    assert index_key(1) == index_key(Decimal("1.0")) == index_key(1.0)
    assert index_key(None) is None
    assert index_key([1]) is None
