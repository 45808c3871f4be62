"""Deliveries as a listener gets them."""

import random
from typing import Any

import pytest

from router.cli.listening.target import Forwarded
from router.model.ids import Ids
from router.operator.answers import EventRow
from router.operator.followed_answers import FollowedDelivery

NOW = 1_760_000_000_000


class Maker:
    """Makes deliveries, each behind the one before."""

    def __init__(self) -> None:
        self._ids = Ids(random.Random(1))
        self._number = 0

    def __call__(self, **given: Any) -> FollowedDelivery:
        self._number += 1
        id_ = self._ids.new("dlv", NOW)
        values: dict[str, Any] = {
            "cursor": f"{self._number}-{id_}",
            "id": id_,
            "endpoint": "shop",
            "provider": "shopify",
            "received_at": NOW,
            "state": "routed",
            "verified_by": None,
            "event_count": 1,
            "flags": (),
            "replay_of": None,
            "method": "POST",
            "path": "/wh_x",
            "query": "",
            "headers": (
                ("content-type", "application/json"),
                ("x-shopify-topic", "orders/paid"),
                ("x-shopify-webhook-id", "7"),
            ),
            "body": b'{"id": 7, "total_price": "9.50"}',
            "events": (EventRow(0, "evt_1", "orders/paid"),),
        }
        return FollowedDelivery(**{**values, **given})


@pytest.fixture
def make() -> Maker:
    return Maker()


def a_try(arrived: FollowedDelivery, status: int | None = 200, **given: Any) -> Forwarded:
    """One try to forward it."""
    values: dict[str, Any] = {"url": "http://127.0.0.1/in", "at": NOW, "attempt": 1}
    return Forwarded(arrived, status=status, took_ms=12.0, **{**values, **given})
