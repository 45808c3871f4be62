"""Deliveries in the order of their commits, from a PostgreSQL server that others write to."""

from collections.abc import AsyncIterator
from uuid import UUID

import asyncpg
import pytest

from router.model.ids import earliest
from router.model.settings import DAY_MS
from router.store.postgres.ids import encode_id
from router.store.postgres.store import PostgresStore, open_store
from router.store.values import FeedQuery, Following
from tests.clocks import START_MS, ManualClock
from tests.postgres.server import Server
from tests.store_values import Maker

ADD = """
    INSERT INTO deliveries (id, endpoint, state, received_at, generation, names, events, meta, body)
    SELECT $1, endpoint, state, received_at, generation, names, events, meta, body
    FROM deliveries LIMIT 1
"""


def ids(found: Following) -> list[str]:
    return [one.delivery.id for one in found.deliveries]


async def after(store: PostgresStore, cursor: str | None) -> tuple[list[str], str]:
    found = await store.reads.following(FeedQuery(cursor=cursor))
    assert (found.removed, found.other) == (None, False)
    return ids(found), found.cursor


async def told(store: PostgresStore, cursor: str | None, count: int = 1) -> tuple[list[str], str]:
    """What comes after it, at least so many: others on the server may hold it back for a while."""
    found = await after(store, cursor)
    while len(found[0]) < count:
        found = await after(store, cursor)
    return found


async def sent(store: PostgresStore, make: Maker) -> str:
    return (await store.accept(make.acceptance(jobs=()))).delivery


@pytest.fixture
async def first(store: PostgresStore, make: Maker) -> str:
    first = await sent(store, make)
    await told(store, None)
    return first


@pytest.fixture
async def slow(first: str, make: Maker, empty_postgres: str) -> AsyncIterator["Slow"]:
    connection = await asyncpg.connect(empty_postgres)
    slow = Slow(make.delivery().id, connection.transaction())
    await slow.transaction.start()
    await connection.execute(ADD, UUID(bytes=encode_id(slow.delivery)))
    yield slow
    await connection.close()


class Slow:
    """A transaction that has added a delivery, and is not yet committed."""

    def __init__(self, delivery: str, transaction: asyncpg.transaction.Transaction) -> None:
        self.delivery, self.transaction = delivery, transaction


async def test_who_began_first_and_commits_last_is_not_missed(
    store: PostgresStore, make: Maker, first: str, slow: Slow
) -> None:
    found, cursor = await told(store, None)
    assert found == [first]
    quick = await sent(store, make)
    assert await after(store, cursor) == ([], cursor), "a lower number is not yet there"
    await slow.transaction.commit()
    assert (await told(store, cursor, 2))[0] == [slow.delivery, quick]


async def test_who_gave_up_holds_up_nobody(store: PostgresStore, make: Maker, slow: Slow) -> None:
    _, cursor = await told(store, None)
    quick = await sent(store, make)
    await slow.transaction.rollback()
    assert (await told(store, cursor))[0] == [quick]


async def test_now_is_before_what_is_under_way(
    store: PostgresStore, make: Maker, slow: Slow
) -> None:
    """And so before some of what was committed meanwhile: it is told rather than missed."""
    quick = await sent(store, make)
    now = await store.reads.following(FeedQuery(since="now"))
    assert ids(now) == []
    await slow.transaction.commit()
    assert (await told(store, now.cursor, 2))[0] == [slow.delivery, quick]


async def test_a_time_is_before_what_is_under_way(
    store: PostgresStore, make: Maker, first: str, slow: Slow
) -> None:
    quick = await sent(store, make)
    since = str((await store.reads.delivery(quick)).delivery.received_at - 1)
    place = await store.reads.following(FeedQuery(since=since))
    assert ids(place) == []
    await slow.transaction.commit()
    assert (await told(store, place.cursor, 2))[0] == [slow.delivery, quick]


async def test_a_place_of_another_ledger_or_of_the_future_is_found_by_its_time(
    store: PostgresStore, make: Maker, first: str
) -> None:
    second = await sent(store, make)
    await told(store, None, 2)
    place = (await store.reads.following(FeedQuery(limit=1))).cursor
    ledger, number, delivery = place.split(".")
    assert delivery == first
    for cursor in (f"{'0' * 26}.{number}.{delivery}", f"{ledger}.{'9' * 18}.{delivery}"):
        found = await store.reads.following(FeedQuery(cursor=cursor))
        assert (ids(found), found.other) == ([second], True)
        assert (await after(store, found.cursor))[0] == []


async def test_a_place_in_the_future_hides_nothing_that_comes(
    store: PostgresStore, make: Maker, first: str
) -> None:
    """The clock was ahead by days, and has been put right: what is new has lower ids than old."""
    ahead = f"{earliest('dlv', START_MS + 9 * DAY_MS)}{'0' * 16}"
    await store.accept(make.acceptance(jobs=(), id=ahead))
    found, cursor = await told(store, None, 2)
    assert found == [first, ahead]
    new = await sent(store, make)
    assert (await told(store, cursor))[0] == [new]


async def test_who_slept_for_days_misses_nothing(
    store: PostgresStore, make: Maker, clock: ManualClock, first: str
) -> None:
    now = await store.reads.following(FeedQuery(since="now"))
    _, behind = await told(store, None)
    new = [await sent(store, make)]
    await clock.advance(9 * DAY_MS / 1000)
    for cursor in (now.cursor, behind):
        assert (await told(store, cursor))[0] == new


@pytest.mark.long
async def test_a_ledger_restored_from_a_dump_goes_on(
    postgres_server: Server, make: Maker, clock: ManualClock
) -> None:
    """Its numbers are of transactions elsewhere, which this server will not reach for years."""
    postgres_server.execute("DROP DATABASE IF EXISTS restored", "CREATE DATABASE restored")
    postgres_server.execute("ALTER DATABASE restored OWNER TO router")
    address = postgres_server.address("restored")
    there = await open_store(address, clock=clock)
    old = [await sent(there, make), await sent(there, make)]
    _, cursor = await told(there, None, 2)
    await there.close()
    dump = await asyncpg.connect(address)
    await dump.execute("UPDATE deliveries SET xid = (xid::text::bigint + 10^12)::text::xid8")
    await dump.execute("UPDATE ledger SET numbered_by = 'elsewhere'")
    await dump.close()
    for _ in range(2):  # nor does it matter how often it is opened
        store = await open_store(address, clock=clock)
        new = await sent(store, make)
        found, behind = await told(store, None, len(old) + 1)
        assert found == [*old, new]
        assert (await after(store, behind))[0] == []
        old.append(new)
        was = await store.reads.following(FeedQuery(cursor=cursor))
        assert (ids(was), was.other) == (old[2:], True)
        await store.close()
