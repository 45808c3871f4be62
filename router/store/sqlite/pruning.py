"""What retention removes, in bounded steps: deliveries, expired keys, unused generations."""

import sqlite3
from collections.abc import Sequence
from typing import Any

import msgspec

from router.store.common import activity
from router.store.common.states import DEAD
from router.store.removal import EndedBefore, Pruned, Retain
from router.store.sqlite import audit_log, clock_step, runs
from router.store.sqlite.fragments import JOBS_OF, listed
from router.store.sqlite.writer_state import Book

WINDOW = 10_000
"""Rows looked at in one query of a search for something to remove."""
WINDOWS = 10
"""Queries of one step: what comes from an endpoint that keeps little may lie behind all others'."""
KEYS_EXAMINED = 100_000
EVERYTHING = 1 << 40

_FINISHED = f"""
    SELECT n FROM (
        SELECT d.n, d.received_at, coalesce(max(j.ended_at), d.received_at) AS ended_at, CASE
            WHEN count(j.n) = 0 THEN %(unmatched)s
            ELSE min(CASE j.state WHEN {DEAD} THEN %(dead)s ELSE %(succeeded)s END)
        END AS before
        FROM (SELECT +n AS n, received_at, endpoint FROM deliveries
            WHERE %(which)s AND %(received)s < %(latest)s) d LEFT JOIN jobs j ON {JOBS_OF}
        GROUP BY d.n
        HAVING coalesce(max(j.state < {DEAD}), 0) = 0
    ) WHERE %(received)s < :finished OR %(ended)s < before
"""
"""`+n`: else it would go through the whole table in that order."""
_OF = """coalesce(json_extract(:of, '$."' || endpoint || '".{0}'), :{0})"""


class _Ages:
    """The times of a Retain as values of a query, and what is finished by them."""

    def __init__(self, db: sqlite3.Connection, retain: Retain, now: int) -> None:
        finished = retain.finished_before or 0
        usual = EndedBefore(retain.succeeded_before, retain.unmatched_before, retain.dead_before)
        usual_times = _with_latest(usual, finished)
        of = {name: _with_latest(own, finished) for name, own in retain.endpoints.items()}
        of_json = msgspec.json.encode(of).decode()
        self.values: dict[str, Any] = {**usual_times, "finished": finished, "of": of_json}
        self.newest = max(times["latest"] for times in (usual_times, *of.values()))
        """What has been received since stays."""
        self.received = clock_step.ages(db, "received_at", now)
        self._sql = {
            "received": self.received,
            "ended": clock_step.ages(db, "ended_at", now),
            **{name: _OF.format(name) if of else f":{name}" for name in usual_times},
        }

    def finished(self, db: sqlite3.Connection, which: str, **values: Any) -> list[int]:
        """Numbers of those deliveries that may go; `which` is a condition on them."""
        rows = db.execute(_FINISHED % {**self._sql, "which": which}, {**self.values, **values})
        return [n for (n,) in rows]


def _with_latest(times: EndedBefore, finished: int) -> dict[str, int]:
    return {
        **msgspec.structs.asdict(times),
        "latest": max(times.succeeded, times.unmatched, times.dead, finished),
    }


class PrunePlan(msgspec.Struct, frozen=True):
    """
    What a search found removable: delivery numbers, and a range of keys with some that ended by
    `ended`. `more`: it has not come to its end.
    """

    deliveries: tuple[int, ...]
    keys: tuple[bytes, bytes] | None
    ended: int
    more: bool = False


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
        found, more = self._deliveries(db, retain, now)
        return PrunePlan(found, self._keys(db, retain.limit, now), now, more)

    def _deliveries(
        self, db: sqlite3.Connection, retain: Retain, now: int
    ) -> tuple[tuple[int, ...], bool]:
        """What it found, and whether there are windows left that it has not looked at."""
        found: list[int] = []
        ages = _Ages(db, retain, now)
        for _ in range(WINDOWS):
            count, last, oldest = db.execute(
                f"SELECT count(*), max(id), min({ages.received}) FROM (SELECT id, received_at FROM "
                "deliveries WHERE id > ? ORDER BY id LIMIT ?)",
                (self._delivery, WINDOW),
            ).fetchone()
            if count:
                which = "id > :after AND id <= :last"
                found += ages.finished(db, which, after=self._delivery, last=last)
            if len(found) >= retain.limit:
                return tuple(found[: retain.limit]), False  # the next call finds the rest of it
            done = count < WINDOW or oldest >= ages.newest
            self._delivery = "" if done else last
            if done:
                return tuple(found), False
        return tuple(found), True

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
    search, everything = PruneSearch(), msgspec.structs.replace(retain, limit=EVERYTHING)
    deliveries, more = 0, True
    while more:
        plan = search.plan(db, everything, now)
        deliveries, more = deliveries + len(plan.deliveries), plan.more
    keys = db.execute("SELECT count(*) FROM keys WHERE until <= ?", (now,)).fetchone()[0]
    return deliveries, int(keys)


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
    return Pruned(removed, keys, _remove_generations(book), plan.more)


def _remove_deliveries(book: Book, numbers: tuple[int, ...], retain: Retain, now: int) -> int:
    if not numbers:
        return 0
    which = "n IN (SELECT value FROM json_each(:asked))"
    gone = _Ages(book.db, retain, now).finished(book.db, which, asked=listed(numbers))
    remove(book, gone, now)
    return len(gone)


def remove(book: Book, gone: Sequence[int], now: int) -> int:
    """Remove deliveries, by number, with all that came of them; how many jobs that were."""
    if gone:
        book.removed_deliveries(now)
    chosen = {"gone": listed(gone)}
    jobs = f"SELECT j.n FROM (SELECT value AS n FROM json_each(:gone)) d JOIN jobs j ON {JOBS_OF}"
    runs.at_once(runs.changes(book, now).forget(jobs, chosen))
    book.db.execute(f"DELETE FROM attempts WHERE job IN ({jobs})", chosen)
    removed = book.db.execute(f"DELETE FROM jobs WHERE n IN ({jobs})", chosen).rowcount
    for table, column in (("copies", "delivery"), ("deliveries", "n")):
        book.db.execute(
            f"DELETE FROM {table} WHERE {column} IN (SELECT value FROM json_each(:gone))",
            chosen,
        )
    book.pages += 4 * len(gone)
    return removed


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
