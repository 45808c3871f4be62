"""Every store writes deliveries anew without what was taken out of them, and loses nothing else."""

import msgspec
import pytest

from router import log
from router.model.delivery import Redaction
from router.model.settings import Endpoint
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.redaction import RedactionUpkeep
from router.store.protocol import Store
from router.store.removal import RedactionStep, Rewritten
from router.store.values import DeliveryRecord, Duplicate, Selector
from tests.builders import a_redact, a_ruleset
from tests.clocks import START_MS, ManualClock
from tests.conformance.rig import DATABASES
from tests.store_values import FAR, Maker, a_settlement, lease_one

KEY, HIDDEN = b"shop\0anna@x.de", b"h" * 32
MARK = Redaction(START_MS, "ab" * 32, ("payload.email",))


async def the_record(store: Store, id_: str) -> DeliveryRecord:
    record = await store.reads.delivery(id_)
    assert record is not None
    return record


def anew(record: DeliveryRecord, **given: object) -> Rewritten:
    """The delivery with another body, a header less, and its texts cleaned."""
    delivery = msgspec.structs.replace(
        record.delivery, body=b'{"email": "[redacted]"}', headers=(), redacted=MARK
    )
    values = {
        "delivery": delivery,
        "events": record.events,
        "jobs": len(record.jobs),
        "tried": len(record.attempts),
        "clean": lambda text: text.replace("anna", "[redacted]"),
    }
    return Rewritten(**{**values, **given})  # type: ignore[arg-type]


async def one_done(store: Store, make: Maker, now: int = FAR) -> DeliveryRecord:
    """A delivery whose job has ended, with a result and a reason."""
    accepted = make.acceptance(KEY, jobs=[make.job()], body=b'{"email": "anna@x.de"}')
    await store.accept(accepted)
    settlement = a_settlement(await lease_one(store, now=now), "dead")
    attempt = msgspec.structs.replace(
        settlement.attempt, reason="anna", result={"out": "anna", "n": 1}
    )
    await store.settle(msgspec.structs.replace(settlement, attempt=attempt, reason="anna"))
    return await the_record(store, accepted.delivery.id)


async def test_a_delivery_is_written_anew_with_all_that_came_of_it(
    store: Store, make: Maker
) -> None:
    other = make.acceptance(b"other", body=b"anna")
    await store.accept(other)
    await store.settle(a_settlement(await lease_one(store)))
    before = await one_done(store, make)
    [job], [attempt] = before.jobs, before.attempts
    events = tuple(msgspec.structs.replace(e, keys=(HIDDEN,)) for e in before.events)
    clean = msgspec.structs.replace(attempt, reason="-", result={"out": "-", "n": 1})
    rewritten = anew(
        before, reasons={job.id: "-"}, attempts=(clean,), keys={KEY: HIDDEN}, events=events
    )
    step = RedactionStep((rewritten,), {}, {"redact": {"cursor": "7"}})
    assert await store.redact(step, now=START_MS) == 1
    after = await the_record(store, before.delivery.id)
    assert after.delivery == rewritten.delivery
    assert after.events == events
    assert after.jobs == (msgspec.structs.replace(job, reason="-"),)
    assert after.attempts == (clean,)
    assert await store.reads.recall("redact") == {"redact": {"cursor": "7"}}
    assert (await the_record(store, other.delivery.id)).delivery == other.delivery


async def test_a_copy_is_known_by_the_digest_of_its_key(store: Store, make: Maker) -> None:
    before = await one_done(store, make)
    await store.redact(RedactionStep((anew(before, keys={KEY: HIDDEN}),)), now=START_MS)
    assert await store.accept(make.acceptance(HIDDEN)) == Duplicate(before.delivery.id)
    assert not isinstance(await store.accept(make.acceptance(KEY)), Duplicate)


