"""What every store does with deliveries, and how it lists them: the file and the model alike."""

import asyncio
import sqlite3
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router.errors import NotFound, StoreUnavailable
from router.model.job import Group, Turn
from router.store.protocol import Store
from router.store.sqlite.store import open_store
from router.store.sqlite.writer_state import Book
from router.store.values import Accepted, Duplicate, Generation, RuleCount, Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker, a_settlement, entries, lease_one
from tests.unit.store.faults import fault

DAY = 86_400
ALL = Selector()


# Accepting


async def test_what_was_accepted_comes_back_byte_for_byte(store: Store, make: Maker) -> None:
    body = bytes(range(256)) * 40
    acceptance = make.acceptance(
        b"shop\0k", body=body, flags=("no_id",), peer="203.0.113.9", replay_of="dlv_x"
    )
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id)
    record = await store.reads.delivery(acceptance.delivery.id)
    assert record is not None
    assert record.delivery == acceptance.delivery
    assert record.events == entries(acceptance)
    assert record.duplicates == 0
    assert [job.id for job in record.jobs] == [job.id for job in acceptance.jobs]


async def test_a_delivery_of_unknown_outcome_may_be_offered_again(
    store: Store, make: Maker
) -> None:
    """By its id: it is there once with its jobs, its keys are its own, and others go on."""
    first = make.acceptance(b"k1", jobs=[make.job(state="running", lease="b/1"), make.job()])
    await store.accept(make.acceptance(b"k2"))
    events = (make.event(0, b"k2"), make.event(1, b"k3"))
    partial = make.acceptance(events=events)
    for key in (b"k4", b"k5"):
        beside = make.acceptance(key)
        batch = (first, partial, first, beside)
        receipts = await asyncio.gather(*[store.accept(one) for one in batch])
        assert receipts == [
            Accepted(first.delivery.id),
            Accepted(partial.delivery.id, frozenset({1})),
            Accepted(first.delivery.id),
            Accepted(beside.delivery.id),
        ]
    assert len(await store.reads.deliveries(ALL)) == 5
    record = await store.reads.delivery(first.delivery.id)
    assert record is not None
    assert [(j.id, j.lease) for j in record.jobs] == [(j.id, j.lease) for j in first.jobs]
    assert record.duplicates == 0
    assert await store.accept(make.acceptance(b"k1")) == Duplicate(first.delivery.id)


@pytest.mark.parametrize("odd", ["a\x00b", "\x00", "\ue000", "\ue0000\x00", "\U0001f600\ufeff"])
async def test_texts_of_senders_and_programs_may_have_any_character(
    store: Store, make: Maker, odd: str
) -> None:
    """A name of an event, the value of a group and its key, why an attempt failed."""
    turn = Turn(f"deploy\x1f{odd}", odd, Group())
    group = [
        make.acceptance(
            events=[make.event(name=odd, action=odd)],
            jobs=[make.job(event=odd, run=name, turn=turn)],
        )
        for name in "ab"
    ]
    await store.accept_all(group)
    waiting = await store.reads.job(group[1].jobs[0].id)
    assert waiting is not None
    assert waiting.waits_for == (f"its turn in group {odd}",)
    job = await lease_one(store)
    await store.settle(a_settlement(job, "dead", reason=odd))
    first, second = [await store.reads.delivery(one.delivery.id) for one in group]
    assert first is not None
    assert second is not None
    assert (first.events, first.jobs[0].event) == (entries(group[0]), odd)
    assert (first.jobs[0].state, first.jobs[0].reason) == ("dead", odd)
    assert (second.jobs[0].state, second.jobs[0].waits_for) == ("available", ())
    assert [one.events for one in await store.reads.deliveries(Selector(event=odd))] == [(odd,)] * 2


async def test_a_new_job_has_its_delivery_s_facts(
    store: Store, make: Maker, clock: ManualClock
) -> None:
    acceptance = make.acceptance(endpoint="mail", generation="g1")
    await store.accept(acceptance)
    job = await store.reads.job(acceptance.jobs[0].id)
    assert job is not None
    assert (job.delivery, job.endpoint, job.generation) == (acceptance.delivery.id, "mail", "g1")
    assert (job.state, job.attempt, job.charged, job.deaths) == ("available", 0, 0, 0)
    assert job.created_at == clock.now()


