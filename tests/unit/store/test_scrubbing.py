"""What was removed is in no file of the store, once it is scrubbed."""

import random
from contextlib import closing
from pathlib import Path

from router.store.removal import Retain
from router.store.sqlite.connection import open_read_only
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker

CANARY = b"canary@example.com"
NAMES = [f"name/{number:04}" for number in range(2_000)]
EVEN = frozenset(NAMES[::2])
GONE = Retain(FAR * 2, FAR * 2, FAR * 2)


def holding(folder: Path) -> list[str]:
    """The files in which the canary is."""
    return sorted(path.name for path in folder.iterdir() if CANARY in path.read_bytes())


async def filled(store: SqliteStore, seed: int = 1) -> None:
    """Deliveries of several sizes are removed; one that is not about the canary is left."""
    make = Maker(seed)
    await store.accept(make.acceptance(body=b"x"))
    for size in (50, 3_000, 9_000, 500_000) * 8:
        body = CANARY * (size // len(CANARY))
        await store.accept(make.acceptance(jobs=(), state="unmatched", body=body))
    await store.prune(GONE, now=START_MS)


async def divided(store: SqliteStore) -> None:
    """Facts that come in no order: SQLite divides full pages again and again."""
    shuffled = random.Random(7).sample(NAMES, len(NAMES))
    for start in range(0, len(shuffled), 20):
        some = shuffled[start : start + 20]
        values = {name: CANARY.decode() if name in EVEN else "y" * 30 for name in some}
        await store.remember(values)


async def scrubbed(store: SqliteStore, most: int = 200) -> None:
    for _ in range(most):
        if await store.scrub("one"):
            return
    raise AssertionError("it does not end")


async def test_no_file_holds_what_was_removed(tmp_path: Path, clock: ManualClock) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    await filled(store)
    assert holding(tmp_path)  # else nothing would be shown below
    await scrubbed(store)
    assert holding(tmp_path) == []
    assert len(await store.reads.deliveries(Selector())) == 1
    await store.close()


async def test_nor_do_pages_from_which_it_was_moved(tmp_path: Path, clock: ManualClock) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    await divided(store)
    await store.remember(dict.fromkeys(NAMES[::2]))
    assert holding(tmp_path)
    await scrubbed(store)
    assert holding(tmp_path) == []
    # Nor does the writer bring back what it remembers of these pages.
    await store.remember(dict.fromkeys(NAMES[1::2], "short"))
    assert set(await store.recall("name/")) == set(NAMES[1::2])
    await store.close()
    assert holding(tmp_path) == []


async def test_each_begins_with_what_was_removed_before_it(
    tmp_path: Path, clock: ManualClock
) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    await filled(store)
    for _ in range(3):  # the next one would find it done
        assert not await store.scrub("another")
    await filled(store, seed=2)
    await scrubbed(store)
    assert holding(tmp_path) == []
    await store.close()


async def test_it_ends_in_a_store_that_grows(tmp_path: Path, clock: ManualClock) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    make = Maker()
    for _ in range(6):
        await store.accept(make.acceptance(body=b"x" * 9_000))
        if await store.scrub("one"):
            break
    else:
        raise AssertionError("it runs after what is added")
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
            assert not await store.scrub("one")
        await store.accept(Maker(2).acceptance())
    await scrubbed(store)
    assert holding(tmp_path) == []
    await store.close()


async def test_one_that_was_cut_off_is_begun_anew(tmp_path: Path, clock: ManualClock) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    await filled(store)
    assert not await store.scrub("one")
    await store.close()
    assert holding(tmp_path)
    again = await open_store(str(tmp_path / "router.db"), clock=clock)
    await scrubbed(again)
    assert holding(tmp_path) == []
    await again.close()
