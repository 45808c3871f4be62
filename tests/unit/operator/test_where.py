"""Stored deliveries held against a condition."""

import msgspec
import pytest

from router.errors import UsageError
from router.expressions import compile as compiled
from router.operator.where import Where
from router.store.values import EventEntry, Stored
from tests.builders import a_delivery, a_rule, a_ruleset

RULES = a_ruleset(a_rule("one"))


def stored(body: bytes, **given: object) -> Stored:
    """A delivery of one event."""
    entry = EventEntry(0, "evt_1", "orders/paid")
    heads = (("x-shopify-topic", "orders/paid"),)
    return Stored("1", a_delivery(body=body, headers=heads, **given), (entry,))


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("payload.id == 1", True),
        ("payload.id == 2", False),
        ("payload.missing != 2", False),
        ("event == 'orders/paid'", True),
        ("endpoint == 'shop' && payload.id < 5", True),
        ("delivery.count == 1", True),
        ("topic == 'orders/paid'", True),
    ],
)
def test_it_is_read_as_a_rule_s_match_is(text: str, fits: bool) -> None:
    assert (Where(text, RULES).holds(stored(b'{"id": 1}')) is not None) is fits


@pytest.mark.parametrize(
    ("text", "bound", "fits"),
    [
        ("payload.name == var.name", {"name": "O'Brien \" || true"}, True),
        ("payload.name == var.name", {"name": "' || true || '"}, False),
        ("payload.id == var.id", {"id": 1}, True),
        ("payload.total == var.total", {"total": 0.10}, True),
        ("payload.id == var.main", {"main": 1}, True),
        ("contains(var.ids, payload.id)", {"ids": [1, 2]}, True),
        ("def.mine", {"id": 1, "other": 2}, True),
    ],
)
def test_what_is_bound_is_a_value_and_never_text(
    text: str, bound: dict[str, object], fits: bool
) -> None:
    rules = msgspec.structs.replace(
        RULES, variables={"main": 7}, defines={"mine": compiled("payload.id == var.id")}
    )
    body = b'{"id": 1, "total": 0.10, "name": "O\'Brien \\" || true"}'
    assert (Where(text, rules, bound).holds(stored(body)) is not None) is fits


@pytest.mark.parametrize(
    ("text", "bound", "words"),
    [
        ("payload.id == var.id", {}, "no var.id, and --var gives none"),
        ("payload.id == var.email", {"emial": 1, "email": 1}, "--var emial.*did you mean 'email'"),
        ("payload.id == 1", {"id": 1}, "--var id: --where does not read it; write var.id"),
    ],
)
def test_what_is_bound_and_what_is_read_are_the_same(
    text: str, bound: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        Where(text, RULES, bound)


def test_what_could_not_be_evaluated_is_counted() -> None:
    where = Where("payload.missing != 2", RULES)
    assert where.holds(stored(b'{"id": 1}')) is None
    assert (where.failed, where.reason is not None) == (1, True)


def test_of_an_unreadable_body_the_rest_can_be_asked() -> None:
    unparsed = stored(b"\xff", state="unparsed")
    assert Where("endpoint == 'shop'", RULES).holds(unparsed) is unparsed
    assert Where("payload.id == 1", RULES).holds(unparsed) is None


def test_a_sender_that_is_gone_fits_nothing() -> None:
    where = Where("endpoint == 'shop'", RULES)
    assert where.holds(stored(b"{}", provider="former")) is None
    assert "no provider 'former'" in (where.reason or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("payload.id ==", "--where: "),
        ("order.id == 1", "there is no 'order'"),
        ("var.none == 1", "no var.none"),
        ("def.none == 1", "no def.none"),
        ("secret.erp == 'x'", "there is no 'secret'"),
    ],
)
def test_a_wrong_condition_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Where(text, RULES)
