"""The rules in force: those of the router that started or reloaded last."""

import sqlite3

from router.store.sqlite.writer_state import Book
from router.store.values import InForce

KEPT = 100
"""Rows of the table `published`: the newest."""

_PUT = """
    INSERT INTO published (seq, generation, by, at)
    SELECT coalesce((SELECT max(seq) FROM published), 0) + 1, ?1, ?2, ?3 WHERE ?1 IS NOT
        (SELECT generation FROM published WHERE by = ?2 ORDER BY seq DESC LIMIT 1)
"""


def put_in_force(book: Book, generation: str, *, by: str, at: int) -> None:
    """Put a generation in force, unless the node had none but that before."""
    if book.db.execute(_PUT, (generation, by, at)).rowcount:
        last = "(SELECT max(seq) FROM published)"
        book.db.execute(f"DELETE FROM published WHERE seq <= {last} - ?", (KEPT,))
        book.pages += 2


def newest(db: sqlite3.Connection) -> InForce | None:
    """What was put in force last."""
    row = db.execute(
        "SELECT seq, generation, at FROM published ORDER BY seq DESC LIMIT 1"
    ).fetchone()
    return None if row is None else InForce(*row)


def is_in_force(book: Book, generation: str) -> bool:
    """Whether this generation decides what is one for all."""
    found = newest(book.db)
    return found is None or found.generation == generation
