"""Deliveries and attempts' ends that come in groups: each item's outcome is its own."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from router.errors import StoreUnavailable
from router.model.job import Group, Job, Predecessor, Turn
from router.store.protocol import Store
from router.store.sqlite.store import open_store
from router.store.values import ALREADY, HELD, LOST, Accepted, Duplicate, Selector, Settled
from tests.clocks import START_MS, ManualClock
from tests.conformance.rig import Rig
from tests.store_values import FAR, Maker, a_settlement, entries
from tests.unit.store.faults import fault

ALL = Selector()
LATEST = Turn("deploy\x1fx", "x", Group(on_busy="latest"))


async def leased(store: Store, count: int = 9) -> list[Job]:
    """All that is due of the target, in order."""
    return [work.job for work in (await store.lease({"erp": count}, lease="b/1", now=FAR)).jobs]


async def test_each_of_a_group_is_stored_as_if_it_had_come_alone(store: Store, make: Maker) -> None:
    group = [make.acceptance(b"a"), make.acceptance(b"b", jobs=()), make.acceptance()]
    assert await store.accept_all(group) == [Accepted(one.delivery.id) for one in group]
    for one in group:
        record = await store.reads.delivery(one.delivery.id)
        assert record is not None
        assert record.delivery == one.delivery
        assert record.events == entries(one)
        assert [job.id for job in record.jobs] == [job.id for job in one.jobs]


async def test_an_empty_group_is_answered_by_nothing(store: Store) -> None:
    assert await store.accept_all([]) == []
    assert await store.settle_all([]) == []


async def test_new_ones_and_copies_come_in_one_group(store: Store, make: Maker) -> None:
    """A copy of what was there, of what stands before it in the group, and one partly known."""
    known = make.acceptance(b"known")
    await store.accept(known)
    first = make.acceptance(b"new")
    partly = make.acceptance(events=[make.event(0, b"known"), make.event(1, b"fresh")])
    group = [make.acceptance(b"known"), first, make.acceptance(b"new"), partly, make.acceptance()]
    assert await store.accept_all(group) == [
        Duplicate(known.delivery.id),
        Accepted(first.delivery.id),
        Duplicate(first.delivery.id),
        Accepted(partly.delivery.id, frozenset({1})),
        Accepted(group[-1].delivery.id),
    ]
    record = await store.reads.delivery(partly.delivery.id)
    assert record is not None
    assert [event.index for event in record.events] == [1]
    assert [job.event_index for job in record.jobs] == [1]
    assert {one.id for one in await store.reads.deliveries(ALL)} == {
        one.delivery.id for one in (known, first, partly, group[-1])
    }


async def test_a_group_may_be_given_again(store: Store, make: Maker) -> None:
    """As after a commit of which nobody knows: all of it, or with others."""
    group = [make.acceptance(b"a"), make.acceptance()]
    expected = await store.accept_all(group)
    assert await store.accept_all(group) == expected
    other = make.acceptance()
    assert await store.accept_all([*group, other]) == [*expected, Accepted(other.delivery.id)]
    assert len(await store.reads.deliveries(ALL)) == 3


async def test_runs_of_a_group_meet_in_their_order(store: Store, make: Maker) -> None:
    """The later supersedes the earlier, and each is told what it cancelled."""
    group = [
        make.acceptance(jobs=[make.job(action="a", run="r", turn=LATEST, rule="deploy")])
        for _ in range(3)
    ]
    receipts = await store.accept_all(group)
    assert receipts == [
        Accepted(group[0].delivery.id),
        Accepted(group[1].delivery.id, cancelled=("superseded",)),
        Accepted(group[2].delivery.id, cancelled=("superseded",)),
    ]
    states = {job.delivery: job.state for job in await store.reads.jobs(ALL)}
    assert [states[one.delivery.id] for one in group] == ["cancelled", "cancelled", "available"]


async def test_ends_of_a_group_are_each_answered_for_themselves(store: Store, make: Maker) -> None:
    """Held, written before, lost, and twice in the group."""
    await store.accept_all([make.acceptance() for _ in range(4)])
    held, written, stolen, twice = await leased(store)
    await store.settle(a_settlement(written))
    group = [held, written, stolen, twice, twice]
    ends = [
        (a_settlement(job, **({"lease": "b/2"} if job is stolen else {})), None) for job in group
    ]
    assert await store.settle_all(ends) == [HELD, ALREADY, LOST, HELD, ALREADY]
    states = {job.id: job.state for job in await store.reads.jobs(ALL)}
    assert [states[job.id] for job in (held, written, stolen, twice)] == [
        "succeeded", "succeeded", "running", "succeeded"
    ]  # fmt: skip


async def test_ends_of_a_group_free_and_cancel_what_followed_them(store: Store, rig: Rig) -> None:
    after = (Predecessor("a"),)
    for _ in range(2):
        await rig.accept((("a", ()), ("b", after)))
    good, bad = await rig.begin()
    plain = rig.make.acceptance()
    await store.accept(plain)
    (alone,) = await rig.begin()
    ends = [
        (a_settlement(good), None),
        (a_settlement(alone), None),
        (a_settlement(bad, "dead"), None),
    ]
    assert await store.settle_all(ends) == [
        Settled(freed=(("erp", START_MS),)),
        HELD,
        Settled(cancelled=("predecessor_dead",)),
    ]


async def test_own_deliveries_are_accepted_with_the_ends_that_they_tell_of(
    store: Store, make: Maker
) -> None:
    await store.accept_all([make.acceptance() for _ in range(3)])
    jobs = await leased(store)
    told, untold = make.acceptance(jobs=()), make.acceptance(jobs=())
    ends: list[Any] = [
        (a_settlement(jobs[0], "dead"), told),
        (a_settlement(jobs[1]), None),
        (a_settlement(jobs[2], "dead", lease="b/2"), untold),
    ]
    assert await store.settle_all(ends) == [HELD, HELD, LOST]
    assert await store.reads.delivery(told.delivery.id) is not None
    assert await store.reads.delivery(untold.delivery.id) is None, "its end is not true"


@pytest.fixture
async def ledger(tmp_path: Path) -> Any:
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock())
    yield store
    await store.close()


async def test_one_that_cannot_be_stored_fails_alone_in_its_group(ledger: Any, make: Maker) -> None:
    """A number that no column takes, and a text that is none."""
    group = [make.acceptance(b"a"), make.acceptance(b"a"), make.acceptance()]
    large = make.acceptance(b"large", jobs=[make.job(due_at=2**70)])
    spoilt = make.acceptance(b"spoilt", path="/\ud800")
    receipts = await ledger.accept_all([group[0], large, group[1], spoilt, group[2]])
    assert [type(one) for one in (receipts.pop(3), receipts.pop(1))] == [StoreUnavailable] * 2
    assert receipts == [
        Accepted(group[0].delivery.id),
        Duplicate(group[0].delivery.id),
        Accepted(group[2].delivery.id),
    ]
    assert not ledger.failure.done()
    assert await ledger.accept(make.acceptance(b"large")) != Duplicate(large.delivery.id)


async def test_an_end_that_cannot_be_stored_fails_alone_in_its_group(
    ledger: Any, make: Maker
) -> None:
    await ledger.accept_all([make.acceptance() for _ in range(3)])
    jobs = await leased(ledger)
    ends = [(a_settlement(job, reason="\ud800" if job is jobs[1] else None), None) for job in jobs]
    first, bad, last = await ledger.settle_all(ends)
    assert (first, type(bad), last) == (HELD, StoreUnavailable, HELD)
    assert await ledger.settle(a_settlement(jobs[1])) == HELD, "it is still held"


async def test_a_group_of_which_nothing_is_known_fails_as_one(ledger: Any, make: Maker) -> None:
    await ledger.accept(make.acceptance())
    (job,) = await leased(ledger)

    entered, go = threading.Event(), threading.Event()

    def hold(_book: Any) -> None:
        entered.set()
        assert go.wait(30)

    def full(_book: Any) -> None:
        raise fault("SQLITE_FULL")

    held = ledger._writer.submit("work", hold)
    await asyncio.to_thread(entered.wait, 30)
    group = [make.acceptance(), make.acceptance()]
    asked = [asyncio.ensure_future(ledger.accept_all(group)), ledger._writer.submit("work", full)]
    await asyncio.sleep(0)  # they are queued now, for one transaction
    go.set()
    await held
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in answers] == [StoreUnavailable] * 2
    assert len(await ledger.reads.deliveries(ALL)) == 1
    assert await ledger.settle_all([(a_settlement(job), None)]) == [HELD]


async def test_a_group_is_one_commit_that_counts_its_items(tmp_path: Path, make: Maker) -> None:
    commits: list[int] = []
    store = await open_store(
        str(tmp_path / "router.db"),
        clock=ManualClock(),
        on_commit=lambda writes, _seconds: commits.append(writes),
    )
    await store.accept_all([make.acceptance() for _ in range(7)])
    jobs = await leased(store)
    await store.settle_all([(a_settlement(job), None) for job in jobs])
    assert commits == [7, 1, 7]
    await store.close()