async def test_a_job_handed_over_in_memory_has_begun_its_first_attempt(
    store: Store, make: Maker, clock: ManualClock
) -> None:
    acceptance = make.acceptance(jobs=[make.job(state="running", lease="b.7")])
    await store.accept(acceptance)
    job = await store.reads.job(acceptance.jobs[0].id)
    assert job is not None
    assert (job.state, job.lease, job.attempt) == ("running", "b.7", 1)
    assert job.started_at == clock.now()
    assert (await store.lease({"erp": 9}, lease="b.8", now=FAR)).jobs == ()
    assert await store.settle(a_settlement(job))


async def test_a_delivery_without_events_is_stored(store: Store, make: Maker) -> None:
    acceptance = make.acceptance(events=(), jobs=(), state="unmatched", event_count=0)
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id)
    assert await store.reads.delivery(acceptance.delivery.id) is not None


async def test_a_run_for_a_batch_covers_only_its_new_events(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(b"mail\0a"))
    events = [make.event(i, b"mail\0" + key) for i, key in enumerate((b"a", b"b", b"c"))]
    whole = make.job(event_index=0, covers=(0, 1, 2))
    known = make.job(event_index=0, covers=(0,))
    acceptance = make.acceptance(events=events, jobs=[whole, known], event_count=3)
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id, frozenset({1, 2}))
    record = await store.reads.delivery(acceptance.delivery.id)
    assert record is not None
    (job,) = record.jobs
    assert (job.id, job.covers, job.event_index, job.event_id) == (
        whole.id,
        (1, 2),
        1,
        events[1].id,
    )


# Dedupe


async def test_a_known_key_is_a_duplicate_of_the_first(store: Store, make: Maker) -> None:
    first, second = make.acceptance(b"k"), make.acceptance(b"k", body=b"other")
    await store.accept(first)
    assert await store.accept(second) == Duplicate(first.delivery.id)
    assert await store.reads.delivery(second.delivery.id) is None
    record = await store.reads.delivery(first.delivery.id)
    assert record is not None
    assert record.duplicates == 1
    assert record.last_seen_at == second.delivery.received_at
    assert len(await store.reads.jobs(ALL)) == 1


async def test_a_hundred_copies_at_once_make_one_delivery(store: Store, make: Maker) -> None:
    copies = [make.acceptance(b"k") for _ in range(100)]
    receipts = await asyncio.gather(*[store.accept(copy) for copy in copies])
    assert receipts[0] == Accepted(copies[0].delivery.id)
    assert receipts[1:] == [Duplicate(copies[0].delivery.id)] * 99
    summaries = await store.reads.deliveries(ALL)
    assert [s.duplicates for s in summaries] == [99]
    assert len(await store.reads.jobs(ALL)) == 1


async def test_without_keys_nothing_is_a_duplicate(store: Store, make: Maker) -> None:
    for _ in range(2):
        acceptance = make.acceptance()
        assert await store.accept(acceptance) == Accepted(acceptance.delivery.id)


async def test_any_known_key_makes_the_event_known_and_takes_no_other(
    store: Store, make: Maker
) -> None:
    first, copy = make.acceptance(b"id"), make.acceptance(b"id", b"hash")
    await store.accept(first)
    assert await store.accept(copy) == Duplicate(first.delivery.id)
    later = make.acceptance(b"hash")
    assert await store.accept(later) == Accepted(later.delivery.id)


async def test_of_a_partly_known_batch_only_new_events_get_jobs(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(b"a"))
    events = [make.event(0, b"b"), make.event(1, b"a"), make.event(2)]
    acceptance = make.acceptance(events=events, event_count=3)
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id, frozenset({0, 2}))
    record = await store.reads.delivery(acceptance.delivery.id)
    assert record is not None
    assert [e.index for e in record.events] == [0, 2]
    assert [j.event_index for j in record.jobs] == [0, 2]
    assert record.delivery.event_count == 3


