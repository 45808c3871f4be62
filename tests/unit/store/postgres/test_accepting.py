"""Deliveries made durable in a PostgreSQL: what is stored of each, and what becomes of copies."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from router.errors import RouterError, StoreUnavailable
from router.model.job import Group, Predecessor, Turn, committed
from router.store.postgres.accepting import accept_all
from router.store.postgres.database import Database
from router.store.postgres.store import PostgresStore, open_store
from router.store.values import Acceptance, Accepted, Duplicate
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker
from tests.unit.store.postgres.looking import counted, deliveries, jobs, rows


async def accept(db: Database, *group: Acceptance) -> Sequence[Accepted | Duplicate | RouterError]:
    return await accept_all(db, group, db.clock.ledger())


async def test_deliveries_and_their_jobs_are_stored_as_they_are(db: Database, make: Maker) -> None:
    begun = make.job(state="running", lease="3/9", kind="shell", covers=(0,))
    later = make.job(due_at=START_MS + 5_000, replay_of="job_x", generation="1" * 16)
    group = [
        make.acceptance(b"k1"),
        make.acceptance(jobs=[begun, later], body=bytes(range(256)) * 20, flags=("no_key",)),
        make.acceptance(events=(), jobs=(), state="unparsed", event_count=0),
    ]
    assert await accept(db, *group) == [Accepted(one.delivery.id) for one in group]
    assert await deliveries(db) == {one.delivery.id: one.delivery for one in group}
    made = [committed(job, one.delivery, START_MS) for one in group for job in one.jobs]
    assert await jobs(db) == sorted(made, key=lambda job: job.id)


@pytest.mark.parametrize("keys", [(b"k",), ()])
async def test_what_is_stored_already_is_accepted_and_stored_once(
    db: Database, make: Maker, keys: tuple[bytes, ...]
) -> None:
    one, other = make.acceptance(*keys), make.acceptance(b"other")
    receipt = Accepted(one.delivery.id)
    for _ in range(3):
        assert await accept(db, one, other, one) == [receipt, Accepted(other.delivery.id), receipt]
    assert await counted(db) == (2, len(keys) + 1, 2, 2)


async def test_a_live_key_is_a_duplicate_of_the_first(db: Database, make: Maker) -> None:
    first, copy, beside = make.acceptance(b"k"), make.acceptance(b"k"), make.acceptance(b"j")
    known = Duplicate(first.delivery.id)
    assert await accept(db, first, copy) == [Accepted(first.delivery.id), known]
    assert await accept(db, copy, beside, copy) == [known, Accepted(beside.delivery.id), known]
    assert await counted(db) == (2, 2, 2, 2)


async def test_an_expired_key_is_claimed_anew(
    db: Database, make: Maker, clock: ManualClock
) -> None:
    await accept(db, make.acceptance(b"k", keys_until=START_MS + 1_000))
    copy, later = make.acceptance(b"k"), make.acceptance(b"k")
    await clock.advance(0.999)
    assert isinstance((await accept(db, copy))[0], Duplicate)
    await clock.advance(0.001)
    receipts = await accept(db, later, copy)
    assert receipts == [Accepted(later.delivery.id), Duplicate(later.delivery.id)]
    owner = await rows(db, "SELECT delivery, until FROM keys")
    assert [tuple(row) for row in owner] == [(later.delivery.id[4:], FAR)]


async def test_of_a_partly_known_batch_only_what_is_new_is_kept(db: Database, make: Maker) -> None:
    await accept(db, make.acceptance(b"a"))
    events = [make.event(0, b"a", b"b"), make.event(1, b"c"), make.event(2, b"c"), make.event(3)]
    whole = make.job(covers=(0, 1, 2, 3))
    batch = make.acceptance(
        events=events, jobs=[whole, *[make.job(event_index=i) for i in range(4)]]
    )
    copy, free = make.acceptance(b"c"), make.acceptance(b"b")
    assert await accept(db, batch, copy, free) == [
        Accepted(batch.delivery.id, frozenset({1, 3})),
        Duplicate(batch.delivery.id),
        Accepted(free.delivery.id),
    ]
    assert await accept(db, make.acceptance(b"b")) == [Duplicate(free.delivery.id)]
    made = [job for job in await jobs(db) if job.delivery == batch.delivery.id]
    assert [(job.event_index, job.covers) for job in made] == [(1, (1, 3)), (1, ()), (3, ())]
    assert await accept(db, batch) == [Accepted(batch.delivery.id, frozenset({1, 3}))]


async def test_texts_may_have_characters_that_postgresql_has_not(db: Database, make: Maker) -> None:
    names = ("a\x00b", "\ue000", "\ue0000\x00")
    group = [make.acceptance(events=[make.event(name=n)], jobs=[make.job(event=n)]) for n in names]
    await accept(db, *group)
    assert [job.event for job in await jobs(db)] == list(names)


@pytest.mark.parametrize("key", [b"k", b"far\xff"])
async def test_what_cannot_be_stored_fails_alone(db: Database, make: Maker, key: bytes) -> None:
    bad = [
        make.acceptance(key, jobs=[make.job(due_at=2**70)]),  # no number of the database
        make.acceptance(random.Random(1).randbytes(9_000)),  # no index takes it
        make.acceptance(b"cut", jobs=[make.job(target="a\x00b")]),  # a NUL where none can be
        make.acceptance(events=[make.event(name="\ud800")]),  # no character
    ]
    good = [make.acceptance(bytes([i])) for i in range(5)]
    pairs = zip(bad, good[1:], strict=True)
    receipts = await accept(db, good[0], *[one for pair in pairs for one in pair])
    for receipt in receipts[1::2]:
        assert isinstance(receipt, StoreUnavailable)
        assert str(receipt).startswith("this cannot be stored: ")
    assert receipts[::2] == [Accepted(one.delivery.id) for one in good]
    assert (await counted(db))[:2] == (5, 5)


async def test_a_day_without_partitions_is_made(db: Database, make: Maker) -> None:
    ids = ["dlv_" + "0" * 26, make.delivery().id, "dlv_01ZZ" + "0" * 22]
    group = [make.acceptance(id=id_) for id_ in ids]
    at_once = await asyncio.gather(accept(db, *group), accept(db, *reversed(group)))
    assert at_once == [[Accepted(i) for i in ids], [Accepted(i) for i in reversed(ids)]]
    assert set(await deliveries(db)) == set(ids)


async def test_jobs_of_a_paused_rule_wait(db: Database, make: Maker) -> None:
    group = [make.acceptance(b"k", jobs=[make.job(state="waiting"), make.job()])]
    await accept(db, *group)
    assert [(job.state, job.waits_for) for job in await jobs(db)] == [
        ("waiting", ("its paused rule",)),
        ("available", ()),
    ]


async def test_runs_of_a_group_meet_in_the_order_of_their_deliveries(
    db: Database, make: Maker
) -> None:
    latest = Turn("deploy\x1fx", "x", Group(on_busy="latest"))
    group = [
        make.acceptance(bytes([i]), jobs=[make.job(run="r", turn=latest), make.job(action="log")])
        for i in range(3)
    ]
    receipts = await accept(db, *group)
    assert [one.cancelled for one in receipts if isinstance(one, Accepted)] == [
        (),
        ("superseded",),
        ("superseded",),
    ]
    told = [f"{job.action} {job.state}" for job in await jobs(db)]
    assert told == ["erp cancelled", "log available"] * 2 + ["erp available", "log available"]
    assert await accept(db, *group) == [Accepted(one.delivery.id) for one in group]


async def test_a_run_has_its_order(db: Database, make: Maker) -> None:
    first = make.job(run="r", action="a")
    second = make.job(run="r", action="b", after=(Predecessor("a"),))
    one = make.acceptance(b"k", jobs=[first, second])
    await accept(db, one)
    assert [(job.state, job.after) for job in await jobs(db)] == [
        ("available", ()),
        ("waiting", (Predecessor("a"),)),
    ]


async def test_a_group_is_one_commit_that_counts_its_items(
    empty_postgres: str, clock: ManualClock, make: Maker
) -> None:
    commits: list[int] = []
    store = await open_store(
        empty_postgres, clock=clock, on_commit=lambda writes, _seconds: commits.append(writes)
    )
    await store.accept(make.acceptance(b"k"))
    commits.clear()
    await store.accept_all([make.acceptance() for _ in range(7)])
    await store.accept_all([make.acceptance(b"a", b"b"), make.acceptance(b"k")])
    assert commits == [7, 2]
    await store.close()


async def test_what_was_given_before_the_end_is_answered(
    store: PostgresStore, db: Database, make: Maker
) -> None:
    asked = [store.accept_all([make.acceptance()]) for _ in range(3)]
    await store.close()
    assert [len(one.result()) for one in asked] == [1, 1, 1]
    assert (await counted(db))[0] == 3
    with pytest.raises(StoreUnavailable, match="the store is closed"):
        await store.accept(make.acceptance())
