"""Deliveries written anew without what was taken out of them; the old bytes are overwritten."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from router.store.common.columns import encode_entries, encode_json, encode_meta
from router.store.common.redactions import hidden_key
from router.store.common.states import DEAD
from router.store.removal import RedactionStep, Rewritten
from router.store.sqlite.fragments import JOBS_OF
from router.store.sqlite.operations import remember
from router.store.sqlite.writer_state import Book


def due(db: sqlite3.Connection, now: int, limit: int) -> tuple[str, ...]:
    """Deliveries that are to be looked at again by now, the earliest first."""
    sql = "SELECT delivery FROM redactions WHERE due_at <= ? ORDER BY due_at LIMIT ?"
    return tuple([id_ for (id_,) in db.execute(sql, (now, limit))])


def redact(book: Book, step: RedactionStep, now: int) -> int:
    """Write what the step rewrites and can still be, within the open transaction; how many."""
    later = dict(step.later)
    with overwriting(book):
        for one in step.rewritten:
            later[one.delivery.id] = None if _rewrite(book, one) else now
    book.db.executemany(
        "DELETE FROM redactions WHERE delivery = ?", [(id_,) for id_, at in later.items() if not at]
    )
    book.db.executemany(
        "INSERT INTO redactions VALUES (?, ?) "
        "ON CONFLICT (delivery) DO UPDATE SET due_at = excluded.due_at",
        [(id_, at) for id_, at in later.items() if at],
    )
    remember(book, step.facts)
    book.pages += len(later)
    return sum(later[one.delivery.id] is None for one in step.rewritten)


@contextmanager
def overwriting(book: Book) -> Iterator[None]:
    """What is freed in here is overwritten, whole pages too; they go from the journal as well."""
    book.db.execute("PRAGMA secure_delete = ON").fetchall()
    try:
        yield
    finally:
        book.db.execute("PRAGMA secure_delete = FAST").fetchall()
    book.stale_journal = True


def _rewrite(book: Book, one: Rewritten) -> bool:
    """False: something of it is open again, or was tried since it was read."""
    delivery = one.delivery
    row = book.db.execute(
        f"SELECT d.n, count(j.n), count(j.n) FILTER (WHERE j.state < {DEAD}) "
        f"FROM deliveries d LEFT JOIN jobs j ON {JOBS_OF} WHERE d.id = ? GROUP BY d.n",
        (delivery.id,),
    ).fetchone()
    if row is None:
        return True  # it is gone
    number, jobs, is_open = row
    tried = book.one(
        f"SELECT count(*) FROM attempts WHERE job IN (SELECT j.n FROM jobs j, (SELECT ? AS n) d "
        f"WHERE {JOBS_OF})",
        (number,),
    )
    if is_open or jobs != one.jobs or tried != one.tried:
        return False
    book.db.execute(
        "UPDATE deliveries SET events = ?, meta = ?, body = ? WHERE n = ?",
        (encode_entries(one.events), encode_meta(delivery), delivery.body, number),
    )
    book.db.executemany(
        "UPDATE jobs SET reason = ? WHERE id = ?", [(why, id_) for id_, why in one.reasons.items()]
    )
    book.db.executemany(
        "UPDATE attempts SET reason = ?, result = ? "
        "WHERE job = (SELECT n FROM jobs WHERE id = ?) AND number = ?",
        [(a.reason, encode_json(a.result), a.job, a.number) for a in one.attempts],
    )
    _hide_keys(book, one, number)
    book.deliveries.forget(delivery.id)
    book.pages += 4 + len(one.attempts) + len(one.reasons)
    return True


def _hide_keys(book: Book, one: Rewritten, number: int) -> None:
    """Dedupe keys and groups that would hold what was taken out are known by their digests."""
    book.db.executemany(
        "UPDATE OR REPLACE keys SET key = ? WHERE key = ?",
        [(new, old) for old, new in one.keys.items()],
    )
    runs = book.db.execute(
        "SELECT DISTINCT r.n, r.key, r.value FROM runs r, jobs j, (SELECT ? AS n) d "
        f"WHERE r.n = j.run AND {JOBS_OF} AND r.key IS NOT NULL",
        (number,),
    ).fetchall()
    for n, key, value in runs:
        if (shown := one.clean(value)) != value or one.clean(key) != key:
            book.db.execute(
                "UPDATE runs SET key = ?, value = ? WHERE n = ?", (hidden_key(key), shown, n)
            )
