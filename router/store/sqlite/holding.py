"""Jobs of paused rules and paused targets: made to wait, and let go again."""

from collections.abc import Collection

from router.store.common.chains import PAUSED, TARGET
from router.store.common.states import WAITING
from router.store.sqlite.fragments import DUE, LISTED, listed, state_is
from router.store.sqlite.operations import STEP
from router.store.sqlite.publishing import in_force
from router.store.sqlite.writer_state import Book


def hold(
    book: Book, rules: Collection[str], targets: Collection[str], generation: str, now: int
) -> int:
    """
    Some jobs of paused rules and targets made to wait, some of others released: one step. None, if
    other rules than those of this generation are in force.
    """
    if not in_force(book, generation):
        return 0
    held = _hold(book, PAUSED, "rule", rules) + _hold(book, TARGET, "target", targets)
    released = _release(book, PAUSED, "rule", rules, now)
    released += _release(book, TARGET, "target", targets, now)
    book.pages += held + released
    return held + released


def _hold(book: Book, what: int, column: str, names: Collection[str]) -> int:
    # Those that wait for something else must not start when they have it.
    return sum(
        book.db.execute(
            f"UPDATE jobs SET state = {WAITING}, waits = coalesce(waits, 0) | {what} "
            f"WHERE n IN (SELECT n FROM jobs WHERE {which} AND {column} {LISTED} LIMIT ?)",
            (listed(sorted(names)), STEP),
        ).rowcount
        for which in (DUE, f"{state_is('waiting')} AND NOT waits & {what}")
        if names
    )


def _release(book: Book, what: int, column: str, names: Collection[str], now: int) -> int:
    """Due anew, so that the time in which they had to wait does not make them too old."""
    return book.db.execute(
        f"UPDATE jobs SET state = CASE WHEN waits = {what} THEN attempt > 0 ELSE {WAITING} END, "
        f"due_at = max(due_at, ?), waits = nullif(waits - {what}, 0) "
        f"WHERE n IN (SELECT n FROM jobs WHERE waits >= {PAUSED} AND waits & {what} "
        f"AND {column} NOT {LISTED} LIMIT ?)",
        (now, listed(sorted(names)), STEP),
    ).rowcount
