"""What the disk has changed is found when it is read; what is not ours is left alone."""

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from router.errors import StoreRefused
from router.model.delivery import Delivery
from router.store.sqlite import upgrading
from router.store.sqlite.store import SqliteStore, open_store
from tests.clocks import ManualClock
from tests.store_values import Maker


async def read_after(store: SqliteStore, path: Path, sql: str, *values: object) -> Delivery:
    """A delivery that is accepted, changed behind the store's back, and read."""
    wanted = Maker().acceptance()
    await store.accept(wanted)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(sql, values)
    found = await store.reads.delivery(wanted.delivery.id)
    assert found is not None
    return found.delivery


async def test_a_delivery_as_it_was_stored_is_whole(store: SqliteStore, path: Path) -> None:
    assert not (await read_after(store, path, "SELECT 1")).damaged


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE deliveries SET body = CAST(substr(body, 1, length(body) - 1) || '?' AS BLOB)",
        "UPDATE deliveries SET meta = CAST(substr(meta, 1, 8) || x'0101' AS BLOB)",
        "UPDATE deliveries SET meta = x'9bc1'",
        "UPDATE deliveries SET meta = x''",
    ],
)
async def test_a_changed_one_is_damaged(store: SqliteStore, path: Path, change: str) -> None:
    assert (await read_after(store, path, change)).damaged


async def test_a_row_of_an_older_router_is_taken_as_it_is(store: SqliteStore, path: Path) -> None:
    """It has no checksum."""
    meta = msgspec.msgpack.encode(("code-host", "POST", "/", "", (), None, 1, (), "", None))
    found = await read_after(store, path, "UPDATE deliveries SET meta = ?", meta)
    assert (found.damaged, found.provider) == (False, "code-host")


async def test_a_file_of_another_program_is_not_touched(path: Path, clock: ManualClock) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE theirs (n)")
    before = path.read_bytes()
    with pytest.raises(StoreRefused, match="not a router's store"):
        await open_store(str(path), clock=clock)
    assert path.read_bytes() == before


async def test_a_damaged_schema_is_refused_in_words(path: Path, clock: ManualClock) -> None:
    """SQLite quotes it in its message, and so it may not even be text."""
    await (await open_store(str(path), clock=clock)).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = CAST(x'435245415445205441424c4586' AS TEXT)")
    with pytest.raises(StoreRefused, match="restore a backup"):
        await open_store(str(path), clock=clock)


async def test_a_first_start_that_was_cut_off_is_finished(
    path: Path, clock: ManualClock, tmp_path: Path
) -> None:
    """It left a rollback journal, which only a writer can use."""
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 0")
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN")
        db.execute("CREATE TABLE half (n)")
        db.executemany("INSERT INTO half VALUES (zeroblob(?))", [(3_000,)] * 50)
        for suffix in ("", "-journal"):  # it has spilled: both are there, nothing is committed
            Path(f"{path}{suffix}").write_bytes(Path(f"{other}{suffix}").read_bytes())
    assert path.stat().st_size
    with pytest.raises(StoreRefused, match="start `router serve` once"):
        upgrading.about(path)
    await (await open_store(str(path), clock=clock)).close()
    assert upgrading.about(path).deliveries == 0


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM clock_steps",
        "INSERT INTO facts VALUES ('ledger/last_delivery', x'31ff', 0)",
        (
            "INSERT INTO generations (n, id, text, context, created_at) "
            "VALUES (9, CAST(x'ff' AS TEXT), '', x'', 0)"
        ),
    ],
)
async def test_without_what_everything_stands_on_nothing_starts(
    path: Path, clock: ManualClock, change: str
) -> None:
    await (await open_store(str(path), clock=clock)).close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(change)
    with pytest.raises(StoreRefused, match=r"is damaged .* restore a backup"):
        await open_store(str(path), clock=clock)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE facts SET value = x'ff' WHERE name = 'a'",
        "UPDATE facts SET value = 'x' WHERE name = 'a'",
        "UPDATE facts SET name = CAST(x'61ff' AS TEXT) WHERE name = 'a'",
    ],
)
async def test_a_spoilt_fact_is_forgotten(store: SqliteStore, path: Path, change: str) -> None:
    await store.remember({"a": 1, "b": 2})
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(change).rowcount == 1
    assert await store.recall("") == {"b": 2}
