"""Jobs added to stored deliveries: replays."""

from collections.abc import Sequence

from router.model.job import NewJob
from router.store.postgres.database import Tx


async def add(tx: Tx, delivery: str, jobs: Sequence[NewJob], now: int) -> int:
    """…"""
    raise NotImplementedError
