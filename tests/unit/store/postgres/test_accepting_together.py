"""Several routers accept into one database at once: keys are the fleet's, and nobody deadlocks."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from router.errors import RouterError
from router.model.job import Group, Turn
from router.model.store_address import DatabaseUrl
from router.store.postgres.accepting import accept_all, accept_within
from router.store.postgres.database import Database, Tx
from router.store.postgres.store import PostgresStore
from router.store.values import Acceptance, Accepted, Duplicate
from tests.clocks import START_MS, JumpingClock, settle
from tests.postgres.server import Server
from tests.store_values import Maker
from tests.unit.store.postgres.at_once import Pause, meanwhile, paused
from tests.unit.store.postgres.looking import counted, rows


@pytest.fixture
async def other(db: Database, other: Database) -> Database:
    """Another router's: both know what deliveries and rules refer to, so neither waits for that."""
    for database in (db, other):
        await accept_all(database, [Maker(2).acceptance()], START_MS)
    return other


@pytest.fixture
async def listener(db: Database, empty_postgres: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(empty_postgres)
    yield connection
    await connection.close()


@asynccontextmanager
async def held(db: Database, one: Acceptance, *, commits: bool = False) -> AsyncIterator[None]:
    """It is stored by a transaction that ends with this context."""

    async def hold(tx: Tx, pause: Pause) -> None:
        await accept_within(tx, [one], START_MS)
        await pause()
        if not commits:
            raise ValueError("taken back")

    with suppress(ValueError):
        async with paused(db, hold):
            yield


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("commits", [False, True])
async def test_a_copy_waits_for_the_commit_of_the_first(
    db: Database, other: Database, make: Maker, several: bool, commits: bool
) -> None:
    """And it is the first if there was none."""
    one = make.acceptance(b"k")
    copy = make.acceptance(b"k", *[b"j"] * several)
    async with held(db, one, commits=commits):
        second = await meanwhile(db, accept_all(other, [copy], START_MS))
        assert not second.done()
    expected = Duplicate(one.delivery.id) if commits else Accepted(copy.delivery.id)
    assert await second == [expected]
    assert await counted(db) == (2, 1 + (several and not commits), 2, 2)


@pytest.mark.long
@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize("events", [1, 2])
async def test_the_same_delivery_is_stored_once(
    db: Database, other: Database, make: Maker, events: int, keyed: bool
) -> None:
    """By a call of unknown outcome that goes on, and by the one that repeats it."""
    one = make.acceptance(events=[make.event(i, *[b"%d" % i] * keyed) for i in range(events)])
    async with held(db, one, commits=True):
        again = await meanwhile(db, accept_all(other, [one], START_MS))
        assert not again.done()
    assert await again == [Accepted(one.delivery.id)]
    assert await counted(db) == (2, events * keyed, 1 + events, 1 + events)


async def test_copies_at_one_router_are_judged_in_the_order_in_which_they_came(
    db: Database, other: Database, make: Maker
) -> None:
    """Though the first of them waits for somebody, and there are connections left."""
    store = PostgresStore(other)

    async def asked(group: Sequence[Acceptance]) -> Sequence[Accepted | Duplicate | RouterError]:
        return await store.accept_all(group)

    first = [make.acceptance(b"a"), make.acceptance(b"k")]
    async with held(db, make.acceptance(b"a")):
        earlier = await meanwhile(db, asked(first))
        later = store.accept_all([make.acceptance(b"k")])
        await settle()
        await accept_all(other, [make.acceptance()], START_MS)  # its turn were after the copy's
        assert not later.done()
    assert await earlier == [Accepted(one.delivery.id) for one in first]
    assert await later == [Duplicate(first[1].delivery.id)]
    await store.close()


@pytest.mark.parametrize("events", [0, 1, 3])
async def test_groups_that_overlap_in_opposite_orders_do_not_deadlock(
    db: Database,
    other: Database,
    empty_postgres: str,
    postgres_server: Server,
    make: Maker,
    events: int,
) -> None:
    """
    Deliveries with a key, with several, and (the very same ones twice) without. Both are under way
    while a third holds what stands in their middle.
    """

    def one(number: int) -> Acceptance:
        keys = [b"%d %d" % (number, event) for event in range(events)]
        return make.acceptance(
            events=[make.event(i, key) for i, key in enumerate(keys)], jobs=[make.job()]
        )

    another = Database(DatabaseUrl(empty_postgres), JumpingClock(), 6)
    await accept_all(another, [Maker(2).acceptance()], START_MS)
    group = [one(number) for number in range(9)]
    copies = [one(number) for number in range(9)] if events else group
    async with held(db, group[4]):
        one_way = await meanwhile(db, accept_all(other, group, START_MS))
        other_way = await meanwhile(db, accept_all(another, copies[::-1], START_MS), blocked=2)
        assert not one_way.done()
        assert not other_way.done()
    receipts, mirrored = await one_way, await other_way
    for first, second in zip(receipts, reversed(mirrored), strict=True):
        assert isinstance(first, Accepted | Duplicate)
        assert isinstance(second, Accepted | Duplicate)
        assert first.delivery == second.delivery
        assert {type(first), type(second)} == ({Accepted, Duplicate} if events else {Accepted})
    assert await counted(db) == (10, 9 * events, 10, 10)
    log = (postgres_server.folder / "log").read_text("utf-8")
    ours = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    assert [pid for (pid,) in await rows(db, ours) if f"[{pid}] ERROR:  deadlock" in log] == []
    await another.close()


async def test_a_key_that_goes_as_it_is_asked_for_is_free(db: Database, make: Maker) -> None:
    """Retention takes it between the statement that finds it and the look at its owner."""
    await accept_all(db, [make.acceptance(b"k")], START_MS)
    copy = make.acceptance(b"k")
    async with retention_as_keys_are_written(db):
        assert await accept_all(db, [copy, copy], START_MS) == [Accepted(copy.delivery.id)] * 2
    assert await counted(db) == (2, 0, 2, 2)


@asynccontextmanager
async def retention_as_keys_are_written(db: Database) -> AsyncIterator[None]:
    body = "BEGIN DELETE FROM keys; RETURN NULL; END"

    async def begin(tx: Tx) -> None:
        await tx.run(f"CREATE FUNCTION take() RETURNS trigger LANGUAGE plpgsql AS $${body}$$")
        await tx.run("CREATE TRIGGER take AFTER INSERT ON keys EXECUTE FUNCTION take()")

    await db.transact(begin)
    try:
        yield
    finally:
        await db.transact(lambda tx: tx.run("DROP FUNCTION take CASCADE"))


async def test_who_listens_is_told_once_of_a_group_with_jobs_that_may_start(
    db: Database, listener: asyncpg.Connection, make: Maker
) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()
    await listener.add_listener("router", lambda *notice: heard.put_nowait(notice[-1]))
    batch = [make.event(i, b"%d" % i) for i in range(2)]
    turn = Turn("deploy\x1fx", "x", Group())
    silent = [
        [make.acceptance(b"a", jobs=[make.job(state="running", lease="1/1")])],
        [make.acceptance(b"b", jobs=[make.job(state="waiting")]), make.acceptance(jobs=())],
        [make.acceptance(b"a"), make.acceptance(b"b")],
        [make.acceptance(events=batch, jobs=[make.job(state="waiting")])],
    ]
    told = [
        [make.acceptance(jobs=[make.job(target=name) for name in "ba"])],
        [make.acceptance(events=[make.event(2, b"c", b"d")])],
        [make.acceptance(jobs=[make.job(target="x" * 5_000)])],
        [make.acceptance(jobs=[make.job(run="r", turn=turn, state="running", lease="1/2")])],
    ]
    for group in [*silent, *told]:
        await accept_all(db, group, START_MS)
    assert [await heard.get() for _ in told] == ["a,b", "erp", "", "erp"]
    assert heard.empty()


async def test_rules_name_their_generations(db: Database, make: Maker) -> None:
    def made(rule: str, generation: str) -> Acceptance:
        return make.acceptance(jobs=[make.job(rule=rule, generation=generation)], generation="g1")

    several = make.acceptance(events=[make.event(0), make.event(1)], generation="g3")
    for group in (
        [made("a", "g1"), made("b", "g1")], [made("a", "g2")], [made("a", "g1")], [several]
    ):  # fmt: skip
        await accept_all(db, group, START_MS)
    sql = "SELECT r.rule, g.id FROM rule_generations r JOIN generations g ON g.n = r.generation"
    assert sorted(map(tuple, await rows(db, sql))) == [
        ("a", "g1"),
        ("a", "g2"),
        ("b", "g1"),
        ("paid", "g3"),
    ]
