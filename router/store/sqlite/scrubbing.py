"""
What was removed, overwritten in the store's files: its pages are free, but hold what they held.

A small store is written anew, whole. In a larger one every free page is taken into use once, for
zeros, by steps that hold up nobody; then the journal is emptied. Of what is in use SQLite itself
overwrites what a page no longer holds (`secure_delete`), but for rare remains where it has
divided a page.
"""

from collections.abc import Callable
from functools import partial

from router.store.sqlite.reading import held_bytes
from router.store.sqlite.writer_state import Book

SMALL = 16 * 1024 * 1024
"""Bytes of a store that is written anew, during which the others wait."""
FILL = 256
"""Free pages that one transaction overwrites."""

_FILLER = "filler/"
"""The facts that hold zeros begin so."""
_REMOVE_FILLER = (
    "DELETE FROM facts WHERE name = (SELECT min(name) FROM facts "
    f"WHERE name >= '{_FILLER}' AND name < '{_FILLER[:-1]}0')"
)
_FIRST, _PAGE = 489, 4_092
"""Bytes of a large row that lie in its own page, and in each page more, of 4,096 each."""


class Scrub:
    """One overwriting, step by step; should it break off, the next one begins anew."""

    def __init__(self) -> None:
        self._step: Callable[[Book], bool] = self._begin
        self._fillers = 0
        self._emptied = 0

    def step(self, book: Book) -> bool:
        """Go on, within the open transaction; whether nothing is left to be done."""
        return self._step(book)

    def _begin(self, book: Book) -> bool:
        if held_bytes(book.db) > SMALL:
            self._step = self._fill
            return self._fill(book)
        return self._ask(book, anew=True)

    def _fill(self, book: Book) -> bool:
        """Take free pages into use, to their last byte: what a row leaves of one would stay."""
        pages = min(int(book.one("PRAGMA freelist_count")), FILL)
        if not pages:
            self._step = self._release
            return False
        name = f"{_FILLER}{self._fillers:09}"
        self._fillers += 1
        zeros = _FIRST + _PAGE * pages - _head(name, _PAGE * pages)
        book.db.execute("INSERT OR REPLACE INTO facts VALUES (?, zeroblob(?), 0)", (name, zeros))
        book.pages += pages
        return False

    def _release(self, book: Book) -> bool:
        """Free them again, some at a time: they hold zeros now."""
        book.pages += FILL
        if book.db.execute(_REMOVE_FILLER).rowcount:
            return False
        return self._ask(book, anew=False)

    def _ask(self, book: Book, *, anew: bool) -> bool:
        """Have the writer do what no transaction can; a reader may hold it back."""
        self._emptied = book.emptied
        self._step = partial(self._await, anew=anew)
        return self._await(book, anew=anew)

    def _await(self, book: Book, *, anew: bool) -> bool:
        if book.emptied == self._emptied:
            book.to_empty = "anew" if anew else "journal"
            return False
        return True


def _head(name: str, blob: int) -> int:
    """Bytes of a fact's row beside its zeros."""
    size = 3 if 2 * blob + 12 >= 1 << 14 else 2
    return 1 + 1 + size + 1 + len(name)