async def test_the_same_key_twice_in_one_batch_the_first_wins(store: Store, make: Maker) -> None:
    events = [make.event(0, b"a"), make.event(1, b"a", b"b"), make.event(2, b"b")]
    acceptance = make.acceptance(events=events)
    assert await store.accept(acceptance) == Accepted(acceptance.delivery.id, frozenset({0, 2}))


async def test_copies_in_flight_together_agree(store: Store, make: Maker) -> None:
    one = make.acceptance(events=[make.event(0, b"a"), make.event(1, b"b")])
    two = make.acceptance(events=[make.event(0, b"b"), make.event(1, b"c")])
    three = make.acceptance(events=[make.event(0, b"c"), make.event(1, b"a")])
    receipts = await asyncio.gather(*[store.accept(one_) for one_ in (one, two, three)])
    assert receipts == [
        Accepted(one.delivery.id),
        Accepted(two.delivery.id, frozenset({1})),
        Duplicate(two.delivery.id),
    ]


async def test_an_expired_key_is_taken_over(store: Store, make: Maker, clock: ManualClock) -> None:
    await store.accept(make.acceptance(b"k"))
    await clock.advance(7 * DAY)
    again = make.acceptance(b"k", keys_until=FAR + 9_000)
    assert await store.accept(again) == Accepted(again.delivery.id)
    assert await store.accept(make.acceptance(b"k")) == Duplicate(again.delivery.id)


# Generations


async def test_a_generation_is_kept_once_and_found_by_prefix(store: Store) -> None:
    kept = Generation("abc1", "version: 1", {"env": {"A": "b"}}, START_MS)
    await store.keep_generation(kept)
    await store.keep_generation(msgspec.structs.replace(kept, text="other"))
    await store.keep_generation(Generation("abd2", "x", {}, START_MS))
    assert await store.reads.generation("abc1") == kept
    assert await store.reads.generation("abc") == kept
    assert await store.reads.generation("zz") is None
    with pytest.raises(NotFound):
        await store.reads.generation("ab")


async def test_generations_of_a_rule_come_newest_first(store: Store, make: Maker) -> None:
    for i in range(3):
        await store.keep_generation(Generation(f"g{i}", "", {}, START_MS + i))
        await store.accept(make.acceptance(generation=f"g{i}", jobs=[make.job(rule=f"r{i % 2}")]))
    await store.accept(make.acceptance(generation="never kept", jobs=[make.job(rule="r0")]))
    assert await store.reads.latest_generation_with("r0") == ("g2", "g0")
    assert await store.reads.latest_generation_with("r1") == ("g1",)
    assert await store.reads.latest_generation_with("r9") == ()


# Lists


async def test_lists_are_newest_first_and_paged(store: Store, make: Maker) -> None:
    accepted = [make.acceptance() for _ in range(60)]
    for acceptance in accepted:
        await store.accept(acceptance)
    ids = [a.delivery.id for a in reversed(accepted)]
    assert [s.id for s in await store.reads.deliveries(ALL)] == ids[:50]
    assert [s.id for s in await store.reads.deliveries(Selector(limit=2))] == ids[:2]
    assert len(await store.reads.jobs(ALL)) == 50


