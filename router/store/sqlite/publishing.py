"""Which rules are in force for all nodes: those that any of them has published last."""

import sqlite3

from router.store.common.publications import KEPT, following
from router.store.sqlite.writer_state import Book
from router.store.values import NO_LOCAL, Local, Publication


def published(db: sqlite3.Connection, by: str | None = None) -> Publication | None:
    """The newest publication, of all nodes or of one."""
    row = db.execute(
        "SELECT seq, generation, by, at FROM published "
        "WHERE by = coalesce(?, by) ORDER BY seq DESC LIMIT 1",
        (by,),
    ).fetchone()
    return None if row is None else Publication(*row)


def publish(
    book: Book,
    generation: str,
    *,
    by: str,
    at: int,
    after: int | None = None,
    local: Local = NO_LOCAL,  # noqa: ARG001 - there is no other machine to compare
) -> Publication:
    """Put a generation in force, within the open transaction; gives what is in force then."""
    newest, given = published(book.db), Publication(0, generation, by, at)
    then = following(given, newest, published(book.db, by), after)
    if then is not newest:
        book.db.execute("INSERT INTO published VALUES (?, ?, ?, ?)", (then.seq, generation, by, at))
        book.db.execute("DELETE FROM published WHERE seq <= ?", (then.seq - KEPT,))
        book.pages += 2
    return then


def in_force(book: Book, generation: str) -> bool:
    """Whether what is one for all nodes goes by this generation."""
    newest = published(book.db)
    return newest is None or newest.generation == generation
