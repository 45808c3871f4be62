"""A ledger copied from a file into a database: the same to whoever asks, after kills too."""

import random
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from router.errors import StoreRefused
from router.model.activity import EVER, ActivityCount
from router.model.ids import Ids
from router.model.job import Group, NewJob, Predecessor, Turn
from router.model.operations import Audit, Replay
from router.store.moving.copying import Moved, Show, copy
from router.store.postgres.database import Database
from router.store.postgres.store import open_store as open_shared
from router.store.protocol import Store
from router.store.removal import Retain
from router.store.sqlite.store import open_store
from router.store.values import Accepted, Duplicate, RuleCount, Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, GENERATION, Maker, a_settlement, lease_one
from tests.unit.store.postgres.looking import rows, run

pytestmark = pytest.mark.long

LONG = "k\x00" + "x" * 300
AUDIT = Audit("aud_copy", START_MS, "cli", "copy", {"path": "x"})
QUEUE = Group(1, "queue", "halt")
DAY_MS = 86_400_000
OLD = Ids(random.Random(1)).new("dlv", START_MS - 400 * DAY_MS)


class CutOff(Exception):
    """Here the command was killed."""


def shown(_left: int, _total: int) -> None:
    """Nobody watches."""


async def moved(path: Path, url: str, show: Show = shown, at_once: int = 2) -> Moved:
    return await copy(path, url, clock=ManualClock(), audit=AUDIT, show=show, at_once=at_once)


@asynccontextmanager
async def opened(place: Path | str) -> AsyncIterator[Store]:
    store: Store
    if isinstance(place, Path):
        store = await open_store(str(place), clock=ManualClock())
    else:
        store = await open_shared(place, clock=ManualClock())
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "router.db"


def linked(make: Maker, run: str, key: str) -> list[NewJob]:
    turn = Turn(f"deploy\x1f{key}", key, QUEUE)
    return [
        make.job(action="a", run=run, turn=turn, rule="deploy", target="other"),
        make.job(
            action="b", run=run, turn=turn, rule="deploy", target="other", after=(Predecessor("a"),)
        ),
    ]


async def fill(store: Store, make: Maker) -> None:
    """Something of everything."""
    for name in ("one", "two", "three"):
        await store.accept(make.acceptance(name.encode(), body=name.encode() * 1000))
    await store.accept(make.acceptance(events=[make.event(0, name="a\x00b")], state="unmatched"))
    for _ in range(3):
        await store.accept(make.acceptance(jobs=linked(make, "r", LONG)))
    await store.accept(Maker(2).acceptance(jobs=[make.job(due_at=FAR)], id=OLD))
    await store.accept(make.acceptance(b"one"))
    batch = await store.lease({"erp": 3, "other": 1}, lease="f0f0.1", now=START_MS + 10)
    done, failed, dead, first = [one.job for one in batch.jobs]
    await store.settle(a_settlement(done))
    await store.settle(a_settlement(failed, "retryable", due_at=FAR + 1, reason="HTTP 500"))
    await store.settle(a_settlement(dead, "dead", reason="HTTP 410\x00"))
    await store.settle(a_settlement(first))
    await store.begin_replay(Replay("rpl_1", {"ids": ["x"]}, START_MS, (("dlv_x", None),)))
    await store.remember({"paused/x": {"reason": "r", "by": "me", "at": START_MS}}, AUDIT)
    await store.put_in_force(GENERATION, by="here", at=START_MS)
    await store.count_rules([RuleCount("paid", 3, 2, 1, 0, START_MS, START_MS)])
    await store.count_activity([ActivityCount(EVER, 0, "delivery", "shop", "", 9, most=START_MS)])


async def asked(store: Store) -> dict[str, Any]:
    """What an operator sees."""
    reads = store.reads
    listed = await reads.deliveries(Selector())
    records = [await reads.delivery(one.id) for one in listed]
    return {
        "deliveries": listed,
        "records": records,
        "jobs": await reads.jobs(Selector()),
        "counts": await reads.counts(),
        "targets": await reads.targets(),
        "causes": await reads.causes(Selector()),
        "rules": await reads.rule_counts(),
        "activity": await reads.activity_by_name(EVER, 0),
        "replay": await reads.replay("rpl_1"),
        "published": await reads.in_force(),
        "facts": await reads.recall("paused/"),
        "audit": [one for one in await reads.audited(None, None, 10) if one.id != AUDIT.id],
    }


