"""Texts of senders and programs, whatever is in them: U+0000, and what a store may put for it."""

import msgspec

from router.model.job import Group, Turn
from router.store.protocol import Store
from router.store.values import Accepted, Selector
from tests.store_values import FAR, Maker, a_settlement, lease_one

ODD = ("a\x00b", "\x00", "\ue000", "\ue0000", "\ue0001\x000", "e\u0301 \U0001f600", "\x7f", "0")


async def test_event_names_are_shown_and_selected_by(store: Store, make: Maker) -> None:
    sent = {}
    for name in ODD:
        events = (make.event(0, name=name), make.event(1, name="b"))
        jobs = [make.job(event=name), make.job(event="b")]
        receipt = await store.accept(make.acceptance(events=events, jobs=jobs))
        assert isinstance(receipt, Accepted)
        sent[receipt.delivery] = name
    for delivery, name in sent.items():
        (summary,) = await store.reads.deliveries(Selector(event=name))
        assert (summary.id, summary.events) == (delivery, (name, "b"))
        (job,) = await store.reads.jobs(Selector(event=name))
        assert (job.delivery, job.event) == (delivery, name)
        record = await store.reads.delivery(delivery)
        assert record is not None
        assert [event.name for event in record.events] == [name, "b"]


async def test_reasons_are_kept_and_tell_causes_apart(store: Store, make: Maker) -> None:
    died = {}
    for number, reason in enumerate(ODD):
        await store.accept(make.acceptance())
        leased = await lease_one(store, lease=f"b/{number}")
        assert await store.settle(a_settlement(leased, "dead", reason=reason))
        died[leased.id] = reason
    assert {job.id: job.reason for job in await store.reads.jobs(Selector())} == died
    causes = await store.reads.causes(Selector())
    assert {one.examples: one.reason for one in causes} == {(id_,): died[id_] for id_ in died}
    for one in causes:
        (job,) = await store.reads.jobs(Selector(cause=one.key))
        assert (job.id,) == one.examples


async def test_groups_of_odd_values_take_turns_by_themselves(store: Store, make: Maker) -> None:
    for value in (*ODD, *ODD):
        turn = Turn(f"deploy\x1f{value}", value, Group(1, "queue", "continue"))
        await store.accept(make.acceptance(jobs=[make.job(run="r", turn=turn, rule="deploy")]))
    jobs = (await store.reads.jobs(Selector()))[::-1]
    assert [job.state for job in jobs] == ["available"] * len(ODD) + ["waiting"] * len(ODD)
    shown = [job.waits_for for job in jobs[len(ODD) :]]
    assert shown == [(f"its turn in group {value}",) for value in ODD]


async def test_an_attempt_is_kept(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance())
    leased = await lease_one(store)
    settlement = a_settlement(leased, "retryable", due_at=FAR)
    odd = "".join(ODD)
    attempt = msgspec.structs.replace(settlement.attempt, reason=odd, result={odd: odd})
    assert await store.settle(msgspec.structs.replace(settlement, attempt=attempt))
    record = await store.reads.delivery(leased.delivery)
    assert record is not None
    assert record.attempts == (attempt,)


async def test_nothing_has_an_odd_id(store: Store) -> None:
    for odd in ODD:
        assert await store.reads.replay(odd) is None
        for of in (Selector(replay=odd), Selector(ids=(odd,)), Selector(rule=odd)):
            assert await store.reads.jobs(of) == ()
