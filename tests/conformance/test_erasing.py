"""What every store takes out for an erasure: deliveries, events of batches, and nothing else."""

from collections.abc import Sequence

import msgspec
import pytest

from router.errors import StoreUnavailable, UsageError
from router.model.delivery import Delivery, Redaction
from router.model.erasure import ERASED, ErasedPart, Erasure, ErasureStep
from router.model.job import Group, Turn
from router.model.operations import Audit, Replay
from router.model.selector import Criteria
from router.operator.requests import EraseRequest
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.store.protocol import Store
from router.store.values import Acceptance, DeliveryRecord, Duplicate, Selector
from tests.builders import a_rule, a_ruleset
from tests.clocks import START_MS, JumpingClock, ManualClock
from tests.operators import verbs_of
from tests.store_values import Maker, a_settlement, lease_one

pytestmark = pytest.mark.parametrize("store", ["sqlite", "memory", "postgres"], indirect=True)
ALL = Selector()
BEGUN = Erasure("ers_1", START_MS, {"ids": ["dlv_x"]})
MARK = Redaction(START_MS, "ab" * 32, erased=(1,))


async def begin(store: Store, erasure: Erasure = BEGUN) -> Erasure:
    await store.note(Audit(erasure.id, START_MS, "ann", "erase", {}))
    await store.remember({f"erase/{erasure.id}": msgspec.to_builtins(erasure)})
    return erasure


async def erased(
    store: Store, before: Erasure, whole: Sequence[str] = (), parts: Sequence[ErasedPart] = ()
) -> Erasure:
    step = ErasureStep(before, before, tuple(whole), tuple(parts))
    after = await store.erase(step, now=START_MS)
    assert after is not None
    return after


async def ended(store: Store, acceptance: Acceptance, state: str = "succeeded") -> Acceptance:
    """Accepted, and all its jobs have run."""
    await store.accept(acceptance)
    for _ in acceptance.jobs:
        await store.settle(a_settlement(await lease_one(store), state))  # type: ignore[arg-type]
    return acceptance


async def record(store: Store, acceptance: Acceptance) -> DeliveryRecord:
    found = await store.reads.delivery(acceptance.delivery.id)
    assert found is not None
    return found


def without(delivery: Delivery, *indexes: int) -> ErasedPart:
    left = msgspec.structs.replace(delivery, body=b"[1,null]", redacted=MARK)
    return ErasedPart(left, frozenset(indexes), None)


async def test_a_delivery_goes_with_all_that_came_of_it_and_the_others_stay(
    store: Store, make: Maker
) -> None:
    going = await ended(store, make.acceptance(b"one", jobs=[make.job(run="r"), make.job(run="r")]))
    staying = await ended(store, make.acceptance(b"two"))
    kept = await record(store, staying)
    after = await erased(store, await begin(store), [going.delivery.id, "dlv_" + "0" * 26])
    assert (after.deliveries, after.events, after.jobs, after.waiting) == (1, 1, 2, {})
    assert await store.reads.delivery(going.delivery.id) is None
    assert await record(store, staying) == kept
    assert await store.reads.attempts(ALL) == kept.attempts
    assert await store.reads.jobs(ALL) == kept.jobs


async def test_what_is_delivered_again_runs_nothing(store: Store, make: Maker) -> None:
    going = await ended(store, make.acceptance(b"one"))
    await erased(store, await begin(store), [going.delivery.id])
    again = await store.accept(make.acceptance(b"one"))
    assert again == Duplicate(going.delivery.id)
    assert await store.reads.deliveries(ALL) == ()


@pytest.mark.parametrize("state", ["available", "waiting", "running"])
async def test_what_has_open_jobs_is_left_and_told(store: Store, make: Maker, state: str) -> None:
    going = make.acceptance(jobs=[make.job(state=state, lease="b.1")])
    batch = make.acceptance(jobs=[make.job(state=state, lease="b.1")])
    await store.accept(going)
    await store.accept(batch)
    part = without(batch.delivery, 1)
    after = await erased(store, await begin(store), [going.delivery.id], [part])
    assert after.waiting == {going.delivery.id: (), batch.delivery.id: (1,)}
    assert (after.deliveries, after.parts) == (0, 0)
    assert len(await store.reads.deliveries(ALL)) == 2


async def test_of_a_batch_only_these_events_go(store: Store, make: Maker) -> None:
    events = [make.event(0, b"a"), make.event(1, b"b", name="refunds")]
    batch = await ended(store, make.acceptance(events=events, body=b"[1,2]"))
    part = without(batch.delivery, 1)
    after = await erased(store, await begin(store), parts=[part])
    assert (after.deliveries, after.parts, after.events, after.jobs) == (0, 1, 1, 1)
    left = await record(store, batch)
    assert left.delivery == part.delivery
    assert not left.delivery.damaged
    assert [entry.index for entry in left.events] == [0]
    assert [job.event_index for job in left.jobs] == [0]
    assert {attempt.job for attempt in left.attempts} == {left.jobs[0].id}
    assert await store.reads.deliveries(Selector(event="refunds")) == ()
    assert len(await store.reads.deliveries(Selector(event="orders/paid"))) == 1
    assert isinstance(await store.accept(make.acceptance(b"b")), Duplicate)


async def test_a_job_for_a_whole_batch_keeps_the_other_events_and_no_output(
    store: Store, make: Maker
) -> None:
    events = [make.event(0, name="first"), make.event(1), make.event(2, name="third")]
    job = make.job(covers=(0, 1, 2))
    batch = await ended(store, make.acceptance(events=events, jobs=[job]))
    await erased(store, await begin(store), parts=[without(batch.delivery, 0, 1)])
    left = await record(store, batch)
    assert [(j.id, j.covers, j.event_index, j.event_id, j.event) for j in left.jobs] == [
        (job.id, (2,), 2, events[2].id, "third")
    ]
    assert [attempt.result for attempt in left.attempts] == [{}]