async def test_whoever_asks_gets_the_same_answers(
    db: Database, empty_postgres: str, path: Path, make: Maker
) -> None:
    async with opened(path) as store:
        await fill(store, make)
        before = await asked(store)
    done = await moved(path, empty_postgres)
    assert (done.left_out, [one.table for one in done.tables if not one.same]) == ((), [])
    assert all(one.rows for one in done.tables)
    async with opened(empty_postgres) as store:
        after = await asked(store)
        assert next(one.id for one in await store.reads.audited(None, None, 10)) == AUDIT.id
    for question, answer in before.items():
        assert after[question] == answer, question
    assert [kept for (kept,) in await rows(db, "SELECT id FROM deliveries_kept")] == [OLD[4:]]


async def test_work_goes_on_where_it_was(empty_postgres: str, path: Path, make: Maker) -> None:
    """A redelivery is known, groups go on in their order, and numbers behind those of the file."""
    async with opened(path) as store:
        await fill(store, make)
    await moved(path, empty_postgres)
    async with opened(empty_postgres) as store:
        later = Maker(7)
        assert isinstance(await store.accept(later.acceptance(b"two")), Duplicate)
        assert isinstance(await store.accept(later.acceptance(b"four")), Accepted)
        new = later.acceptance(jobs=linked(later, "r", LONG))
        await store.accept(new)
        order = []
        for n in range(7):
            job = await lease_one(store, "other", now=START_MS + 1_000, lease=f"1/{n}")
            order.append((job.delivery, job.action))
            await store.settle(a_settlement(job))
        assert [action for _, action in order] == ["b", *"ab" * 3]
        assert order[:5] == sorted(order[:5])
        assert {delivery for delivery, _ in order[5:]} == {new.delivery.id}
        await store.note(Audit("aud_2", START_MS, "cli", "x", {}))
        await store.begin_replay(Replay("rpl_2", {}, START_MS, None))
        other = "f" * 16
        await store.accept(later.acceptance(generation=other))


async def test_a_copy_cut_off_after_any_batch_goes_on(
    db: Database, empty_postgres: str, path: Path, make: Maker
) -> None:
    """No router works on the half of it."""
    async with opened(path) as store:
        await fill(store, make)

    def cut(left: int, _total: int) -> None:
        raise CutOff(left)

    cuts = 0
    while True:
        try:
            done = await moved(path, empty_postgres, cut, at_once=1)
        except CutOff:
            cuts += 1
            with pytest.raises(StoreRefused, match="run `router store copy` again"):
                await open_shared(empty_postgres, clock=ManualClock())
        else:
            break
    assert cuts > 40
    assert all(one.same for one in done.tables)
    with pytest.raises(StoreRefused, match="copied there already"):
        await moved(path, empty_postgres)


async def test_a_store_that_was_served_since_is_not_gone_on_with(
    db: Database, empty_postgres: str, path: Path, make: Maker
) -> None:
    async with opened(path) as store:
        await fill(store, make)

    def cut(left: int, _total: int) -> None:
        raise CutOff(left)

    with pytest.raises(CutOff):
        await moved(path, empty_postgres, cut)
    async with opened(path) as store:
        await store.accept(make.acceptance())
    with pytest.raises(StoreRefused, match="served since"):
        await moved(path, empty_postgres)


