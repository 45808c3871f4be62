"""Handing out due jobs."""

from collections.abc import Mapping, Sequence

from router.store.postgres.database import Database
from router.store.values import (
    LeaseBatch,
)


async def lease(
    db: Database,
    slots: Mapping[str, int],
    *,
    lease: str,
    now: int,
    fresh: Mapping[str, Sequence[str]] = {},
) -> LeaseBatch:
    """…"""
    raise NotImplementedError
