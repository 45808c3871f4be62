"""What the disk has changed is found when it is read; what is not ours is left alone."""

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from router.errors import StoreRefused, StoreUnavailable
from router.model.delivery import Delivery
from router.model.job import Predecessor
from router.store.common.damage import Damaged
from router.store.sqlite import outside
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import ManualClock
from tests.store_values import FAR, Maker, a_settlement


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
        outside.about(path)
    await (await open_store(str(path), clock=clock)).close()
    assert outside.about(path).deliveries == 0


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
    ("change", "named"),
    [
        ("UPDATE facts SET value = x'ff' WHERE name = 'a'", "row a of table facts"),
        ("UPDATE facts SET value = 'x' WHERE name = 'a'", "row a of table facts"),
        ("UPDATE facts SET name = CAST(x'61ff' AS TEXT) WHERE name = 'a'", "column 'name'"),
    ],
)
async def test_a_fact_that_cannot_be_read_is_named(
    store: SqliteStore, path: Path, change: str, named: str
) -> None:
    await store.remember({"a": 1, "b": 2})
    spoil(path, change)
    with pytest.raises(Damaged, match=f"{named}.* restore a backup"):
        await store.recall("")


def spoil(path: Path, sql: str, *values: object) -> None:
    """Change a row behind the store's back; the indexes stay in step."""
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(sql, values).rowcount == 1


def number_of(path: Path, id_: str) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT n FROM jobs WHERE id = ?", (id_,)).fetchone()[0])


async def names_the_row(store: SqliteStore, number: int, id_: str) -> None:
    """The store has failed, and writes no more; its reason has the row and the way out."""
    reason = await asyncio.wait_for(store.failure, 5)
    assert re.search(rf"row ({number}|{id_}) of table jobs cannot be read", reason), reason
    assert "restore a backup" in reason
    with pytest.raises(StoreUnavailable, match="writes no more"):
        await store.accept(Maker(9).acceptance())


JOB_CHANGES = [
    "rule = CAST(x'70ff6964' AS TEXT)",
    "event_id = CAST(x'c328' AS TEXT)",
    "event = x'ff'",
    "event = x'6f'",
    "kind = 77",
    "needs = '[[\"a'",
    "covers = CAST(x'5bff5d' AS TEXT)",
    "due_at = 'soon'",
]


@pytest.mark.parametrize("change", JOB_CHANGES)
async def test_a_lease_ends_at_a_row_that_cannot_be_read(
    store: SqliteStore, path: Path, make: Maker, change: str
) -> None:
    jobs = [make.job() for _ in range(5)]
    await store.accept(make.acceptance(jobs=jobs))
    number = number_of(path, jobs[2].id)
    spoil(path, f"UPDATE jobs SET {change} WHERE n = ?", number)  # noqa: S608
    with pytest.raises(StoreUnavailable):
        await store.lease({"erp": 9}, lease="b/1", now=FAR)
    await names_the_row(store, number, jobs[2].id)
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM jobs WHERE state = 3").fetchone() == (0,)


@pytest.mark.parametrize(
    "change",
    [
        "action = CAST(x'63ff' AS TEXT)",
        "action = x'63'",
        "target = CAST(x'ff' AS TEXT)",
        "reason = CAST(x'ff' AS TEXT)",
        "needs = '[[\"a'",
        "needs = '[[7]]'",
        "attempt = 'many'",
        "state = 77",
        "state = -1",
    ],
)
async def test_an_end_stops_at_a_row_of_its_run_that_cannot_be_read(
    store: SqliteStore, path: Path, make: Maker, change: str
) -> None:
    first = make.job(action="a", run="r")
    then = make.job(action="b", run="r", after=(Predecessor("a"),))
    await store.accept(make.acceptance(jobs=[first, then]))
    (leased,) = (await store.lease({"erp": 1}, lease="b/1", now=FAR)).jobs
    number = number_of(path, then.id)
    spoil(path, f"UPDATE jobs SET {change} WHERE n = ?", number)  # noqa: S608
    with pytest.raises(StoreUnavailable):
        await store.settle(a_settlement(leased.job))
    await names_the_row(store, number, then.id)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE jobs SET kind = 77",
        "UPDATE deliveries SET state = 99",
        "UPDATE deliveries SET meta = 'text'",
    ],
)
async def test_a_lease_by_kinds_ends_at_what_cannot_be_read(
    store: SqliteStore, path: Path, make: Maker, change: str
) -> None:
    """Whether or not the row is found, nothing is leased again and again."""
    await store.accept(make.acceptance(jobs=[make.job()]))
    spoil(path, change)
    with pytest.raises(StoreUnavailable, match="restore a backup"):
        await store.lease({"erp": 9}, lease="b/1", now=FAR, kinds={"erp": "http"})
    assert "cannot be read" in await asyncio.wait_for(store.failure, 5)


async def test_a_running_job_without_a_holder_ends_the_router(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job()]))
    await store.lease({"erp": 9}, lease="old/1", now=FAR)
    spoil(path, "UPDATE jobs SET lease = NULL")
    with pytest.raises(Damaged):
        await store.reads.lost_nodes("new")
    assert "restore a backup" in await asyncio.wait_for(store.failure, 5)


async def test_a_start_ends_at_a_row_that_cannot_be_read(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    jobs = [make.job(), make.job()]
    await store.accept(make.acceptance(jobs=jobs))
    await store.lease({"erp": 9}, lease="old/1", now=FAR)
    number = number_of(path, jobs[0].id)
    spoil(path, "UPDATE jobs SET rule = CAST(x'ff' AS TEXT) WHERE n = ?", number)
    with pytest.raises(StoreUnavailable):
        await store.recover(nodes={"old"}, now=FAR, on_interrupt_dead=frozenset())
    await names_the_row(store, number, jobs[0].id)


async def test_a_target_that_cannot_be_read_ends_the_router(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    """Nobody knows what is due behind it."""
    jobs = [make.job(target=name) for name in ("crm", "mid", "wiki")]
    await store.accept(make.acceptance(jobs=jobs))
    number = number_of(path, jobs[1].id)
    spoil(path, "UPDATE jobs SET target = CAST(x'6dff' AS TEXT) WHERE n = ?", number)
    with pytest.raises(Damaged):
        await store.reads.targets()
    assert f"row {number} of table jobs cannot be read" in await asyncio.wait_for(store.failure, 5)


async def test_a_question_ends_alone_at_a_row_that_cannot_be_read(
    store: SqliteStore, path: Path, make: Maker
) -> None:
    job = make.job()
    await store.accept(make.acceptance(jobs=[job]))
    spoil(path, "UPDATE jobs SET kind = 77 WHERE id = ?", job.id)
    with pytest.raises(Damaged, match=f"row {job.id} of table jobs"):
        await store.reads.jobs(Selector())
    assert not store.failure.done()
    await store.accept(make.acceptance())


async def test_a_byte_on_the_disk(path: Path, clock: ManualClock, make: Maker) -> None:
    store = await open_store(str(path), clock=clock)
    mark = "evt_" + "Q" * 26
    jobs = [make.job(), make.job(event_id=mark), make.job()]
    await store.accept(make.acceptance(jobs=jobs))
    await store.close()
    data = path.read_bytes()
    assert data.count(mark.encode()) == 1
    path.write_bytes(data.replace(mark.encode(), b"evt_\xff" + b"Q" * 25))
    store = await open_store(str(path), clock=clock)
    with pytest.raises(StoreUnavailable):
        await store.lease({"erp": 9}, lease="b/1", now=FAR)
    await names_the_row(store, number_of(path, jobs[1].id), jobs[1].id)
    await store.close()
