"""What is counted in memory reaches the store once, and adds up across processes."""

import asyncio
from collections.abc import Mapping

import pytest

from router import log
from router.errors import StoreUnavailable
from router.metrics import RuleTotals
from router.serving.rule_counters import STEP, RuleCounterWriter
from router.store.values import RuleCount
from tests.clocks import START_MS, ManualClock
from tests.conformance.model_store import ModelStore


class Failing(ModelStore):
    """Refuses to count until told otherwise."""

    fails = True

    async def count_rules(self, counts: object) -> None:
        if self.fails:
            raise StoreUnavailable("full")
        await super().count_rules(counts)  # type: ignore[arg-type]


def a_counting(
    totals: Mapping[str, RuleTotals], store: ModelStore, clock: ManualClock, *rules: str
) -> RuleCounterWriter:
    said = log.get("test")
    return RuleCounterWriter(lambda: totals, lambda: rules, store=store, clock=clock, log=said)


async def test_only_what_is_new_is_added() -> None:
    """And a rule last matched when the event came, not when that is written."""
    clock = ManualClock()
    store, totals = ModelStore(clock), {"a": RuleTotals(3, 1, 1, 0, START_MS + 3_000)}
    counting = a_counting(totals, store, clock)
    await clock.advance(10)
    await counting.flush()
    await clock.advance(10)
    await counting.flush()
    totals["a"] = RuleTotals(4, 1, 2, 0, START_MS + 3_000)
    await counting.flush()
    wanted = RuleCount("a", 4, 1, 2, 0, START_MS + 10_000, START_MS + 3_000)
    assert await store.reads.rule_counts() == {"a": wanted}


async def test_the_next_process_adds_to_it() -> None:
    """It counts from nothing, and since later."""
    clock = ManualClock()
    store = ModelStore(clock)
    await a_counting({"a": RuleTotals(3, 0, 0, 2, START_MS)}, store, clock).flush()
    await clock.advance(60)
    await a_counting({"a": RuleTotals(1, 0, 0, 0)}, store, clock).flush()
    assert await store.reads.rule_counts() == {"a": RuleCount("a", 4, 0, 0, 2, START_MS, START_MS)}


async def test_what_a_store_cannot_take_goes_with_the_next() -> None:
    """Nothing is lost and nothing counted twice."""
    clock = ManualClock()
    store = Failing(clock)
    counting = a_counting({"a": RuleTotals(3, 1, 0, 0)}, store, clock)
    await counting.flush()
    store.fails = False
    await counting.flush()
    assert (await store.reads.rule_counts())["a"].evaluated == 3


async def test_several_who_look_at_once_count_nothing_twice() -> None:
    """Each page of rules, and the loop, may write at the same time."""

    class Slow(ModelStore):
        async def count_rules(self, counts: object) -> None:
            await asyncio.sleep(0)
            await super().count_rules(counts)  # type: ignore[arg-type]

    clock = ManualClock()
    store = Slow(clock)
    many = {f"r{n}": RuleTotals(1, 1, 0, 0, START_MS) for n in range(3 * STEP)}
    counting = a_counting(many, store, clock)
    await asyncio.gather(counting.flush(), counting.flush_soon(), counting.flush_soon())
    assert {count.matched for count in (await store.reads.rule_counts()).values()} == {1}


@pytest.mark.long
async def test_who_looks_does_not_wait_for_a_store_that_hangs() -> None:
    class Hanging(ModelStore):
        async def count_rules(self, counts: object) -> None:
            await asyncio.Event().wait()

    clock = ManualClock()
    counting = a_counting({"a": RuleTotals(3, 1, 0, 0)}, Hanging(clock), clock)
    await asyncio.wait_for(counting.flush_soon(), 30)


async def test_a_new_rule_is_counted_from_now_though_nothing_asks_it() -> None:
    """Else nobody could tell that it never matches; a known one keeps its time."""
    clock = ManualClock()
    store = ModelStore(clock)
    await a_counting({}, store, clock, "a").flush()
    await clock.advance(60)
    many = [f"r{n}" for n in range(STEP)]
    await a_counting({}, store, clock, "a", *many).flush()
    counts = await store.reads.rule_counts()
    assert counts["a"].counted_since == START_MS
    assert counts[many[-1]] == RuleCount(many[-1], 0, 0, 0, 0, START_MS + 60_000)
