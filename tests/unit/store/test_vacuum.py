"""What was removed is in no file of the store once its file is written anew."""

import asyncio
import random
import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from router.errors import StoreUnavailable
from router.model.erasure import Erasure, ErasureStep
from router.store.sqlite.connection import open_read_only
from router.store.sqlite.copying import backup
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from tests.clocks import START_MS
from tests.store_values import Maker

CANARY = b"canary@example.com"
NAMES = [f"name/{number:04}" for number in range(2_000)]


def holding(folder: Path) -> list[str]:
    """The files in which the canary is."""
    return sorted(path.name for path in folder.iterdir() if CANARY in path.read_bytes())


async def filled(store: SqliteStore) -> None:
    """Deliveries of several sizes are erased, and facts that divided full pages; others stay."""
    make = Maker()
    await store.accept(make.acceptance(body=b"x"))
    gone = []
    for size in (50, 3_000, 9_000, 500_000) * 8:
        one = make.acceptance(jobs=(), state="unmatched", body=CANARY * (size // len(CANARY)))
        await store.accept(one)
        gone.append(one.delivery.id)
    shuffled = random.Random(7).sample(NAMES, len(NAMES))
    for start in range(0, len(shuffled), 20):
        some = shuffled[start : start + 20]
        await store.remember(
            {name: CANARY.decode() if name in NAMES[::2] else "y" * 30 for name in some}
        )
    await store.remember(dict.fromkeys(NAMES[::2]))
    before = Erasure("ers_1", START_MS, {})
    await store.remember({"erase/ers_1": {"id": "ers_1", "created_at": START_MS, "asked": {}}})
    assert await store.erase(ErasureStep(before, before, tuple(gone)), now=START_MS) is not None


async def emptied(store: SqliteStore, most: int = 5) -> bool:
    """Whether the journal is, when that was asked for so often."""
    for _ in range(most):
        if await store.empty_journal("one"):
            return True
    return False


async def test_the_journal_and_a_backup_hold_nothing_and_the_file_nothing_after_a_vacuum(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    await filled(store)
    assert await emptied(store)
    assert holding(tmp_path) == ["router.db"]  # else nothing would be shown below
    backup(path, tmp_path / "copy.db")
    assert holding(tmp_path) == ["router.db"]
    room = await store.vacuum_room()
    assert 0 < room.held * 2 == room.needed < room.free
    await store.vacuum()
    assert await emptied(store)
    assert holding(tmp_path) == []
    assert path.stat().st_size < 1_000_000, "its room is given back"
    await store.accept(Maker(2).acceptance())
    assert len(await store.reads.deliveries(Selector())) == 2
    await store.close()
    assert holding(tmp_path) == []
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_who_writes_meanwhile_waits_and_is_served(store: SqliteStore, tmp_path: Path) -> None:
    await filled(store)
    vacuum = asyncio.create_task(store.vacuum())
    accepted = [await store.accept(Maker(seed).acceptance()) for seed in range(2, 12)]
    await vacuum
    assert len({one.delivery for one in accepted}) == 10


async def test_who_reads_the_store_holds_it_up_and_nobody_else(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    await filled(store)
    with closing(open_read_only(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM deliveries").fetchone()
        await store.vacuum()
        assert not await emptied(store)
        await store.accept(Maker(2).acceptance())
    assert await emptied(store)
    assert holding(tmp_path) == []


async def test_a_vacuum_that_somebody_reads_beside_does_not_count_twice(
    store: SqliteStore, path: Path
) -> None:
    """Retention and refusals go by this size: the journal holds the whole file once more."""
    await filled(store)
    before = await store.reads.size()
    with closing(open_read_only(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM deliveries").fetchone()
        await store.vacuum()
        assert await store.reads.size() <= before
        assert Path(f"{path}-wal").stat().st_size > before / 4


async def test_a_vacuum_without_a_temporary_file_is_told_and_the_store_serves_on(
    store: SqliteStore,
) -> None:
    make = Maker(2)
    for _ in range(14):  # more than it keeps in memory
        await store.accept(make.acceptance(body=b"x" * 3_000_000))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))  # what is open stays, nothing is opened
    try:
        with pytest.raises(StoreUnavailable, match="not written anew: unable to open"):
            await store.vacuum()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    await store.accept(make.acceptance())
    await store.vacuum()
