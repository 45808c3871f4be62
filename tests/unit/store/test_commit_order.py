"""Reading on from a place in the ledger: what is gone is told. See conformance/test_feed.py."""

from pathlib import Path

import pytest

from router.errors import StoreUnavailable
from router.store.removal import Retain
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import FeedQuery, Following
from tests.clocks import START_MS, ManualClock
from tests.store_values import Maker

ALL_GONE = Retain(10**14, 10**14, 10**14)


async def fill(store: SqliteStore, make: Maker, count: int, **given: object) -> list[str]:
    """So many deliveries without jobs; their ids."""
    return [(await store.accept(make.acceptance(jobs=(), **given))).delivery for _ in range(count)]


def ids(found: Following) -> list[str]:
    return [one.delivery.id for one in found.deliveries]


async def test_what_retention_removed_is_counted(store: SqliteStore, make: Maker) -> None:
    await fill(store, make, 2)
    place = (await store.reads.following(FeedQuery(limit=1))).cursor
    await store.prune(ALL_GONE, now=START_MS)
    found = await store.reads.following(FeedQuery(cursor=place))
    assert (ids(found), found.removed) == ([], 1)
    assert (await store.reads.following(FeedQuery(cursor=found.cursor))).removed == 0
    (new,) = await fill(store, make, 1)
    found = await store.reads.following(FeedQuery(cursor=place))
    assert (ids(found), found.removed) == ([new], 1)


async def test_a_number_is_not_given_twice(path: Path, clock: ManualClock, make: Maker) -> None:
    """Else a listener that comes back after retention would skip what got its old numbers."""
    store = await open_store(str(path), clock=clock)
    await fill(store, make, 3)
    place = (await store.reads.following(FeedQuery())).cursor
    await store.prune(ALL_GONE, now=START_MS)
    await store.close()
    store = await open_store(str(path), clock=clock)
    sent = await fill(store, make, 2)
    found = await store.reads.following(FeedQuery(cursor=place))
    assert (ids(found), found.removed, found.other) == (sent, 0, False)
    await store.close()


async def test_a_number_that_was_not_written_is_no_gap(store: SqliteStore, make: Maker) -> None:
    await fill(store, make, 1)
    bad = make.acceptance(jobs=(), id=("no", "text"))
    with pytest.raises(StoreUnavailable):
        await store.accept(bad)
    await fill(store, make, 1)
    assert (await store.reads.following(FeedQuery())).removed == 0


async def test_the_ledger_of_another_day_is_distinguished(
    path: Path, clock: ManualClock, make: Maker, tmp_path: Path
) -> None:
    """A backup was put back: the place is of a future that this ledger has not had."""
    store = await open_store(str(path), clock=clock)
    await fill(store, make, 3)
    ahead = (await store.reads.following(FeedQuery())).cursor
    await store.close()
    other = await open_store(str(tmp_path / "other.db"), clock=clock)
    sent = await fill(other, make, 1)
    for _ in range(2):  # before and after its numbers have reached the place
        found = await other.reads.following(FeedQuery(cursor=ahead))
        assert (ids(found), found.other) == (sent, True)
        sent += await fill(other, make, 4)
    await other.close()
