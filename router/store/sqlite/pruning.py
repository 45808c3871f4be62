"""What retention removes, in bounded steps: deliveries, expired keys, unused generations."""

import sqlite3
from typing import Any

import msgspec

from router.store.common import activity
from router.store.common.states import DEAD
from router.store.sqlite import audit_log, clock_step, runs
from router.store.sqlite.fragments import JOBS_OF, listed
from router.store.sqlite.writer_state import Book
from router.store.values import Pruned, Retain

WINDOW = 10_000
"""Rows looked at in one query of a search for something to remove."""
KEYS_EXAMINED = 100_000
EVERYTHING = 1 << 40

_FINISHED = f"""
    SELECT n FROM (
        SELECT d.n, d.received_at, coalesce(max(j.ended_at), d.received_at) AS ended_at, CASE
            WHEN count(j.n) = 0 THEN :unmatched
            ELSE min(CASE j.state WHEN {DEAD} THEN :dead ELSE :succeeded END)
        END AS before
        FROM %s d LEFT JOIN jobs j ON {JOBS_OF}
        GROUP BY d.n
        HAVING coalesce(max(j.state < {DEAD}), 0) = 0
    ) WHERE %s < :finished OR %s < before
"""


def _finished(db: sqlite3.Connection, window: str, now: int) -> str:
    received, ended = (clock_step.ages(db, at, now) for at in ("received_at", "ended_at"))
    return _FINISHED % (window, received, ended)


class PrunePlan(msgspec.Struct, frozen=True):
    """
    What a search found removable: delivery numbers, and a range of keys with some that ended by
    `ended`.
    """

    deliveries: tuple[int, ...]
    keys: tuple[bytes, bytes] | None
    ended: int


class PruneSearch:
    """
    Looks for what may go, on a reading connection, so that writing does not wait for it.

    Each call goes on where the last one stopped, and starts again at the end.
    """

    def __init__(self) -> None:
        self._delivery = ""
        self._key = b""

    def plan(self, db: sqlite3.Connection, retain: Retain, now: int) -> PrunePlan:
        """Up to `retain.limit` deliveries, oldest first, and a range of keys."""
        return PrunePlan(self._deliveries(db, retain, now), self._keys(db, retain.limit, now), now)

    def _deliveries(self, db: sqlite3.Connection, retain: Retain, now: int) -> tuple[int, ...]:
        found: list[int] = []
        newest = max(
            retain.succeeded_before,
            retain.unmatched_before,
            retain.dead_before,
            retain.finished_before or 0,
        )
        received = clock_step.ages(db, "received_at", now)
        while len(found) < retain.limit:
            count, last, oldest = db.execute(
                f"SELECT count(*), max(id), min({received}) FROM (SELECT id, received_at FROM "
                "deliveries WHERE id > ? ORDER BY id LIMIT ?)",
                (self._delivery, WINDOW),
            ).fetchone()
            if count:
                window = "(SELECT n, received_at FROM deliveries WHERE id > :after AND id <= :last)"
                found += [
                    n
                    for (n,) in db.execute(
                        _finished(db, window, now),
                        {**_times(retain), "after": self._delivery, "last": last},
                    )
                ]
            if len(found) >= retain.limit:
                break  # the rest of this window is found by the next call
            done = count < WINDOW or oldest >= newest
            self._delivery = "" if done else last
            if done:
                break
        return tuple(found[: retain.limit])

    def _keys(self, db: sqlite3.Connection, limit: int, now: int) -> tuple[bytes, bytes] | None:
        begun = self._key
        if (found := self._expired(db, limit, now)) is None and begun and not self._key:
            found = self._expired(db, limit, now)  # the end was near: go on from the beginning
        return found

    def _expired(self, db: sqlite3.Connection, limit: int, now: int) -> tuple[bytes, bytes] | None:
        """The first and last of up to `limit` expired keys after the one reached so far."""
        examined = "SELECT key, until FROM keys WHERE key > ? ORDER BY key LIMIT ?"
        first, last = db.execute(
            f"SELECT min(key), max(key) FROM (SELECT key FROM ({examined}) "
            "WHERE until <= ? ORDER BY key LIMIT ?)",
            (self._key, KEYS_EXAMINED, now, limit),
        ).fetchone()
        if first is not None:
            self._key = last
            return first, last
        count, end = db.execute(
            f"SELECT count(*), max(key) FROM ({examined})", (self._key, KEYS_EXAMINED)
        ).fetchone()
        self._key = end if count == KEYS_EXAMINED else b""
        return None