async def test_what_was_taken_out_of_it_meanwhile_is_looked_at_anew(
    store: Store, make: Maker
) -> None:
    events = [make.event(0), make.event(1)]
    batch = await ended(store, make.acceptance(events=events))
    first = await erased(store, await begin(store), parts=[without(batch.delivery, 1)])
    after = await erased(store, first, parts=[without(batch.delivery, 0)])
    assert after.waiting == {batch.delivery.id: (0,)}
    assert after.parts == 1


async def test_of_two_that_go_on_with_it_one_counts(store: Store, make: Maker) -> None:
    first, second = [await ended(store, make.acceptance()) for _ in range(2)]
    before = await begin(store)
    await erased(store, before, [first.delivery.id])
    again = ErasureStep(before, before, (second.delivery.id,))
    assert await store.erase(again, now=START_MS) is None
    assert await store.reads.delivery(second.delivery.id) is not None
    unknown = msgspec.structs.replace(before, id="ers_2")
    assert await store.erase(ErasureStep(unknown, unknown), now=START_MS) is None


async def test_the_audit_counts_what_went_and_the_fact_says_how_far_it_is(
    store: Store, make: Maker
) -> None:
    going = [await ended(store, make.acceptance()) for _ in range(3)]
    after = await begin(store)
    for one in going:
        after = await erased(store, after, [one.delivery.id])
    (line,) = await store.reads.audited(None, None, 10)
    assert (line.verb, line.who, line.count) == ("erase", "ann", 3)
    assert await store.recall("erase/") == {"erase/ers_1": msgspec.to_builtins(after)}


async def test_a_halted_group_goes_on_when_the_dead_job_is_erased(
    store: Store, make: Maker
) -> None:
    turn = Turn("k", "shown", Group(1, "queue", "halt"))
    dead = make.acceptance(jobs=[make.job(run="r", turn=turn)])
    waiting = make.acceptance(jobs=[make.job(run="s", turn=turn)])
    await ended(store, dead, "dead")
    await store.accept(waiting)
    assert (await record(store, waiting)).jobs[0].state == "waiting"
    await erased(store, await begin(store), [dead.delivery.id])
    assert (await record(store, waiting)).jobs[0].state == "available"


async def test_texts_are_replaced_in_reasons_and_in_what_was_asked(
    store: Store, make: Maker
) -> None:
    name = 'änn "x"@example.com'
    one = make.acceptance()
    await store.accept(one)
    failed = a_settlement(await lease_one(store), "dead", reason=f"no {name} here")
    why = msgspec.structs.replace(failed.attempt, reason=f"{name}?")
    await store.settle(msgspec.structs.replace(failed, attempt=why))
    asked = {"selector": {"where": f"payload.email == '{name}'", "limit": 3}}
    await store.note(Audit("aud_1", START_MS, name, "cancel", asked))
    await store.begin_replay(Replay("rpl_1", asked, START_MS, state="made"))
    after: str | None = ""
    while after is not None:
        after = await store.blank([name, "no such text"], after)
    left = await record(store, one)
    assert left.jobs[0].reason == f"no {ERASED} here"
    assert left.attempts[0].reason == f"{ERASED}?"
    where = {"selector": {"where": f"payload.email == '{ERASED}'", "limit": 3}}
    (line,) = await store.reads.audited(None, None, 10)
    assert (line.asked, line.who) == (where, name)
    replay = await store.reads.replay("rpl_1")
    assert replay is not None
    assert replay.asked == where


async def test_the_files_of_the_store_are_clean_at_last(store: Store, make: Maker) -> None:
    await erased(store, await begin(store), [(await ended(store, make.acceptance())).delivery.id])
    for _ in range(100):
        if await store.empty_journal("one"):
            return
    raise StoreUnavailable("it does not end")


async def test_a_file_is_written_anew_and_a_database_left_to_its_owner(store: Store) -> None:
    if store.shared:
        with pytest.raises(UsageError, match="VACUUM"):
            await store.vacuum()
    else:
        await store.vacuum()


async def test_an_erasure_comes_to_its_end_in_every_store(
    store: Store, make: Maker, clock: ManualClock
) -> None:
    """Also of one whose job is open at first; its group is nobody's business any more."""
    live = LiveRef(LiveRuleset(a_ruleset(a_rule("one")), SecretValues({}, {})))
    verbs = verbs_of(store, live, JumpingClock(clock.now() + 1_000))
    turn = Turn("ann@x.de", "ann@x.de", Group(1, "queue", "continue"))
    ann, bob = (b'{"email": "%s@x.de"}' % name for name in (b"ann", b"bob"))
    await ended(store, make.acceptance(body=bob, headers=()))
    await ended(store, make.acceptance(body=ann, headers=(), jobs=[make.job(run="r", turn=turn)]))
    still = make.acceptance(body=ann, headers=())
    await store.accept(still)
    selector = Criteria(where="payload.email == var.email", var={"email": "ann@x.de"})
    asked = await verbs.erase(EraseRequest(selector=selector))
    assert (asked.state, asked.deliveries, asked.waiting) == ("waiting", 1, 1)
    await store.settle(a_settlement(await lease_one(store)))
    (one,) = await verbs.erasures.known()
    done = await verbs.erasures.go_on(one)
    assert (done.state, done.deliveries, done.waiting) == ("done", 2, {})
    (left,) = await store.reads.deliveries(ALL)
    record_ = await store.reads.delivery(left.id)
    assert record_ is not None
    assert record_.delivery.body == bob
