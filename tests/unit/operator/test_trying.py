"""A condition on an event of a stored delivery: what it gives."""

import pytest

from router.errors import NotFound
from router.expressions import compile as compiled
from router.expressions.trace import Trace
from router.operator.trying import tried
from router.rules.explain_words import found_words, verdict_word
from router.store.values import DeliveryRecord, EventEntry
from router.web.pages.rendering import value_text
from tests.builders import a_delivery, a_ruleset

BODY = b'{"id": 1, "total": 512.5, "country": null, "items": [{"n": 1}, {"n": 2}]}'


def record(body: bytes = BODY) -> DeliveryRecord:
    event = EventEntry(0, "evt_1", "orders/paid")
    return DeliveryRecord(a_delivery(body=body), (event,), 0, None, (), ())


def judged(text: str, number: int = 0) -> Trace:
    return tried(compiled(text), record(), number, a_ruleset())


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("payload.total > 500", "true"),
        ("payload.total > 600", "false"),
        ("payload.nothing > 600", "error"),
        ("endpoint == 'shop' && !payload.country", "true"),
    ],
)
def test_the_verdict_is_that_of_a_rule(text: str, verdict: str) -> None:
    assert verdict_word(judged(text).verdict) == verdict


def test_each_part_says_what_was_found() -> None:
    leaves = judged("payload.total > 600 && payload.country == null && payload.none == 1").leaves
    assert [leaf.verdict for leaf in leaves] == ["false", "true", "error"]
    assert [found_words(leaf.found[0], value_text) for leaf in leaves] == [
        "payload.total = 512.5 (number)",
        "payload.country = null",
        "payload.none is not there",
    ]


def test_only_events_that_are_there_can_be_asked() -> None:
    with pytest.raises(NotFound, match="no event 3"):
        judged("payload.id == 1", 3)
