"""What stood first in the way of a rule, in every word that a test may use for it."""

import pytest

from router.config import load
from router.model.delivery import DeliveryEvent
from router.rehearsal.explained import obstacles
from router.rules.explain import Explainer

RULES = """
version: 1
endpoints: {shop: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: shopify, verify: none}}
rules:
  - id: r
    from: shop
    events: orders/paid
    match:
      - payload.id
      - "payload.first_thing == 1 &&  payload.second == 2"
      - any: [payload.charlie, {not: payload.zulu_time}]
    actions: {log: x}
"""


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        ({"id": 1, "first_thing": 1, "second": 2, "charlie": True, "zulu_time": True}, ()),
        ({"first_thing": 1, "second": 2, "charlie": True}, ("match[0]", "payload.id")),
        (
            {"id": 1, "first_thing": 1, "second": 3},
            ("match[1]", "payload.first_thing == 1 && payload.second == 2", "payload.second == 2"),
        ),
        (
            {"id": 1, "first_thing": 1, "second": 2, "charlie": False, "zulu_time": True},
            ("match[2]", "any: [payload.charlie, not: payload.zulu_time]", "payload.charlie"),
        ),
    ],
)
def test_the_first_item_that_did_not_hold(payload: dict[str, object], words: tuple[str]) -> None:
    ruleset = load(RULES, path="rules.yaml", env={}).ruleset
    assert ruleset is not None
    event = DeliveryEvent("", 0, "orders/paid", None, payload, None, {})
    (reading,) = Explainer(ruleset).explain("shop", event, {"payload": payload})
    assert obstacles(reading) == words
