"""
A SQLite file by its pages, and which bytes of them mean nothing, but may be what once lay there.

SQLite overwrites a row that goes (`secure_delete`). It leaves what the middle of a page held whose
rows it has moved, free pages, and what such a page held behind the end of a row that goes on in it.

By https://www.sqlite.org/fileformat2.html.
"""

import os
from collections.abc import Collection, Iterable, Iterator
from struct import unpack_from
from typing import NamedTuple

_FIRST_HEADER = 100
"""Bytes of the file's own header, before that of the first page."""
_TABLE, _INDEX, _INDEX_INNER = 13, 10, 2
_HEADERS = {_INDEX_INNER: 12, 5: 12, _INDEX: 8, _TABLE: 8}
"""The first byte of each page of a tree, and how long its header is. In 5 no row begins."""
_MOST = 1 << 25
"""
From so many pages on, 128 GiB of 4 KiB each, the first byte of a page does not tell what it is:
it may be that of the number of the next page.
"""


class Span(NamedTuple):
    """Bytes of the file."""

    at: int
    length: int


class PageFile:
    """
    An open file; what is asked of it holds as long as nobody writes to it, and while no page has a
    newer version in the journal. Pages count from 1.
    """

    def __init__(self, file: int) -> None:
        self.file = file
        head = os.pread(file, _FIRST_HEADER, 0)
        size, kept, self.count, self._trunk, mapped = unpack_from(">16xH2xB7xII16xI", head)
        self._size: int = size if size > 1 else 1 << 16
        self._usable = self._size - kept
        # With `auto_vacuum` some pages say where others are, and begin like any.
        self._is_told_by_first_byte = self.count < _MOST and not mapped

    def free(self) -> Iterator[tuple[int, list[int]]]:
        """The pages that list free ones, each with those that it lists."""
        number, seen = self._trunk, set[int]()
        while number and number not in seen:
            seen.add(number)
            page = self._page(number)
            if len(page) < self._size:
                return
            following, listed = unpack_from(">II", page)
            yield number, list(unpack_from(f">{min(listed, self._size // 4 - 2)}I", page, 8))
            number = following

    def unlisted(self, trunk: int, listed: Collection[int]) -> Iterator[Span]:
        """What of such a page and of those that it lists is not all zeros, the list left out."""
        yield from self._dirty(trunk, 8 + 4 * len(listed), self._size)
        for number in listed:
            if 1 < number <= self.count:
                yield from self._dirty(number, 0, self._size)

    def overwrite(self, spans: Iterable[Span]) -> None:
        """Zeros there, durable. Raises OSError."""
        written = 0
        for span in spans:
            written += os.pwrite(self.file, bytes(span.length), span.at)
        if written:
            os.fsync(self.file)

    def in_use(self, first: int, last: int) -> Iterator[tuple[int, "TreePage | None"]]:
        """
        Those of these pages that are not free; None: one that is of no tree, or damaged. Where
        nothing tells which those are there is none.
        """
        free = {number for trunk, listed in self.free() for number in (trunk, *listed)}
        for number in range(first, last + 1 if self._is_told_by_first_byte else first):
            if number not in free:
                page, at = self._page(number), _FIRST_HEADER if number == 1 else 0
                is_tree = len(page) == self._size and page[at] in _HEADERS
                tree = TreePage(page, at) if is_tree else None
                yield number, tree if tree and tree.is_sound else None

    def unused(self, number: int, page: "TreePage") -> Iterator[Span]:
        """What is not all zeros in its middle, and behind the ends of rows that begin in it."""
        yield from self._dirty(number, *page.middle())
        for following, length in page.long_rows(self._usable):
            yield from self._behind(following, length)

    def _behind(self, number: int, length: int) -> Iterator[Span]:
        """Follow a row for so many bytes; if it is not as long as it says, nothing is touched."""
        part = self._usable - 4
        while 1 < number <= self.count:
            following = self._following(number)
            if length <= part:
                if not following:
                    yield from self._dirty(number, 4 + length, self._usable)
                return
            number, length = following, length - part

    def _following(self, number: int) -> int:
        return int.from_bytes(os.pread(self.file, 4, self._place(number)), "big")

    def _dirty(self, number: int, begin: int, end: int) -> Iterator[Span]:
        at = self._place(number) + begin
        if os.pread(self.file, end - begin, at).strip(b"\0"):
            yield Span(at, end - begin)

    def _place(self, number: int) -> int:
        return (number - 1) * self._size

    def _page(self, number: int) -> bytes:
        return os.pread(self.file, self._size, self._place(number))


class TreePage:
    """A page in which rows or keys begin, or that says in which they do."""

    def __init__(self, page: bytes, at: int) -> None:
        self._page = page
        self._kind = page[at]
        self.cells, self._content = unpack_from(">3xHH", page, at)
        self._pointers = at + _HEADERS[self._kind]

    @property
    def is_sound(self) -> bool:
        """Whether its rows lie where it says that they do: else none of it is to be believed."""
        begin, end = self.middle()
        return begin <= end <= len(self._page) and all(
            end <= place < len(self._page) for place in self._places()
        )

    def _places(self) -> tuple[int, ...]:
        return unpack_from(f">{self.cells}H", self._page, self._pointers)

    def middle(self) -> tuple[int, int]:
        """Between its two ends: from the first byte to the one behind the last."""
        return self._pointers + 2 * self.cells, self._content or 1 << 16

    def long_rows(self, usable: int) -> Iterator[tuple[int, int]]:
        """Of each row that goes on elsewhere: in which page, and with how many bytes."""
        if self._kind not in (_TABLE, _INDEX, _INDEX_INNER):
            return
        for place in self._places():
            length, at = _varint(self._page, place + 4 * (self._kind == _INDEX_INNER))
            here = _here(length, usable, is_table=self._kind == _TABLE)
            if here < length:
                at = _varint(self._page, at)[1] if self._kind == _TABLE else at
                yield int.from_bytes(self._page[at + here : at + here + 4], "big"), length - here


def _here(length: int, usable: int, *, is_table: bool) -> int:
    """How many bytes of a row lie in the page in which it begins."""
    most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    here = least + (length - least) % (usable - 4)
    return here if here <= most else least


def _varint(page: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and what is behind it."""
    value = 0
    for byte in page[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | int.from_bytes(page[at : at + 1], "big"), at + 1
