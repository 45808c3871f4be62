"""
Whether the journal that a crash left can be read to its end.

SQLite reads a journal up to the first frame whose checksum is wrong and takes that for its end:
right after a power cut, which leaves a torn last transaction, and wrong if the disk has changed a
frame that was synced long ago, for then every later commit would silently be gone. The two can be
distinguished, as each commit is synced before the next one is written: a torn transaction has no
other behind it.
"""

import struct
from contextlib import closing
from io import FileIO
from pathlib import Path

from router.errors import StoreRefused
from router.store.sqlite.connection import open_read_only

_HEADER, _FRAME = 32, 24
_MAGIC = 0x377F0682
_INDEX = struct.Struct("=16x I 12x 8s")
"""Of the -shm file: the last frame that SQLite found sound, and the salt of this journal."""


def check(path: Path) -> None:
    """
    Pass if no commit of the store at `path` stands behind a damaged place of its journal.

    To be called before the store is opened for writing, by who holds its lock: the first writer
    cuts off what it cannot read. Nothing is changed.

    Raises:
        StoreRefused: some do, or SQLite cannot read the store at all.
    """
    name = Path(f"{path}-wal")
    if not name.exists() or name.stat().st_size <= _HEADER:
        return
    # Closed before SQLite opens it: closing a file drops all locks this process has on it.
    with FileIO(name) as file:
        journal = _Journal(file)
        if journal.unwritten:
            return
        if not journal.sound:
            raise _refused(name, "its head is not what was written")
        commits = journal.commits()
    if len(commits) < 2:
        return
    last = _read_by_sqlite(path, journal.salt)
    unread = [number for number in commits if number > last]
    # The first may be torn by a power cut; those behind it were written after it was synced.
    with FileIO(name) as file:
        if any(_Journal(file).holds(number) for number in unread[1:]):
            where = f"frame {last + 1} cannot be read, and {len(unread)} commits stand behind it"
            raise _refused(name, where)


def journal_bytes(store: Path) -> int:
    """How long the journal of a store is."""
    try:
        return Path(f"{store}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def _refused(name: Path, why: str) -> StoreRefused:
    return StoreRefused(
        f"{name} is damaged: {why}; it was left as it is: "
        "restore a backup, or move it away to go on without what it holds"
    )


class _Journal:
    """The -wal file, read without SQLite. Frames count from 1."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self._header = self._at(0, _HEADER)
        self.unwritten = not any(self._header)
        order = ">" if self._header[3] & 1 else "<"
        self._words = struct.Struct(f"{order}II")
        self._page = int.from_bytes(self._header[8:12], "big")
        self.salt = self._header[16:24]

    @property
    def sound(self) -> bool:
        """Whether the head is as SQLite wrote it."""
        magic = int.from_bytes(self._header[:4], "big")
        return magic & ~1 == _MAGIC and self._header[24:] == self._sum((0, 0), self._header[:24])

    def commits(self) -> list[int]:
        """The frames that end a transaction; those of an earlier use of the file left out."""
        found, number = [], 1
        while len(head := self._at(self._offset(number), _FRAME)) == _FRAME:
            if head[8:16] == self.salt and any(head[4:8]):
                found.append(number)
            number += 1
        return found

    def holds(self, number: int) -> bool:
        """Whether a frame is as it was written after the one before it."""
        frame = self._at(self._offset(number), _FRAME + self._page)
        before = self._at(self._offset(number - 1) + 16, 8) if number > 1 else self._header[24:]
        one, two = struct.unpack(">II", before)
        return frame[16:24] == self._sum((one, two), frame[:8] + frame[_FRAME:])

    def _offset(self, number: int) -> int:
        return _HEADER + (number - 1) * (_FRAME + self._page)

    def _at(self, offset: int, size: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(size) or b""

    def _sum(self, seed: tuple[int, int], data: bytes) -> bytes:
        """SQLite's running checksum of a journal."""
        one, two = seed
        for first, second in self._words.iter_unpack(data):
            one = (one + first + two) & 0xFFFFFFFF
            two = (two + second + one) & 0xFFFFFFFF
        return struct.pack(">II", one, two)


def _read_by_sqlite(path: Path, salt: bytes) -> int:
    """The last frame that SQLite itself accepts: it writes that down beside the journal."""
    with closing(open_read_only(path)) as db:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    with FileIO(f"{path}-shm") as index:
        last, of = _INDEX.unpack(index.read(_INDEX.size))
    return int(last) if of == salt else 0
