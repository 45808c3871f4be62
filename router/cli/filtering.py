"""Listings with `--where`: read from the store page by page, held against the condition."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from router.cli.open_store import read_store
from router.cli.output import note, visible
from router.rules.ruleset import Ruleset
from router.store.values import Selector, Stored

if TYPE_CHECKING:
    from router.store.sqlite.reader import SqliteReader

T = TypeVar("T")


def list_stored(
    selector: Selector,
    ruleset: Ruleset,
    reading: "Callable[[SqliteReader], Awaitable[tuple[T, ...]]]",
) -> tuple[T, ...]:
    """
    What `reading` finds in the store, nothing if there is no store yet.

    Raises:
        UsageError: the selector names what neither the rules nor the store know.
    """
    from router.operator.known_names import EmptyStore, check_names

    async def checked(reader: "SqliteReader") -> tuple[T, ...]:
        await check_names(selector, ruleset, reader)
        return await reading(reader)

    if not Path(ruleset.server.store).exists():
        asyncio.run(check_names(selector, ruleset, EmptyStore()))
    return read_store(ruleset.server.store, checked, absent=())


async def search(
    reader: "SqliteReader", selector: Selector, ruleset: Ruleset, *, jobs: bool
) -> list[Stored]:
    """What fits, newest first; what could not be looked at is said on stderr."""
    from router.operator.search import LOOKED_AT, Search

    wanted = Search(reader, selector, ruleset, jobs=jobs, bounded=True)
    found = [stored async for stored in wanted.newest()]
    if wanted.cut:
        note(f"only the newest {LOOKED_AT} were looked at; --until goes further back")
    if wanted.where is not None and wanted.where.failed:
        reason = visible(wanted.where.reason or "")
        note(f"the condition could not be evaluated on {wanted.where.failed} events: {reason}")
    return found
