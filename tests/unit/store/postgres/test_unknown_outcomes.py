"""Connections lost around a commit: what is accepted is there once, whichever side it fell on."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from router.errors import StoreUnavailable
from router.model.store_address import DatabaseUrl
from router.store.postgres.accepting import AGAIN_S, PAUSE_S, accept_all
from router.store.postgres.database import Database
from router.store.postgres.store import PostgresStore
from router.store.values import Acceptance, Accepted, Duplicate
from tests.clocks import START_MS, JumpingClock
from tests.postgres.proxy import Relay, Side
from tests.store_values import Maker
from tests.unit.store.postgres.at_once import meanwhile
from tests.unit.store.postgres.looking import counted

SIDES: tuple[Side, ...] = ("request", "connection", "answer")
BODY = b"lost here"


@pytest.fixture
async def relayed(relay: Relay) -> AsyncIterator[Database]:
    """The same database over connections that get lost."""
    db = Database(DatabaseUrl(relay.address), JumpingClock(), 6)
    yield db
    await db.close()


@pytest.fixture
async def blocker(postgres: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(postgres)
    yield connection
    await connection.close()


def one_of_each(make: Maker) -> tuple[Acceptance, Acceptance, Acceptance]:
    return make.acceptance(b"k", body=BODY), make.acceptance(), make.acceptance(b"j")


@pytest.mark.parametrize("side", SIDES)
async def test_a_lost_connection_costs_nothing(
    db: Database, relay: Relay, relayed: Database, make: Maker, side: Side
) -> None:
    await accept_all(relayed, [make.acceptance(b"j")], START_MS)
    group = one_of_each(make)
    relay.lose(BODY, side)
    receipts = await accept_all(relayed, group, START_MS)
    assert relay.lost.is_set()
    assert receipts[:2] == [Accepted(one.delivery.id) for one in group[:2]]
    assert isinstance(receipts[2], Duplicate)
    assert await counted(db) == (3, 2, 3, 3)


@pytest.mark.parametrize("side", SIDES)
async def test_a_lost_commit_of_a_batch_of_events_costs_nothing(
    db: Database, relay: Relay, relayed: Database, make: Maker, side: Side
) -> None:
    await accept_all(relayed, [make.acceptance(b"b")], START_MS)
    events = [make.event(0, b"a"), make.event(1, b"b"), make.event(2)]
    batch = make.acceptance(events=events)
    relay.lose(b"COMMIT", side)
    receipts = await accept_all(relayed, [batch], START_MS)
    assert relay.lost.is_set()
    assert receipts == [Accepted(batch.delivery.id, frozenset({0, 2}))]
    assert await counted(db) == (2, 2, 3, 3)


@pytest.mark.parametrize("keyed", [True, False])
async def test_a_statement_that_goes_on_without_us_is_waited_for(
    db: Database, relay: Relay, relayed: Database, blocker: asyncpg.Connection, make: Maker,
    keyed: bool,
) -> None:  # fmt: skip
    await accept_all(relayed, [make.acceptance()], START_MS)
    one = make.acceptance(*[b"k"] * keyed, body=BODY)
    relay.lose(BODY, "connection")
    async with blocker.transaction():
        await blocker.execute("LOCK TABLE queue IN SHARE MODE")
        first = await meanwhile(db, accept_all(relayed, [one], START_MS), blocked=2)
    assert relay.lost.is_set()
    assert await first == [Accepted(one.delivery.id)]
    assert await counted(db) == (2, keyed, 2, 2)


async def test_of_what_is_not_known_and_its_copy_on_another_node_one_is_accepted(
    db: Database, relay: Relay, relayed: Database, blocker: asyncpg.Connection, make: Maker
) -> None:
    """Whichever comes to the key first: all of them wait before it for the table of jobs."""
    await accept_all(relayed, [make.acceptance()], START_MS)
    one, copy = make.acceptance(b"k", body=BODY), make.acceptance(b"k")
    relay.lose(BODY, "connection")
    async with blocker.transaction():
        await blocker.execute("LOCK TABLE queue IN SHARE MODE")
        first = await meanwhile(db, accept_all(relayed, [one], START_MS), blocked=2)
        other = await meanwhile(db, accept_all(db, [copy], START_MS), blocked=3)
    assert (await first, await other) in (
        ([Accepted(one.delivery.id)], [Duplicate(one.delivery.id)]),
        ([Duplicate(copy.delivery.id)], [Accepted(copy.delivery.id)]),
    )
    assert await counted(db) == (2, 1, 2, 2)


async def test_a_copy_that_was_quicker_than_what_is_lost_has_the_key(
    db: Database, relay: Relay, relayed: Database, make: Maker
) -> None:
    class Meanwhile(JumpingClock):
        """While the first waits to try again a copy arrives elsewhere."""

        async def sleep(self, seconds: float) -> None:
            assert await accept_all(db, [copy], START_MS) == [Accepted(copy.delivery.id)]
            await super().sleep(seconds)

    await accept_all(relayed, [make.acceptance()], START_MS)
    one, copy = make.acceptance(b"k", body=BODY), make.acceptance(b"k")
    relayed.clock = Meanwhile()
    relay.lose(BODY, "request")
    assert await accept_all(relayed, [one], START_MS) == [Duplicate(copy.delivery.id)]
    assert await counted(db) == (2, 1, 2, 2)


async def test_a_copy_at_the_same_node_waits_in_line(
    db: Database, relay: Relay, relayed: Database, make: Maker
) -> None:
    store = PostgresStore(relayed)
    await store.accept(make.acceptance())
    one, copy = make.acceptance(b"k", body=BODY), make.acceptance(b"k")
    relay.lose(BODY, "request")
    first = store.accept_all([one])
    await relay.lost.wait()
    other = store.accept_all([copy])
    assert await other == [Duplicate(one.delivery.id)]
    assert await first == [Accepted(one.delivery.id)]
    await store.close()


async def test_a_server_that_stays_away_is_asked_now_and_then_for_a_while(make: Maker) -> None:
    clock = JumpingClock()
    nobody = Database(DatabaseUrl("postgresql://router@127.0.0.1:1/router"), clock, 6)
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1"):
        await accept_all(nobody, [make.acceptance(b"k")], START_MS)
    assert set(clock.slept) == {PAUSE_S}
    assert AGAIN_S - 2 * PAUSE_S <= clock.elapsed <= AGAIN_S