async def test_a_difference_is_named_and_no_router_begins(
    db: Database, empty_postgres: str, path: Path, make: Maker
) -> None:
    async with opened(path) as store:
        await fill(store, make)
    with closing(sqlite3.connect(path)) as counting:
        (deliveries,) = counting.execute("SELECT count(*) FROM deliveries").fetchone()

    seen = 0

    def cut(left: int, total: int) -> None:
        nonlocal seen
        seen = total - left
        if seen > deliveries + 2:
            raise CutOff

    with pytest.raises(CutOff):
        await moved(path, empty_postgres, cut)
    await run(db, f"UPDATE deliveries SET body = 'other' WHERE id <> '{'0' * 32}' AND kept")  # noqa: S608
    done = await moved(path, empty_postgres)
    assert [one.table for one in done.tables if not one.same] == ["deliveries"]
    with pytest.raises(StoreRefused, match="run `router store copy` again"):
        await open_shared(empty_postgres, clock=ManualClock())


async def test_what_cannot_be_read_is_listed_with_what_belongs_to_it(
    empty_postgres: str, path: Path, make: Maker
) -> None:
    async with opened(path) as store:
        for _ in range(3):
            await store.accept(make.acceptance())
        await store.settle(a_settlement(await lease_one(store)))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE deliveries SET endpoint = CAST(x'ff' AS TEXT) WHERE n = 1")
        db.execute("UPDATE jobs SET event_index = 'x' WHERE n >> 20 = 2")
    done = await moved(path, empty_postgres)
    assert all(one.same for one in done.tables)
    found = [(one.table, one.why) for one in done.left_out]
    assert found == [
        ("deliveries", "endpoint: no text"),
        ("jobs", "what it belongs to in deliveries cannot be read"),
        ("jobs", "event_index: no integer"),
        ("attempts", "what it belongs to in deliveries cannot be read"),
    ]
    async with opened(empty_postgres) as store:
        assert len(await store.reads.deliveries(Selector())) == 2
        assert len(await store.reads.jobs(Selector())) == 1


async def test_a_job_that_ran_when_the_server_was_killed_is_reclaimed(
    empty_postgres: str, path: Path, make: Maker
) -> None:
    """As at any start: by the rules for interrupted jobs."""
    async with opened(path) as store:
        await store.accept(make.acceptance())
        job = await lease_one(store, lease="1/7")
    await moved(path, empty_postgres)
    async with opened(empty_postgres) as store:
        lost = await store.reads.lost_nodes("1")
        assert lost == {"copied-1"}
        recovered = await store.recover(
            now=FAR, nodes=lost, on_interrupt_dead=frozenset({(job.rule, job.action)})
        )
        assert (recovered.reclaimed, recovered.dead) == (0, 1)


async def test_ledger_time_becomes_the_time_of_the_database(
    empty_postgres: str, path: Path, make: Maker
) -> None:
    """Whose clock nobody has set: what is due, ends and was paused is of the wall's time."""
    async with opened(path) as store:
        await store.accept(make.acceptance(b"k", keys_until=FAR))
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE clock_steps SET ahead = 5000")
    await moved(path, empty_postgres)
    async with opened(empty_postgres) as store:
        (job,) = await store.reads.jobs(Selector())
        assert job.due_at == START_MS + 5000


async def test_retention_goes_on(empty_postgres: str, path: Path, make: Maker) -> None:
    """Of days and of what is kept."""
    async with opened(path) as store:
        await store.accept(
            Maker(2).acceptance(jobs=[], id=OLD, received_at=START_MS - 400 * DAY_MS)
        )
        await store.accept(make.acceptance(jobs=[]))
    await moved(path, empty_postgres)
    async with opened(empty_postgres) as store:
        everything = START_MS + 3 * DAY_MS
        retain = Retain(everything, everything, everything)
        while (await store.prune(retain, now=START_MS + 4 * DAY_MS)).more:
            pass
        assert await store.reads.deliveries(Selector()) == ()


@pytest.mark.usefixtures("db")
async def test_a_database_with_a_ledger_is_left_alone(
    empty_postgres: str, path: Path, make: Maker
) -> None:
    async with opened(path) as store:
        await store.accept(make.acceptance())
    async with opened(empty_postgres) as store:
        await store.accept(Maker(3).acceptance())
    with pytest.raises(StoreRefused, match="holds a ledger already"):
        await moved(path, empty_postgres)
