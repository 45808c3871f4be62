"""
What was removed, overwritten in the store's files: free pages hold what they held, and pages in use
rows that were moved out of them.

Piece by piece, beside the load: each time that the journal has just been emptied nothing of the
file has a newer version there, and the writer, which alone writes, overwrites what SQLite never
reads. A crash amid that changes nothing that is stored.
"""

import os
from collections.abc import Iterator

from router.store.sqlite.page_file import PageFile, Span
from router.store.sqlite.writer_state import Book

PIECE = 1_000
"""Pages and rows that are looked at at once, a few milliseconds; of free pages those of a list."""


class Scrub:
    """One overwriting; should it break off, the next one begins anew."""

    def __init__(self) -> None:
        self._next, self._last = 1, 0
        self._seen = set[int]()
        self._is_done = False

    def step(self, book: Book) -> bool:
        """Have the next piece overwritten, which a reader may hold back; whether all is done."""
        if not self._is_done:
            book.when_empty.append(self._piece)
        return self._is_done

    def _piece(self, book: Book) -> None:
        """Pages in use first: what is freed after it was looked at has nothing old in it."""
        if book.file is None:
            book.file = os.open(book.path, os.O_RDWR)
        pages = PageFile(book.file)
        self._last = self._last or pages.count  # what comes after it was not there
        if self._next <= self._last:
            pages.overwrite(self._in_use(pages))
            book.db.execute("PRAGMA shrink_memory").fetchall()  # it remembers pages as they were
        else:
            self._free(pages)

    def _in_use(self, pages: PageFile) -> Iterator[Span]:
        left = PIECE
        for number, page in pages.in_use(self._next, self._last):
            if page:
                yield from pages.unused(number, page)
            self._next = number + 1
            left -= 1 + (page.cells if page else 0)
            if left <= 0:
                return
        self._next = self._last + 1

    def _free(self, pages: PageFile) -> None:
        for trunk, listed in pages.free():
            if trunk not in self._seen:
                pages.overwrite(pages.unlisted(trunk, listed))
                self._seen.add(trunk)
                return
        self._is_done = True
