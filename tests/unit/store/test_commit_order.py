"""Reading on from a place in the ledger: in order, whole, and what is gone is told."""

from pathlib import Path

import pytest

from router.errors import StoreUnavailable, UsageError
from router.store.common.commit_order import BODIES_MAX, EXAMINED_MAX
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import FeedQuery, Following, Retain
from tests.clocks import START_MS, ManualClock
from tests.store_values import Maker, entries

ALL_GONE = Retain(10**14, 10**14, 10**14)


async def fill(store: SqliteStore, make: Maker, count: int, **given: object) -> list[str]:
    """So many deliveries without jobs; their ids."""
    return [(await store.accept(make.acceptance(jobs=(), **given))).delivery for _ in range(count)]


def ids(found: Following) -> list[str]:
    return [one.delivery.id for one in found.deliveries]


async def test_deliveries_come_in_the_order_of_their_commits(
    store: SqliteStore, make: Maker
) -> None:
    sent = await fill(store, make, 5)
    first = await store.reads.following(FeedQuery(limit=2))
    assert (ids(first), first.more, first.removed, first.other) == (sent[:2], True, 0, False)
    rest = await store.reads.following(FeedQuery(cursor=first.cursor))
    assert (ids(rest), rest.more) == (sent[2:], False)
    again = await store.reads.following(FeedQuery(cursor=first.deliveries[0].at))
    assert ids(again) == sent[1:]
    end = await store.reads.following(FeedQuery(cursor=rest.cursor))
    assert (ids(end), end.cursor) == ([], rest.cursor)


async def test_an_id_that_sorts_before_an_earlier_commit_is_not_missed(
    store: SqliteStore, make: Maker
) -> None:
    early, late = make.acceptance(jobs=()), make.acceptance(jobs=())
    await store.accept(late)
    place = (await store.reads.following(FeedQuery())).cursor
    await store.accept(early)
    assert ids(await store.reads.following(FeedQuery(cursor=place))) == [early.delivery.id]
    both = [late.delivery.id, early.delivery.id]
    assert ids(await store.reads.following(FeedQuery())) == both
    assert ids(await store.reads.following(FeedQuery(limit=1))) == both[:1]


async def test_a_delivery_comes_whole(store: SqliteStore, make: Maker) -> None:
    acceptance = make.acceptance(b"key", jobs=())
    await store.accept(acceptance)
    (found,) = (await store.reads.following(FeedQuery())).deliveries
    assert found.delivery == acceptance.delivery
    assert found.events == entries(acceptance)


async def test_filters_move_the_place_on(store: SqliteStore, make: Maker) -> None:
    await fill(store, make, 2, endpoint="code")
    (wanted,) = await fill(store, make, 1)
    await fill(store, make, 2, endpoint="code")
    found = await store.reads.following(FeedQuery(endpoints=frozenset({"shop"})))
    assert ids(found) == [wanted]
    assert ids(await store.reads.following(FeedQuery(cursor=found.cursor))) == []
    assert ids(await store.reads.following(FeedQuery(events=frozenset({"orders/paid"})))) != []
    assert ids(await store.reads.following(FeedQuery(events=frozenset({"paid"})))) == []


async def test_bodies_are_bounded_and_a_larger_one_goes_alone(
    store: SqliteStore, make: Maker
) -> None:
    sent = await fill(store, make, 1, body=b"x")
    sent += await fill(store, make, 1, body=b"x" * (BODIES_MAX + 1))
    sent += await fill(store, make, 2, body=b"x" * (BODIES_MAX // 2))
    cursor, got = None, []
    while True:
        found = await store.reads.following(FeedQuery(cursor=cursor))
        got.append(ids(found))
        cursor = found.cursor
        if not found.more:
            break
    assert got == [sent[:1], sent[1:2], sent[2:]]


async def test_a_long_stretch_of_others_is_walked_in_steps(store: SqliteStore, make: Maker) -> None:
    await fill(store, make, EXAMINED_MAX + 1, endpoint="code")
    wanted = frozenset({"shop"})
    found = await store.reads.following(FeedQuery(endpoints=wanted))
    assert (ids(found), found.more) == ([], True)
    assert not (await store.reads.following(FeedQuery(cursor=found.cursor, endpoints=wanted))).more


async def test_since(store: SqliteStore, make: Maker) -> None:
    sent = await fill(store, make, 3)
    assert ids(await store.reads.following(FeedQuery(since="start"))) == sent
    assert ids(await store.reads.following(FeedQuery(since=str(START_MS + 2)))) == sent[1:]
    now = await store.reads.following(FeedQuery(since="now"))
    assert ids(now) == []
    (new,) = await fill(store, make, 1)
    assert ids(await store.reads.following(FeedQuery(cursor=now.cursor))) == [new]


@pytest.mark.parametrize(
    "asked", [FeedQuery(cursor="x"), FeedQuery(cursor="1;-"), FeedQuery(since="1h")]
)
async def test_what_nobody_gave_out_is_refused(store: SqliteStore, asked: FeedQuery) -> None:
    with pytest.raises(UsageError):
        await store.reads.following(asked)


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