async def test_what_is_open_again_is_left_as_it_is(store: Store, make: Maker) -> None:
    before = await one_done(store, make)
    await store.add(before.delivery.id, [make.job()])
    step = RedactionStep((anew(before),))
    assert await store.redact(step, now=START_MS) == 0
    assert (await the_record(store, before.delivery.id)).delivery == before.delivery
    assert await store.reads.due_redactions(START_MS, 9) == (before.delivery.id,)
    await store.settle(a_settlement(await lease_one(store)))
    assert await store.redact(step, now=START_MS) == 0, "it was tried since it was read"
    assert (await the_record(store, before.delivery.id)).delivery == before.delivery


async def test_what_was_revived_meanwhile_is_left_as_it_is(store: Store, make: Maker) -> None:
    before = await one_done(store, make)
    assert await store.revive(Selector(ids=(before.delivery.id,)), now=START_MS) == 1
    assert await store.redact(RedactionStep((anew(before),)), now=START_MS) == 0
    assert (await the_record(store, before.delivery.id)).delivery == before.delivery


async def test_what_is_too_early_is_looked_at_when_its_time_has_come(
    store: Store, make: Maker
) -> None:
    ids = [make.delivery().id for _ in range(3)]
    times = dict(zip(ids, (START_MS + 9, START_MS + 5, START_MS + 20), strict=True))
    await store.redact(RedactionStep(later=times), now=START_MS)
    assert await store.reads.due_redactions(START_MS + 4, 9) == ()
    assert await store.reads.due_redactions(START_MS + 9, 9) == (ids[1], ids[0])
    assert await store.reads.due_redactions(START_MS + 9, 1) == (ids[1],)
    await store.redact(RedactionStep(later={ids[1]: None, ids[0]: START_MS + 30}), now=START_MS)
    assert await store.reads.due_redactions(START_MS + 29, 9) == (ids[2],)


@pytest.mark.long
@pytest.mark.parametrize("store", DATABASES, indirect=True)  # the model has no order of commits
async def test_upkeep_redacts_in_every_store(store: Store, make: Maker, clock: ManualClock) -> None:
    """What has ended now, what ends later, and nothing of an endpoint without `redact`."""
    shop = Endpoint("shop", "shopify", ("/wh_x",), redact=a_redact("payload.email"))
    other = Endpoint("other", "shopify", ("/wh_y",))
    ruleset = a_ruleset(endpoints={"shop": shop, "other": other})
    live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
    upkeep = RedactionUpkeep(store=store, live=live, clock=clock, log=log.get("test"))
    await clock.advance(1)
    done = await one_done(store, make, clock.ledger())
    waiting = make.acceptance(body=b'{"email": "anna@x.de"}')
    left = make.acceptance(body=b'{"email": "anna@x.de"}', endpoint="other", jobs=[])
    await store.accept_all([waiting, left])
    for ended in (False, True):
        if ended:
            await store.settle(a_settlement(await lease_one(store, now=clock.ledger())))
        await clock.advance(3)
        while await upkeep.step():
            pass
        bodies = [
            (await the_record(store, id_)).delivery.body
            for id_ in (done.delivery.id, waiting.delivery.id, left.delivery.id)
        ]
        assert [b"anna" in body for body in bodies] == [False, not ended, True]
    [attempt] = (await the_record(store, done.delivery.id)).attempts
    assert attempt.result == {"out": "anna", "n": 1}, "that is no value of a redacted field"


async def test_what_is_gone_meanwhile_is_looked_at_no_more(store: Store, make: Maker) -> None:
    before = await one_done(store, make)
    gone = msgspec.structs.replace(before.delivery, id=make.delivery().id)
    await store.redact(RedactionStep(later={gone.id: START_MS}), now=START_MS)
    step = RedactionStep((anew(msgspec.structs.replace(before, delivery=gone)),))
    await store.redact(step, now=START_MS)
    assert await store.reads.due_redactions(START_MS, 9) == ()
