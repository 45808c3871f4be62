"""Writing attempts' ends: only the holder of the current lease changes anything."""

from collections.abc import Sequence

from router.errors import RouterError
from router.model.job import Settlement
from router.store.postgres.database import Database
from router.store.values import (
    Acceptance,
    Settled,
)


async def settle_all(
    db: Database, group: Sequence[tuple[Settlement, Acceptance | None]], now: int
) -> Sequence[Settled | RouterError]:
    """…"""
    raise NotImplementedError
