"""The verdict reading: what matches, what does not, and what is an error."""

from decimal import Decimal
from typing import Any

import pytest

from router.expressions import Definitions, Failed
from router.expressions import compile as compiled

SCOPE: dict[str, Any] = {
    "payload": {
        "status": "paid",
        "total": "512.50",
        "count": 5,
        "price": Decimal("10.50"),
        "zero": 0,
        "empty": "",
        "none": None,
        "flag": False,
        "yes": True,
        "text": "abc",
        "deep": {"er": {"x": "y"}},
        "items": [{"p": 5, "n": "a"}, {"p": None, "n": "b"}, {"n": "c"}, {"p": 50, "n": "d"}],
    },
    "event": "orders/paid",
}

TRUE = [
    "payload.status == 'paid'",
    "'paid' == payload.status",
    "payload.status != 'open'",
    "event == 'orders/paid'",
    "payload.deep.er.x == 'y'",
    "payload.count == 5.0",
    "payload.price == 10.5",
    "payload.count >= 5",
    "5 <= payload.count",
    "payload.price < 10.51",
    "payload.none == null",
    "payload.gone == null",
    "payload.none.deeper == null",
    "payload.text.deeper == null",
    "payload.status != null",
    "payload.none != 'x'",
    "payload.zero",
    "!payload.empty",
    "!payload.gone",
    "!payload.flag",
    "payload.yes == true",
    "payload.count != true",
    "payload.gone == 'x' || payload.yes",
    "payload.yes || payload.gone == 'x'",
    "payload.items[?p > 4] | length(@) == 2",
    "length(payload.items[?p > 4]) == 2",
    "length(payload.items[?!(p == 5)]) == 2",
    "length(payload.items[?p != 5]) == 2",
    "decimal(payload.total) >= 500",
    "exists(payload.none)",
    "!exists(payload.gone)",
    "if(payload.flag, 'a', 'b') == 'b'",
    "default(payload.gone, 'x') == 'x'",
    "payload.items[-1].p == 50",
    "(payload.gone == 'x' || payload.yes == true) == true",
    "(payload.gone || payload.status) == 'paid'",
    "payload.items[?p == `50`].n | [0] == 'd'",
]
FALSE = [
    "payload.status == 'open'",
    "payload.status != 'paid'",
    "payload.gone",
    "payload.gone != null",
    "payload.none != null",
    "payload.none",
    "payload.flag",
    "payload.yes == 1",
    "payload.zero == false",
    "payload.status == 5",
    "payload.gone == 'x' && payload.flag",
    "payload.flag && payload.gone == 'x'",
    "!payload.zero",
    "payload.items[?p > 1000]",
    "exists(payload.gone)",
]
ERROR = [
    "payload.gone == 'x'",
    "payload.gone != 'x'",
    "payload.none.deeper != 'x'",
    "payload.text.deeper != 'x'",
    "payload.items[9].p == 5",
    "payload.items.p != 5",
    "payload.gone == payload.status",
    "payload.status != payload.gone",
    "payload.status > 5",
    "payload.status > 'a'",
    "payload.none > 5",
    "payload.gone > 5",
    "payload.yes >= 1",
    "5 < payload.gone",
    "payload.count > payload.gone",
    "!(payload.gone == 'x')",
    "payload.gone == 'x' && payload.yes",
    "payload.yes && payload.gone == 'x'",
    "payload.gone == 'x' || payload.flag",
    "payload.flag || payload.gone == 'x'",
    "lower(payload.count) == 'x'",
    "!lower(payload.count)",
    "lower(payload.count)",
    "lower(payload.gone) != 'us'",
    "decimal(payload.gone) != 5",
    "decimal(payload.text) > 1",
    "(payload.gone != 'x') == true",
    "lookup(payload.deep, 'gone') != 'x'",
    "if(payload.gone == 'x', true, true) == true",
    "payload | gone == 'x'",
    "div(payload.count, 0) > 1",
]


@pytest.mark.parametrize("text", TRUE)
def test_true(text: str) -> None:
    assert compiled(text).verdict(SCOPE) is True


@pytest.mark.parametrize("text", FALSE)
def test_false(text: str) -> None:
    assert compiled(text).verdict(SCOPE) is False


@pytest.mark.parametrize("text", ERROR)
def test_error(text: str) -> None:
    verdict = compiled(text).verdict(SCOPE)
    assert isinstance(verdict, Failed)
    assert verdict.reason


def test_reasons_name_the_field() -> None:
    verdict = compiled("payload.ship.country != 'US'").verdict(SCOPE)
    assert verdict == Failed("payload.ship.country is not there")
    verdict = compiled("payload.status > 5").verdict(SCOPE)
    assert verdict == Failed(
        "payload.status is a string; > needs numbers: use decimal(payload.status)"
    )


def test_definitions_are_lazy_once_and_keep_absence() -> None:
    scope = dict(SCOPE)
    scope["def"] = definitions = Definitions(
        {
            "total": compiled("decimal(payload.total)"),
            "gone": compiled("payload.gone.x"),
            "bad": compiled("lower(payload.count)"),
            "twice": compiled("mul(def.total, 2)"),
        },
        scope,
    )
    assert compiled("def.twice == 1025").verdict(scope) is True
    scope["payload"] = {"total": "1"}  # a second reading would see this
    assert compiled("def.total").value(scope) == Decimal("512.50")
    assert isinstance(compiled("def.gone != 'x'").verdict(scope), Failed)
    assert compiled("def.gone == null").verdict(scope) is True
    assert compiled("def.gone").value(scope) is None
    assert definitions.take("total") == Decimal("512.50")


def test_definitions_fail_in_words_and_cycles_end() -> None:
    scope = dict(SCOPE)
    scope["def"] = Definitions(
        {
            "bad": compiled("lower(payload.count)"),
            "a": compiled("def.b"),
            "b": compiled("def.a"),
            **{f"n{n}": compiled(f"def.n{n + 1}") for n in range(2000)},
        },
        scope,
    )
    verdict = compiled("def.bad == 'x'").verdict(scope)
    assert isinstance(verdict, Failed)
    assert verdict.reason.startswith("def.bad: lower() needs string")
    assert compiled("def.a == 'x'").verdict(scope) == Failed("def.a: def.b: def.a needs itself")
    assert isinstance(compiled("def.n0 == 'x'").verdict(scope), Failed)
    assert compiled("payload.items[?p > $.def.a].n").verdict(scope) is False
    assert compiled("payload.items[?p == 5 && !$.def.none].n").verdict(scope) is True


def test_hostile_values_fail_and_never_raise() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    scope = {"a": deep, "b": [deep], "n": Decimal("sNaN"), "f": float("nan")}
    for text in ("a == b", "a != b", "n == 1", "n > 1", "f > 1", "f == 1", "sum([f]) == 1"):
        assert isinstance(compiled(text).verdict(scope), Failed | bool)
    del scope
    while deep:
        deep = deep.pop()
