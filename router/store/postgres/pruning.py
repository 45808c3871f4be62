"""What retention removes: days at once, single deliveries in bounded steps, expired keys."""

from router.store.postgres.database import Database
from router.store.values import (
    Pruned,
    Retain,
)


async def prune(db: Database, retain: Retain, now: int) -> Pruned:
    """…"""
    raise NotImplementedError
