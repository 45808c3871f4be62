"""A SQLite file by its pages: what has no meaning is found and overwritten, and nothing else."""

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from os import O_RDWR, close
from os import open as open_file
from pathlib import Path

import pytest

from router.store.sqlite.page_file import PageFile, Span

CANARY = b"canary@example.com"
TABLES = """
    CREATE TABLE by_number (n INTEGER PRIMARY KEY, value BLOB);
    CREATE TABLE by_key (a INTEGER, b TEXT, value BLOB, PRIMARY KEY (a, b)) WITHOUT ROWID;
    CREATE INDEX of_numbers ON by_number (substr(value, 1, 40), n);
"""


@contextmanager
def pages(path: Path) -> Iterator[PageFile]:
    file = open_file(path, O_RDWR)
    yield PageFile(file)
    close(file)


def overwrite(path: Path) -> None:
    with pages(path) as found:
        found.overwrite(unused(found))


def unused(found: PageFile) -> list[Span]:
    """All that has no meaning and is not all zeros."""
    spans = [
        span
        for number, page in found.in_use(1, found.count)
        if page
        for span in found.unused(number, page)
    ]
    return [*spans, *[span for one in found.free() for span in found.unlisted(*one)]]


def worked_on(path: Path, size: int, seed: int, auto_vacuum: int = 0) -> None:
    """Rows of all lengths come, change and go, in no order; in the end those with the canary."""
    drawn = random.Random(seed)
    with closing(sqlite3.connect(path)) as db:
        db.executescript(f"PRAGMA page_size = {size}; PRAGMA auto_vacuum = {auto_vacuum}; {TABLES}")
        db.executescript("PRAGMA secure_delete = FAST; PRAGMA synchronous = OFF")
        for number in range(2_500):
            key, many = drawn.randrange(400), drawn.choice((1, 3, 9, 20, 90, 700))
            value = (CANARY if key % 3 else b"y" * 18) * many
            if number < 1_500 and drawn.random() < 0.4:
                db.execute("DELETE FROM by_number WHERE n = ?", (key,))
                db.execute("DELETE FROM by_key WHERE a = ?", (key,))
            else:
                db.execute("REPLACE INTO by_number VALUES (?, ?)", (key, value))
                db.execute("REPLACE INTO by_key VALUES (?, ?, ?)", (key, str(many), value))
            if drawn.random() < 0.1:
                db.commit()
        db.execute("DELETE FROM by_number WHERE n % 3")
        db.execute("DELETE FROM by_key WHERE a % 3")
        db.commit()


def content(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return list(db.iterdump())


@pytest.mark.parametrize("size", [512, 1_024, 4_096, 65_536])
@pytest.mark.parametrize("seed", range(5))
def test_what_went_is_nowhere_and_what_is_stored_is_as_it_was(
    tmp_path: Path, size: int, seed: int
) -> None:
    path = tmp_path / "some.db"
    worked_on(path, size, seed)
    before = content(path)
    assert CANARY in path.read_bytes()
    overwrite(path)
    assert CANARY not in path.read_bytes()
    assert content(path) == before


@pytest.mark.parametrize("auto_vacuum", [1, 2])
def test_pages_that_begin_like_any_other_stay(tmp_path: Path, auto_vacuum: int) -> None:
    path = tmp_path / "some.db"
    worked_on(path, 512, 1, auto_vacuum)
    before = content(path)
    with pages(path) as found:
        assert list(found.in_use(1, found.count)) == []
    overwrite(path)
    assert content(path) == before


def test_so_do_those_of_a_file_whose_page_numbers_are_long(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    worked_on(path, 512, 1)
    whole = path.read_bytes()
    path.write_bytes(whole[:28] + (1 << 25).to_bytes(4, "big") + whole[32:])
    with pages(path) as found:
        assert list(found.in_use(1, found.count)) == []


def test_what_is_zeros_is_not_written_again(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    worked_on(path, 4_096, 1)
    overwrite(path)
    with pages(path) as found:
        assert unused(found) == []


def test_a_damaged_page_raises_nothing(tmp_path: Path) -> None:
    path, drawn = tmp_path / "some.db", random.Random(3)
    worked_on(path, 512, 3)
    whole = path.read_bytes()
    with pages(path) as found:
        trees = [number for number, page in found.in_use(1, found.count) if page]
    for _ in range(60):
        at = (drawn.choice(trees) - 1) * 512 + drawn.randrange(12)
        path.write_bytes(whole[:at] + drawn.randbytes(1) + whole[at + 1 :])
        with pages(path) as found:
            assert all(0 <= at < len(whole) for at, _ in unused(found))
    path.write_bytes(whole[:1_000])
    with pages(path) as found:
        unused(found)


def test_a_row_that_is_not_as_long_as_it_says_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA page_size = 512; CREATE TABLE one (value BLOB)")
        db.execute("INSERT INTO one VALUES (?)", (b"y" * 4_042,))
        db.commit()
    whole = path.read_bytes()
    length = b"\x9f\x4d"  # 4,045, as its cell begins
    assert whole.count(length + b"\x01") == 1
    # Four pages less, four more, and one by which it seems to go on where no page is.
    for damaged in (b"\x8f\x5d", b"\xaf\x3d", b"\x8f\x23"):
        path.write_bytes(whole.replace(length + b"\x01", damaged + b"\x01"))
        with pages(path) as found:
            assert unused(found) == []
