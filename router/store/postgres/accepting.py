"""Making deliveries durable: keys decide what is new, then delivery and jobs follow."""

from collections.abc import Sequence

from router.errors import RouterError
from router.store.postgres.database import Database
from router.store.values import (
    Acceptance,
    Accepted,
    Duplicate,
)


async def accept_all(
    db: Database, group: Sequence[Acceptance], now: int
) -> Sequence[Accepted | Duplicate | RouterError]:
    """…"""
    raise NotImplementedError
