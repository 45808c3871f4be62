"""What was removed is in no file of the store, once it is scrubbed."""

from contextlib import closing
from pathlib import Path

import pytest

from router.store.removal import Retain
from router.store.sqlite.connection import open_read_only
from router.store.sqlite.scrubbing import SMALL
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker

CANARY = b"canary@example.com"
GONE = Retain(FAR * 2, FAR * 2, FAR * 2)
MIB = 1024 * 1024


def holding(folder: Path) -> list[str]:
    """The files in which the canary is."""
    return sorted(path.name for path in folder.iterdir() if CANARY in path.read_bytes())


async def filled(store: SqliteStore, *, left: int = 1) -> None:
    """Deliveries of several sizes are removed; some that are not about the canary are left."""
    make = Maker()
    for _ in range(left):
        await store.accept(make.acceptance(body=b"x" * MIB if left > 1 else b"x"))
    for size in (50, 3_000, 9_000, 500_000) * 8:
        body = CANARY * (size // len(CANARY))
        await store.accept(make.acceptance(jobs=(), state="unmatched", body=body))
    await store.prune(GONE, now=START_MS)


async def scrubbed(store: SqliteStore, most: int = 200) -> None:
    for _ in range(most):
        if await store.scrub():
            return
    raise AssertionError("it does not end")


@pytest.mark.parametrize("left", [1, SMALL // MIB + 1], ids=["written anew", "by steps"])
async def test_no_file_holds_what_was_removed(
    tmp_path: Path, clock: ManualClock, left: int
) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    await filled(store, left=left)
    assert holding(tmp_path)  # else nothing would be shown below
    await scrubbed(store)
    assert holding(tmp_path) == []
    assert len(await store.reads.deliveries(Selector())) == left
    assert fillers(tmp_path) == 0
    await store.close()


async def test_who_reads_the_store_holds_it_up_and_nobody_else(
    tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    await filled(store)
    with closing(open_read_only(tmp_path / "router.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM deliveries").fetchone()
        for _ in range(5):
            assert not await store.scrub()
        await store.accept(Maker(2).acceptance())
    await scrubbed(store)
    assert holding(tmp_path) == []
    await store.close()


async def test_one_that_was_cut_off_is_begun_anew(tmp_path: Path, clock: ManualClock) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    await filled(store, left=SMALL // MIB + 1)
    for _ in range(3):
        assert not await store.scrub()
    assert fillers(tmp_path)
    await store.close()
    again = await open_store(str(tmp_path / "router.db"), clock=clock)
    await scrubbed(again)
    assert holding(tmp_path) == []
    assert fillers(tmp_path) == 0
    await again.close()


def fillers(folder: Path) -> int:
    """Facts that hold free pages."""
    with closing(open_read_only(folder / "router.db")) as db:
        found = "SELECT count(*) FROM facts WHERE name LIKE 'filler/%'"
        return int(db.execute(found).fetchone()[0])
