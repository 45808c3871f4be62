"""Nodes of a PostgreSQL store: what their connections tell, and what is kept of them."""

import asyncio
from collections.abc import AsyncIterator, Collection

import pytest

from router.model.store_address import DatabaseUrl
from router.store.postgres.database import Database
from router.store.postgres.store import PostgresStore
from router.store.values import NodeSeen
from tests.clocks import ManualClock
from tests.conformance.fleet import a_card
from tests.store_values import FAR, Maker, lease_one
from tests.unit.store.postgres.looking import run


@pytest.fixture
async def pair(
    db: Database, empty_postgres: str, clock: ManualClock
) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    both = PostgresStore(db), PostgresStore(Database(DatabaseUrl(empty_postgres), clock, 6))
    yield both
    for store in both:
        await store.close()


async def seen(store: PostgresStore, by: str, node: str) -> NodeSeen:
    beats = await store.beat(by, a_card())
    assert beats is not None
    (found,) = [one for one in beats.others if one.number == node]
    return found


async def test_who_lost_its_connection_is_closed_until_it_beats_again(
    pair: tuple[PostgresStore, PostgresStore], db: Database
) -> None:
    a, b = pair
    one, two = await a.join(a_card()), await b.join(a_card())
    assert not (await seen(a, one, two)).closed
    ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' "
    await run(db, f"{ended} AND objid = {two}")
    assert (await seen(a, one, two)).closed
    assert await b.beat(two, a_card()) is not None
    assert not (await seen(a, one, two)).closed


async def test_who_joins_anew_is_there_under_its_new_number_alone(
    pair: tuple[PostgresStore, PostgresStore],
) -> None:
    a, b = pair
    one, two = await a.join(a_card()), await b.join(a_card())
    three = await b.join(a_card())
    assert (await seen(a, one, two)).closed
    assert not (await seen(a, one, three)).closed


_SYNC = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I {}', current_database()); END $$"
_SPY = """
    CREATE TABLE said (op text, sync text);
    CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO said VALUES (tg_op, current_setting('synchronous_commit')); RETURN NEW;
    END $$;
    CREATE TRIGGER spy BEFORE INSERT OR UPDATE ON nodes FOR EACH ROW EXECUTE FUNCTION say()
"""


@pytest.fixture
async def spied(
    pair: tuple[PostgresStore, PostgresStore], db: Database
) -> AsyncIterator[PostgresStore]:
    """A store; the table `said` has how each change of a node is committed."""
    await db.write.run(lambda c: c.execute(_SYNC.format("SET synchronous_commit = on")))
    await db.write.run(lambda c: c.execute(_SPY))
    yield pair[0]
    reset = _SYNC.format("RESET synchronous_commit")
    await db.write.run(lambda c: c.execute(f"{reset}; DROP FUNCTION say CASCADE; DROP TABLE said"))


async def test_beats_wait_for_no_disk_and_a_number_does(spied: PostgresStore, db: Database) -> None:
    """A crash of the server may undo a beat, but must not give a number twice."""
    node = await spied.join(a_card())
    await spied.beat(node, a_card())
    said = await db.ask_once(lambda tx: tx.all("SELECT op, sync FROM said"))
    assert [tuple(row) for row in said] == [("INSERT", "on"), ("UPDATE", "off")]


async def test_gone_nodes_are_shown_for_a_while_and_their_numbers_never_come_again(
    pair: tuple[PostgresStore, PostgresStore], db: Database
) -> None:
    a, b = pair
    one, two = await a.join(a_card()), await b.join(a_card("two"))
    assert await a.declare_gone(two, 0)
    shown = {node.number: node.gone for node in await a.reads.nodes()}
    assert shown == {one: False, two: True}
    await run(db, "UPDATE nodes SET seen_at = seen_at - interval '2 hours'")
    assert [node.number for node in await a.reads.nodes()] == [one]
    await run(db, "UPDATE nodes SET seen_at = seen_at - interval '8 days'")
    three = await b.join(a_card())
    assert three not in (one, two)
    left = await db.ask_once(lambda tx: tx.all("SELECT n::text FROM nodes ORDER BY n"))
    assert [n for (n,) in left] == [one, three]
    assert await b.beat(two, a_card()) is None


async def test_holders_that_run_no_more_are_found_however_much_others_hold(
    pair: tuple[PostgresStore, PostgresStore], make: Maker
) -> None:
    a, b = pair
    one, two = await a.join(a_card()), await b.join(a_card())
    await a.accept(make.acceptance(jobs=[make.job() for _ in range(9)]))
    for lease in (f"{one}/1", f"{one}/2", f"{two}/1", f"{two}/2", "77/1", "77/2", "7", "m/1"):
        await lease_one(a, lease=lease, now=FAR)
    assert await a.reads.lost_nodes(one) == {"77", "7", "m"}
    assert await a.reads.lost_nodes("77") == {"7", "m"}
    assert await a.declare_gone(two, 0)
    assert await a.reads.lost_nodes(one) == {"77", "7", "m", two}


class Ears:
    """What one router hears of the others."""

    def __init__(self, store: PostgresStore) -> None:
        self._said: asyncio.Queue[list[str]] = asyncio.Queue()
        store.listen(self._hear)

    def _hear(self, targets: Collection[str]) -> None:
        self._said.put_nowait(list(targets))

    async def next(self) -> list[str]:
        async with asyncio.timeout(30):
            return await self._said.get()


async def test_what_others_commit_is_heard_at_once(
    pair: tuple[PostgresStore, PostgresStore], make: Maker
) -> None:
    a, b = pair
    ears, own = Ears(b), Ears(a)
    await a.join(a_card())
    two = await b.join(a_card())
    jobs = [make.job(target=target) for target in ("erp", "crm")]
    first = make.acceptance(jobs=jobs)
    await a.accept(first)
    assert await ears.next() == ["crm", "erp"]
    await a.add(first.delivery.id, [make.job(target="chat")])
    assert await ears.next() == ["chat"]
    await a.pause_target("erp", reason="they migrate", by="ann", at=FAR)
    assert await ears.next() == []
    await a.resume_target("erp", now=FAR)
    assert await ears.next() == []
    await b.beat(two, a_card())
    await b.accept(make.acceptance(jobs=[make.job(target="theirs")]))
    assert await own.next() == ["theirs"], "and nothing of its own before"


@pytest.mark.long
async def test_who_comes_back_hears_again(
    pair: tuple[PostgresStore, PostgresStore], db: Database, make: Maker
) -> None:
    a, b = pair
    ears = Ears(b)
    two = await b.join(a_card())
    ended = "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' "
    await run(db, f"{ended} AND objid = {two}")
    assert await b.beat(two, a_card()) is not None
    await a.accept(make.acceptance(jobs=[make.job(target="erp")]))
    assert await ears.next() == ["erp"]
