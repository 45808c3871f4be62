"""Deliveries in the order in which they were committed, from a place in the ledger on."""

from router.store.postgres.database import Tx
from router.store.values import (
    FeedQuery,
    Following,
)


async def following(tx: Tx, asked: FeedQuery) -> Following:
    """…"""
    raise NotImplementedError
