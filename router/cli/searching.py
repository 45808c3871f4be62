"""Listings with `--where`: read from the store page by page, held against the condition."""

from typing import TYPE_CHECKING

from router.cli.output import note, visible
from router.rules.ruleset import Ruleset
from router.store.protocol import Selector, Stored

if TYPE_CHECKING:
    from router.store.reader import SqliteReader


async def search(
    reader: "SqliteReader", selector: Selector, ruleset: Ruleset, *, jobs: bool
) -> list[Stored]:
    """What fits, newest first; what could not be looked at is said on stderr."""
    from router.replay.search import LOOKED_AT, Search

    wanted = Search(reader, selector, ruleset, jobs=jobs, bounded=True)
    found = [stored async for stored in wanted.newest()]
    if wanted.cut:
        note(f"only the newest {LOOKED_AT} were looked at; --until goes further back")
    if wanted.where is not None and wanted.where.failed:
        reason = visible(wanted.where.reason or "")
        note(f"the condition could not be evaluated on {wanted.where.failed} events: {reason}")
    return found
