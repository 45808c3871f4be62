"""The audit: a line for every change by an operator, in the transaction of that change."""

import sqlite3

import msgspec

from router.model.operations import Audit
from router.store.sqlite.clock_step import ages
from router.store.sqlite.writer_state import Book
from router.store.values import AUDIT_LINES


def note(book: Book, audit: Audit | None, more: int = 0) -> None:
    """Add a line, or `more` to the count of the line that is there."""
    if audit is None:
        return
    add(book.db, audit, more)
    book.pages += 2


def add(db: sqlite3.Connection, audit: Audit, more: int = 0) -> None:
    """The same, for a connection that nobody counts pages for."""
    db.execute(
        "INSERT INTO audit (id, at, who, peer, way, verb, asked, count) "
        "VALUES (:id, :at, :who, :peer, :way, :verb, :asked, :count + :more) "
        "ON CONFLICT (id) DO UPDATE SET count = count + :more",
        msgspec.structs.asdict(audit) | {"asked": msgspec.json.encode(audit.asked), "more": more},
    )


def count_up(book: Book, id_: str, more: int) -> None:
    """Add to the count of a line, if there is one."""
    book.db.execute("UPDATE audit SET count = count + ? WHERE id = ?", (more, id_))


def prune(book: Book, before: int, now: int) -> None:
    """Remove lines from before this ledger time or beyond the bound, and replays without jobs."""
    book.db.execute(
        f"DELETE FROM audit WHERE {ages(book.db, 'at', now)} < ? "
        "OR n <= (SELECT max(n) FROM audit) - ?",
        (before, AUDIT_LINES),
    )
    book.db.execute(
        f"DELETE FROM replays WHERE state > 0 AND {ages(book.db, 'created_at', now)} < ? "
        "AND NOT EXISTS (SELECT 1 FROM jobs WHERE replay = replays.n)",
        (before,),
    )


def lines(
    db: sqlite3.Connection, since: int | None, until: int | None, limit: int
) -> tuple[Audit, ...]:
    """Newest first."""
    rows = db.execute(
        "SELECT id, at, who, verb, asked, count, peer, way FROM audit "
        "WHERE at >= coalesce(?, at) AND at < coalesce(?, at + 1) ORDER BY n DESC LIMIT ?",
        (since, until, limit),
    )
    return tuple(
        [
            Audit(id_, at, who, verb, msgspec.json.decode(asked), count, peer, way)
            for id_, at, who, verb, asked, count, peer, way in rows
        ]
    )
