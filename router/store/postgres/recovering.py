"""Taking back jobs whose holder is gone."""

from collections.abc import Collection

from router.store.postgres.database import Database
from router.store.values import (
    Died,
    Recovered,
    untold,
)


async def recover(
    db: Database,
    nodes: Collection[str],
    now: int,
    dead_on_interrupt: frozenset[tuple[str, str]],
    died: Died = untold,
) -> Recovered:
    """…"""
    raise NotImplementedError