async def test_a_summary_says_what_a_list_shows(store: Store, make: Maker) -> None:
    events = [make.event(i, name=name) for i, name in enumerate(("bounce", "open", "bounce"))]
    acceptance = make.acceptance(
        events=events, event_count=3, flags=("no_id",), endpoint="mail", body=b"12345"
    )
    await store.accept(acceptance)
    await lease_one(store)
    (summary,) = await store.reads.deliveries(ALL)
    assert summary.events == ("bounce", "open")
    assert (summary.event_count, summary.body_bytes, summary.flags) == (3, 5, ("no_id",))
    assert summary.jobs == {"available": 2, "running": 1}


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (Selector(endpoint="mail"), {"b"}),
        (Selector(event="open"), {"b"}),
        (Selector(event="orders/pai"), set()),
        (Selector(event="created"), set()),
        (Selector(rule="special"), {"c"}),
        (Selector(state="unmatched"), {"d"}),
        (Selector(state="waiting"), {"c"}),
        (Selector(state="dead"), set()),
        (Selector(state="no such state"), set()),
        (Selector(rule="paid", state="waiting"), set()),
        (Selector(since=START_MS + 3), {"c", "d"}),
        (Selector(until=START_MS + 3), {"a", "b"}),
        (Selector(endpoint="shop", until=START_MS + 4), {"a", "c"}),
    ],
)
async def test_deliveries_are_selected(
    store: Store, make: Maker, selector: Selector, found: set[str]
) -> None:
    accepted = {
        "a": make.acceptance(events=[make.event(0, action="created")]),
        "b": make.acceptance(endpoint="mail", events=[make.event(0, name="open")]),
        "c": make.acceptance(jobs=[make.job(rule="special", state="waiting")]),
        "d": make.acceptance(state="unmatched", jobs=()),
    }
    for acceptance in accepted.values():
        await store.accept(acceptance)
    ids = {s.id for s in await store.reads.deliveries(selector)}
    assert ids == {accepted[name].delivery.id for name in found}


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        (Selector(endpoint="mail"), {1}),
        (Selector(event="open"), {1}),
        (Selector(rule="special"), {2}),
        (Selector(state="waiting"), {2}),
        (Selector(state="available"), {0, 1}),
        (Selector(since=START_MS), {0, 1, 2}),
        (Selector(since=START_MS + 1), set()),
        (Selector(until=START_MS), set()),
    ],
)
async def test_jobs_are_selected(
    store: Store, make: Maker, selector: Selector, found: set[int]
) -> None:
    accepted = [
        make.acceptance(),
        make.acceptance(endpoint="mail", jobs=[make.job(event="open")]),
        make.acceptance(jobs=[make.job(rule="special", state="waiting")]),
    ]
    for acceptance in accepted:
        await store.accept(acceptance)
    ids = {job.id for job in await store.reads.jobs(selector)}
    assert ids == {accepted[i].jobs[0].id for i in found}


async def test_ids_select_by_prefix_of_delivery_or_job(store: Store, make: Maker) -> None:
    acceptance, other = make.acceptance(jobs=[make.job(), make.job()]), make.acceptance()
    await store.accept(acceptance)
    await store.accept(other)
    delivery, job = acceptance.delivery.id, acceptance.jobs[0].id
    mine = {j.id for j in acceptance.jobs}
    assert {j.id for j in await store.reads.jobs(Selector(ids=(delivery[:-2],)))} == mine
    assert [j.id for j in await store.reads.jobs(Selector(ids=(job,)))] == [job]
    assert [s.id for s in await store.reads.deliveries(Selector(ids=(job,)))] == [delivery]
    both = Selector(ids=(delivery, other.delivery.id))
    assert len(await store.reads.deliveries(both)) == 2


async def test_names_of_stored_work_are_known(store: Store, make: Maker) -> None:
    """Also of rules that were only asked."""
    assert [await store.reads.names(kind) for kind in ("endpoint", "rule", "cause")] == [(), (), ()]
    await store.accept(make.acceptance(jobs=[make.job(rule="paid")]))
    await store.count_rules([RuleCount("asked", 1, 0, 0, 0, START_MS, None)])
    assert await store.reads.names("endpoint") == ("shop",)
    assert await store.reads.names("rule") == ("asked", "paid")
    batch = await store.lease({"erp": 1}, lease="b.1", now=FAR)
    await store.settle(a_settlement(batch.jobs[0].job, "dead", reason="no"))
    [cause] = await store.reads.causes(Selector())
    assert await store.reads.names("cause") == (cause.key,)


async def test_one_is_found_by_a_unique_prefix_of_four(store: Store, make: Maker) -> None:
    one, other = make.acceptance(), make.acceptance()
    await store.accept(one)
    await store.accept(other)
    for prefix in (one.delivery.id, one.delivery.id[:-3], one.delivery.id[4:-3]):
        record = await store.reads.delivery(prefix)
        assert record is not None
        assert record.delivery == one.delivery
    with pytest.raises(NotFound):
        await store.reads.delivery(one.delivery.id[:12])
    with pytest.raises(NotFound, match="too short"):
        await store.reads.delivery(one.delivery.id[:7])
    with pytest.raises(NotFound, match="too short"):
        await store.reads.job("job_ZZZ")
    assert await store.reads.delivery("dlv_ZZZZ") is None
    assert await store.reads.delivery("dlv_ZZZZZZZZZZ") is None
    found = await store.reads.job(one.jobs[0].id[:-3])
    assert found is not None
    assert found.id == one.jobs[0].id


