"""Long lists, a page at a time: newest first, each page after where the last one ended."""

from router.model.operations import Change, Planned
from router.store.postgres.database import Tx
from router.store.values import (
    ListedAttempt,
    ListedEvent,
    ListedGeneration,
    Selector,
)


async def events(tx: Tx, selector: Selector, after: str | None = None) -> tuple[ListedEvent, ...]:
    """…"""
    raise NotImplementedError


async def attempts(
    tx: Tx, selector: Selector, after: str | None = None
) -> tuple[ListedAttempt, ...]:
    """…"""
    raise NotImplementedError


async def generations(tx: Tx, limit: int, after: str | None = None) -> tuple[ListedGeneration, ...]:
    """…"""
    raise NotImplementedError


async def planned(tx: Tx, selector: Selector, change: Change) -> Planned:
    """…"""
    raise NotImplementedError


async def open_states(tx: Tx) -> dict[str, int]:
    """…"""
    raise NotImplementedError