def removable(db: sqlite3.Connection, retain: Retain, now: int) -> tuple[int, int]:
    """How many deliveries, and how many keys, may go now; nothing is removed."""
    plan = PruneSearch().plan(db, msgspec.structs.replace(retain, limit=EVERYTHING), now)
    keys = db.execute("SELECT count(*) FROM keys WHERE until <= ?", (now,)).fetchone()[0]
    return len(plan.deliveries), int(keys)


def prune(book: Book, plan: PrunePlan, retain: Retain, now: int) -> Pruned:
    """Remove what was planned and may still go, within the open transaction."""
    removed = _remove_deliveries(book, plan.deliveries, retain, now)
    keys = 0
    if plan.keys is not None:
        keys = book.db.execute(
            "DELETE FROM keys WHERE key BETWEEN ? AND ? AND until <= ?",
            (*plan.keys, min(plan.ended, now)),
        ).rowcount
        book.pages += keys
    audit_log.prune(book, retain.audit_before, now)
    book.db.executemany(activity.PRUNE, activity.old(book.wall(now)))
    return Pruned(removed, keys, _remove_generations(book))


def _remove_deliveries(book: Book, numbers: tuple[int, ...], retain: Retain, now: int) -> int:
    if not numbers:
        return 0
    window = (
        "(SELECT n, received_at FROM deliveries WHERE n IN (SELECT value FROM json_each(:asked)))"
    )
    values = {**_times(retain), "asked": listed(numbers)}
    gone = [n for (n,) in book.db.execute(_finished(book.db, window, now), values)]
    if gone:
        book.removed_deliveries(now)
    chosen = {"gone": listed(gone)}
    jobs = f"SELECT j.n FROM (SELECT value AS n FROM json_each(:gone)) d JOIN jobs j ON {JOBS_OF}"
    runs.at_once(runs.changes(book, now).forget(jobs, chosen))
    book.db.execute(f"DELETE FROM attempts WHERE job IN ({jobs})", chosen)
    book.db.execute(f"DELETE FROM jobs WHERE n IN ({jobs})", chosen)
    for table, column in (("copies", "delivery"), ("deliveries", "n")):
        book.db.execute(
            f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(:gone))",
            chosen,
        )
    book.pages += 4 * len(gone)
    return len(gone)


_UNNAMED = """
    SELECT n FROM generations g WHERE
    (SELECT 1 FROM deliveries d WHERE d.n BETWEEN g.first_delivery AND g.last_delivery
     AND d.generation = g.n ORDER BY d.n DESC LIMIT 1) IS NULL
    AND (SELECT 1 FROM jobs j WHERE j.n BETWEEN g.first_delivery << 20
     AND (g.last_delivery + 1) << 20 AND j.generation = g.n ORDER BY j.n DESC LIMIT 1) IS NULL
    AND (SELECT 1 FROM attempts a WHERE a.job BETWEEN g.first_delivery << 20
     AND (g.last_delivery + 1) << 20 AND a.generation = g.n ORDER BY a.job DESC LIMIT 1) IS NULL
    AND g.id IS NOT (SELECT generation FROM published ORDER BY seq DESC LIMIT 1)
"""
"""
Looks from the end of what a generation may be named by: while it is named, its own are there.
"""


def _remove_generations(book: Book) -> int:
    """Remove those that nothing names, are not in force, and were not kept by this process."""
    unused = [n for (n,) in book.db.execute(_UNNAMED) if n not in book.live]
    for n in unused:
        book.db.execute("DELETE FROM rule_generations WHERE generation = ?", (n,))
        book.db.execute("DELETE FROM generations WHERE n = ?", (n,))
    if unused:
        book.forget_generations(unused)
    return len(unused)


def _times(retain: Retain) -> dict[str, Any]:
    return {
        "succeeded": retain.succeeded_before,
        "unmatched": retain.unmatched_before,
        "dead": retain.dead_before,
        "finished": retain.finished_before or 0,
    }
