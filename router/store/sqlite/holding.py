"""Jobs of paused rules and paused targets: made to wait, and let go again."""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from router.store.common.chains import PAUSED, TARGET
from router.store.sqlite.operations import STEP
from router.store.sqlite.writer_state import Book


def hold(book: Book, rules: Collection[str], targets: Collection[str], now: int) -> int:
    """Some jobs of paused rules and targets made to wait, some of others released: one step."""
    changed = _hold(book, PAUSED, "rule", rules) + _hold(book, TARGET, "target", targets)
    changed += _release(book, PAUSED, "rule", rules, now)
    changed += _release(book, TARGET, "target", targets, now)
    book.pages += changed
    return changed


def _hold(book: Book, what: int, column: str, names: Collection[str]) -> int:
    if not names:
        return 0
    listed = _listed(names)
    changed = _update(
        book,
        f"UPDATE jobs SET state = 2, waits = {what} WHERE n IN (SELECT n FROM jobs "
        f"WHERE state < 2 AND {column} IN (SELECT value FROM json_each(?)) LIMIT ?)",
        (listed, STEP),
    )
    # Those that wait for something else must not start when they have it.
    return changed + _update(
        book,
        f"UPDATE jobs SET waits = coalesce(waits, 0) | {what} WHERE n IN (SELECT n FROM jobs "
        f"WHERE state > 1 AND state < 5 AND state = 2 AND NOT waits & {what} "
        f"AND {column} IN (SELECT value FROM json_each(?)) LIMIT ?)",
        (listed, STEP),
    )


def _release(book: Book, what: int, column: str, names: Collection[str], now: int) -> int:
    """Due anew, so that the time in which they had to wait does not make them too old."""
    return _update(
        book,
        f"UPDATE jobs SET state = CASE WHEN waits = {what} THEN attempt > 0 ELSE 2 END, "
        f"due_at = max(due_at, ?), waits = nullif(waits - {what}, 0) "
        f"WHERE n IN (SELECT n FROM jobs WHERE waits >= 4 AND waits & {what} "
        f"AND {column} NOT IN (SELECT value FROM json_each(?)) LIMIT ?)",
        (now, _listed(names), STEP),
    )


def _update(book: Book, sql: str, values: Sequence[Any]) -> int:
    return book.db.execute(sql, values).rowcount


def _listed(names: Collection[str]) -> str:
    return msgspec.json.encode(sorted(names)).decode()
