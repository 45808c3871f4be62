"""What retention removes beside deliveries in a PostgreSQL store, and what single ones leave."""

import random
from functools import partial

import msgspec
import pytest

from router.model.ids import Ids
from router.model.operations import Audit
from router.model.settings import DAY_MS
from router.store.postgres import adding, in_force, operations, partitions
from router.store.postgres.database import Database, Tx
from router.store.postgres.day_removal import move
from router.store.postgres.finished import WINDOW, WINDOWS, Ages
from router.store.postgres.pruning import BATCHES, KEYS
from router.store.postgres.single_removal import remove
from router.store.postgres.store import PostgresStore
from router.store.removal import Pruned, Retain
from router.store.values import Generation, Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, GENERATION, Maker, a_settlement, lease_one
from tests.unit.store.postgres.at_once import PATIENT, meanwhile, uncommitted
from tests.unit.store.postgres.ledger import add_ended
from tests.unit.store.postgres.looking import rows, run

pytestmark = pytest.mark.long

NOTHING = Retain(succeeded_before=0, unmatched_before=0, dead_before=0)
SUCCEEDED = Retain(succeeded_before=FAR, unmatched_before=0, dead_before=0, limit=100_000)
OVER = Retain(succeeded_before=FAR, unmatched_before=FAR, dead_before=FAR)


async def test_keys_go_in_batches_and_one_that_is_in_use_is_passed_over(
    store: PostgresStore, db: Database
) -> None:
    count = KEYS * BATCHES + 7
    await db.transact(
        lambda tx: tx.run(
            "INSERT INTO keys SELECT int4send(n), gen_random_uuid(), $2 FROM "
            "generate_series(1, $1::integer) n",
            count,
            START_MS,
        )
    )

    async def take_one_over(tx: Tx) -> Pruned:
        await tx.run(PATIENT)
        await tx.run("UPDATE keys SET until = until + 1 WHERE key = int4send(1)")
        return await store.prune(NOTHING, now=START_MS)

    assert (await db.transact(take_one_over)).keys == KEYS * BATCHES
    assert (await store.prune(NOTHING, now=START_MS)).keys == 6
    assert (await store.prune(NOTHING, now=START_MS + 1)).keys == 1


# Single deliveries