# Health


async def test_rule_counts_add_up(store: Store) -> None:
    """From one process to the next; a rule that did not match keeps its last time."""
    await store.count_rules([RuleCount("a", 3, 2, 1, 0, 100, 150), RuleCount("b", 1, 0, 0, 1, 100)])
    await store.count_rules([RuleCount("a", 2, 0, 0, 0, 200), RuleCount("b", 1, 0, 0, 1, 200, 250)])
    await store.count_rules([RuleCount("a", 1, 1, 0, 0, 90, 140)])
    assert await store.reads.rule_counts() == {
        "a": RuleCount("a", 6, 3, 1, 0, 90, 150),
        "b": RuleCount("b", 2, 0, 0, 2, 100, 250),
    }


async def test_a_store_is_ready_and_has_a_size(store: Store, make: Maker) -> None:
    await store.ready()
    await store.accept(make.acceptance(body=b"x" * 100_000))
    assert await store.reads.size() >= 100_000


async def test_what_cannot_be_stored_spoils_no_other(tmp_path: Path, make: Maker) -> None:
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock())
    good = [make.acceptance(b"%d" % i) for i in range(10)]
    bad = make.acceptance(b"bad", jobs=[make.job(due_at=2**70)])
    receipts = await asyncio.gather(
        *[store.accept(a) for a in (*good[:5], bad, *good[5:])], return_exceptions=True
    )
    assert isinstance(receipts.pop(5), StoreUnavailable)
    assert receipts == [Accepted(a.delivery.id) for a in good]
    assert await store.accept(make.acceptance(b"bad")) != Duplicate(bad.delivery.id)
    await store.close()


class Unwilling:
    """A connection on which nothing commits: the disk is full when it comes to that."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            raise fault("SQLITE_FULL")
        return self._db.execute(sql, *values)


@pytest.mark.parametrize("together", [True, False], ids=["together", "one by one"])
async def test_nobody_is_answered_before_the_commit_that_holds_his(
    tmp_path: Path, make: Maker, together: bool
) -> None:
    """Also where an item that cannot be stored makes the others be tried alone."""
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock())
    entered, go = threading.Event(), threading.Event()

    def hold(book: Book) -> None:
        book.db = Unwilling(book.db)  # type: ignore[assignment]
        entered.set()
        assert go.wait(30)

    held = store._writer.submit("work", hold)
    await asyncio.to_thread(entered.wait, 30)
    asked = [asyncio.ensure_future(store.accept(make.acceptance())) for _ in range(5)]
    if not together:
        bad = make.acceptance(jobs=[make.job(due_at=2**70)])
        asked.insert(2, asyncio.ensure_future(store.accept(bad)))
    await asyncio.sleep(0)  # they are queued now, for one transaction
    go.set()
    answers = await asyncio.gather(held, *asked, return_exceptions=True)
    assert [type(one) for one in answers] == [StoreUnavailable] * len(answers)
    assert await store.reads.deliveries(ALL) == ()
    await store.close()


# What the router remembers


async def test_what_was_remembered_is_recalled_by_the_beginning_of_its_name(store: Store) -> None:
    await store.remember({"ranges/a": ["192.0.2.0/24"], "ranges/b": {"n": 1}, "other": 1})
    assert await store.recall("ranges/") == {"ranges/a": ["192.0.2.0/24"], "ranges/b": {"n": 1}}
    assert list(await store.recall("")) == ["other", "ranges/a", "ranges/b"]
    assert await store.recall("ranges/%") == {}


async def test_a_fact_is_replaced_and_forgotten(store: Store) -> None:
    await store.remember({"a": 1, "b": "x"})
    await store.remember({"a": 2, "b": None, "never": None})
    assert await store.recall("") == {"a": 2}
