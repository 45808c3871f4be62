"""How connections are set."""

import sqlite3
from pathlib import Path

import pytest

from router.errors import StoreRefused
from router.store.sqlite.connection import READER, WRITER, open_read_only, open_writer
from router.store.sqlite.store import SqliteStore, open_store
from tests.clocks import ManualClock


def pragma(db: sqlite3.Connection, name: str) -> object:
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def test_the_writer_reads_its_settings_back(path: Path) -> None:
    path.touch()
    db = open_writer(path)
    assert {name: pragma(db, name) for name in WRITER if name != "mmap_size"} == {
        name: value for name, value in WRITER.items() if name != "mmap_size"
    }
    assert (pragma(db, "synchronous"), pragma(db, "journal_mode")) == (2, "wal")
    db.close()


async def test_a_reader_cannot_write(store: SqliteStore, path: Path) -> None:
    db = open_read_only(path)
    assert {name: pragma(db, name) for name in READER if name != "mmap_size"} == {
        name: value for name, value in READER.items() if name != "mmap_size"
    }
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        db.execute("DELETE FROM jobs")
    db.close()


@pytest.mark.parametrize("damage", ["header", "schema", "text"])
async def test_a_damaged_file_is_refused_and_left_as_it_is(path: Path, damage: str) -> None:
    store = await open_store(str(path), clock=ManualClock())
    await store.close()
    data = bytearray(path.read_bytes())
    if damage == "header":
        data[:16] = b"\0" * 16
    elif damage == "schema":
        data[100:4096] = b"\xff" * 3996
    else:
        data = bytearray(b"these are notes, not a store\n" * 200)
    path.write_bytes(data)
    with pytest.raises(StoreRefused, match=r"damaged or not a store.*restore a backup"):
        await open_store(str(path), clock=ManualClock())
    assert path.read_bytes() == bytes(data)


async def test_another_program_s_database_is_refused(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE notes (text)")
    db.close()
    with pytest.raises(StoreRefused, match="not a router's store"):
        await open_store(str(path), clock=ManualClock())