async def test_a_search_goes_on_where_it_stopped_and_says_so(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    """Of days that do not go at once: those without jobs stay."""
    count = WINDOW * WINDOWS
    ids = [make.delivery().id for _ in range(count + 1)]
    await db.transact(lambda tx: add_ended(tx, [ids[0], ids[-1]]))
    await db.transact(lambda tx: tx.run(_BARE, ids[1:-1], START_MS, 1))
    first = await store.prune(SUCCEEDED, now=FAR)
    assert (first.deliveries, first.more) == (1, True)
    second = await store.prune(SUCCEEDED, now=FAR)
    assert (second.deliveries, second.more) == (1, False)


_BARE = """
    INSERT INTO deliveries (id, endpoint, state, received_at, generation, names, events, meta, body)
    SELECT id, 'shop', 1, $2, $3, '', '', '', '' FROM unnest($1::uuid[]) id
"""


async def test_to_make_room_one_day_goes_in_a_step_and_single_ones_after_all_days(
    store: PostgresStore, db: Database
) -> None:
    """Then it is seen how much room there is."""
    ids = Ids(random.Random(1))
    made = [ids.new("dlv", START_MS - ago * DAY_MS) for ago in (3, 3, 2, 2, 1, 1, 0, 0)]
    today = START_MS // DAY_MS
    await db.transact(lambda tx: partitions.add(tx, *range(today - 3, today)))
    await db.transact(lambda tx: add_ended(tx, made))
    room = msgspec.structs.replace(NOTHING, finished_before=FAR)
    sql = "SELECT id FROM deliveries ORDER BY id"
    for gone in (2, 4, 6, 8):
        await store.prune(room, now=START_MS)
        left = [f"dlv_{id_}" for (id_,) in await rows(db, sql)]
        assert left == sorted(made[gone:])


async def test_room_that_retention_has_made_among_single_deliveries_is_room(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    ids = [make.delivery().id for _ in range(200)]
    await db.transact(lambda tx: add_ended(tx, ids))
    await run(db, "UPDATE deliveries SET body = convert_to(repeat('x', 20000), 'UTF8')")
    await db.transact(lambda tx: move(tx, ids))
    full = await _size_when_counted(store, db)
    await db.transact(
        lambda tx: tx.run("DELETE FROM deliveries WHERE id = ANY ($1)", sorted(ids)[:150])
    )
    fewer = await _size_when_counted(store, db)
    assert full > 200 * 20_000
    assert full - fewer > 140 * 20_000


async def _size_when_counted(store: PostgresStore, db: Database) -> int:
    await db.write.run(lambda connection: connection.execute("VACUUM ANALYZE"))
    return await store.reads.size()


@pytest.mark.parametrize("verb", ["revive", "replay"])
async def test_what_was_found_and_comes_to_life_meanwhile_stays(
    store: PostgresStore, db: Database, make: Maker, verb: str
) -> None:
    dead = [make.acceptance() for _ in range(2)]
    await store.accept_all(dead)
    for _ in dead:
        await store.settle(a_settlement(await lease_one(store, now=START_MS), "dead"))

    async def change(tx: Tx) -> None:
        if verb == "replay":
            await adding.add(tx, dead[1].delivery.id, [make.job()])
        else:
            await operations.revive(tx, selector=Selector(limit=1), now=FAR, after=None)

    ids = [one.delivery.id for one in dead]
    removal = partial(remove, ages=Ages.of(OVER, FAR, 0), ids=ids, kept=False, now=FAR)
    async with uncommitted(db, change):
        removing = await meanwhile(db, db.transact(removal))
        assert not removing.done()
    assert await removing == 1
    found = await store.reads.delivery(dead[1].delivery.id)
    assert found is not None
    assert len(found.attempts) == 1
    assert (await lease_one(store)).id == found.jobs[-1].id


# Generations


async def kept(db: Database) -> list[str]:
    rows = await db.ask(lambda tx: tx.all("SELECT id FROM generations ORDER BY n"))
    return [id_ for (id_,) in rows]


async def keep(store: PostgresStore, clock: ManualClock, *ids: str) -> None:
    for id_ in ids:
        await store.keep_generation(Generation(id_, "text", {}, clock.now()))


async def over(store: PostgresStore, clock: ManualClock, days: int) -> Pruned:
    """So many days later, by which everything that may go goes."""
    await clock.advance(days * 86_400)
    now = clock.now()
    return await store.prune(Retain(now, now, START_MS), now=now)


async def test_a_generation_goes_when_nothing_names_it(
    store: PostgresStore, db: Database, make: Maker, clock: ManualClock
) -> None:
    await keep(store, clock, "in force", "run by a node", "run by nobody", "named by the dead")
    await db.transact(lambda tx: in_force.put_in_force(tx, "old", by="a", at=1))
    await db.transact(lambda tx: in_force.put_in_force(tx, "in force", by="a", at=1))
    for generation, gone in (("run by a node", False), ("run by nobody", True)):
        await db.transact(lambda tx, g=generation, gone=gone: tx.run(_NODE, g, gone))
    await store.accept(make.acceptance(generation="named by the dead"))
    await store.settle(a_settlement(await lease_one(store, now=START_MS + DAY_MS), "dead"))
    assert GENERATION in await kept(db), "its attempt's"
    assert (await over(store, clock, 1)).generations == 0, "it may be named in a day that is there"
    await keep(store, clock, "new")
    assert (await over(store, clock, 1)).generations == 1
    left = ["in force", "run by a node", "named by the dead", GENERATION]
    assert await kept(db) == [*left, "new"]
    assert (await over(store, clock, 1)).generations == 1
    assert await kept(db) == left
    assert await db.ask(lambda tx: tx.one("SELECT count(*) FROM rule_generations")) == 1
    all_over = Retain(*[clock.now()] * 3)
    assert (await store.prune(all_over, now=clock.now())).deliveries == 1
    assert sum([(await over(store, clock, 1)).generations for _ in range(4)]) == 2
    assert await kept(db) == ["in force", "run by a node"]
    assert await db.ask(lambda tx: tx.one("SELECT count(*) FROM rule_generations")) == 0


_NODE = "INSERT INTO nodes (card, gone) VALUES (jsonb_build_object('generation', $1::text), $2)"


async def test_a_generation_that_is_named_again_stays(
    store: PostgresStore, db: Database, make: Maker, clock: ManualClock
) -> None:
    """Though this router knew its number since it was first named."""
    for _ in range(4):
        await store.accept(make.acceptance(generation="g", jobs=()))
        assert (await over(store, clock, 1)).generations == 0
    await store.accept(make.acceptance(generation="g", jobs=()))
    assert (await over(store, clock, 2)).generations == 1
    last = make.acceptance(generation="g", jobs=())
    await store.accept(last)
    record = await store.reads.delivery(last.delivery.id)
    assert record is not None
    assert record.delivery.generation == "g"


# The audit


async def test_lines_of_the_audit_and_replays_go_with_their_time(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    replays = "INSERT INTO replays (id, asked, state, reached, due, created_at) VALUES "
    made = replays + "('made', '', 1, '', '', $1), ('making', '', 0, '', '', $1)"
    await db.transact(lambda tx: tx.run(made, START_MS))
    await store.note(Audit("a1", START_MS, "who", "verb", {}))
    for before, left in ((START_MS, 3), (START_MS + 1, 1)):
        await store.prune(Retain(0, 0, 0, audit_before=before), now=FAR)
        assert await db.ask(lambda tx: tx.one(_LINES)) == left


_LINES = "SELECT (SELECT count(*) FROM audit) + (SELECT count(*) FROM replays)"
