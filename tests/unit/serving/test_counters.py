"""What is counted in memory reaches the store once, and adds up across processes."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

import pytest

from router import log
from router.errors import StoreUnavailable
from router.metrics import ActivityKey, ActivityTotals, RuleTotals
from router.model.activity import EVER, MINUTE_S, QUARTER_S
from router.refusals import PROBE
from router.serving.counters import NAMES_MAX, OTHERS, STEP, CounterWriter, Differences
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
) -> CounterWriter:
    return CounterWriter(
        lambda: totals,
        lambda: rules,
        dict,
        size=lambda: None,
        store=store,
        clock=clock,
        log=log.get("test"),
    )


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


QUARTER = START_MS - START_MS % 900_000
CAME: ActivityKey = ("delivery", "shop", "routed")
CALLED: ActivityKey = ("attempt", "erp", "failed")


def a_writer(
    store: ModelStore,
    clock: ManualClock,
    activity: Mapping[ActivityKey, ActivityTotals],
    size: int | None = None,
) -> CounterWriter:
    said = log.get("test")
    return CounterWriter(
        dict, list, lambda: activity, size=lambda: size, store=store, clock=clock, log=said
    )


async def test_activity_is_counted_in_the_span_in_which_it_is_written() -> None:
    clock = ManualClock(QUARTER + 50_000)
    store, activity = ModelStore(clock), {CAME: ActivityTotals(3), CALLED: ActivityTotals(1, 9, 9)}
    writer = a_writer(store, clock, activity)
    await writer.flush()
    await clock.advance(20)
    activity |= {CAME: ActivityTotals(5), CALLED: ActivityTotals(3, 29, 15)}
    await writer.flush()
    await writer.flush()
    spans = ((MINUTE_S, QUARTER), (MINUTE_S, QUARTER + 60_000), (QUARTER_S, QUARTER))
    found = [await store.reads.activity_by_name(*span) for span in spans]
    assert [[(one.name, one.count, one.total, one.most) for one in some] for some in found] == [
        [("erp", 3, 29, 15), ("shop", 5, 0, 0)],
        [("erp", 2, 20, 15), ("shop", 2, 0, 0)],
        [("erp", 3, 29, 15), ("shop", 5, 0, 0)],
    ]
    [ever] = await store.reads.activity_by_name(EVER, 0)
    assert (ever.name, ever.count, ever.most) == ("shop", 5, QUARTER + 70_000)


async def test_what_doctor_asked_is_no_refusal() -> None:
    clock = ManualClock()
    store = ModelStore(clock)
    await a_writer(store, clock, {("refusal", "shop", PROBE): ActivityTotals(3)}).flush()
    assert await store.reads.activity_by_name(QUARTER_S, 0) == ()


async def test_so_many_names_are_counted_and_all_others_as_one() -> None:
    clock = ManualClock(QUARTER)
    store = ModelStore(clock)
    activity: dict[ActivityKey, ActivityTotals] = {
        ("attempt", f"t{n:04}", "failed"): ActivityTotals(1) for n in range(NAMES_MAX + 20)
    }
    writer = a_writer(store, clock, activity)
    await writer.flush()
    counted = {one.name: one.count for one in await store.reads.activity_by_name(QUARTER_S, 0)}
    assert counted.pop(OTHERS) == 20
    assert set(counted.values()) == {1}
    await clock.advance(900)
    last = f"t{NAMES_MAX + 19:04}"
    activity["attempt", last, "failed"] = ActivityTotals(2)
    await writer.flush()
    [later] = await store.reads.activity_by_name(QUARTER_S, QUARTER + 1)
    assert (later.name, later.count) == (last, 1), "who is busy now has its turn"


async def test_the_size_of_the_store_is_noted_once_in_a_quarter_of_an_hour() -> None:
    clock = ManualClock(QUARTER)
    store = ModelStore(clock)
    await a_writer(store, clock, {}).flush()
    writer = a_writer(store, clock, {}, size=70)
    for _ in range(2):
        await writer.flush()
        await clock.advance(800)
    await writer.flush()
    sizes = await store.reads.activity(QUARTER_S, 0)
    assert [(one.at - QUARTER, one.count, one.most) for one in sizes] == [
        (0, 1, 70),
        (900_000, 1, 70),
    ]


class Kept:
    """A store of numbers that can fail."""

    def __init__(self) -> None:
        self.sums: dict[str, int] = {}
        self.fails_at = -1
        self.calls = 0

    async def add(self, records: Sequence[tuple[str, int]]) -> None:
        self.calls += 1
        if self.calls == self.fails_at:
            raise StoreUnavailable("full")
        for key, grown in records:
            self.sums[key] = self.sums.get(key, 0) + grown


def grown(key: str, before: int | None, now: int) -> Iterator[tuple[str, int]]:
    if now != before:
        yield key, now - (before or 0)


@pytest.mark.parametrize("fails_at", [1, 2, 3, 4])
async def test_what_could_not_be_written_goes_with_the_next(fails_at: int) -> None:
    """Of several steps those before it are written, and not again."""
    kept = Kept()
    differences = Differences(grown, kept.add)
    totals = {f"k{n}": 1 for n in range(2 * STEP)}
    kept.fails_at = fails_at
    for times in (1, 2):
        totals = dict.fromkeys(totals, times)
        try:
            await differences.write(totals)
        except StoreUnavailable:
            assert kept.calls == fails_at
    await differences.write(totals)
    assert kept.sums == totals


async def test_where_nothing_changed_the_store_is_not_asked() -> None:
    kept = Kept()
    differences = Differences(grown, kept.add)
    for _ in range(2):
        await differences.write({"a": 3})
    assert (kept.calls, kept.sums) == (1, {"a": 3})


async def test_a_change_without_records_is_none_for_the_store() -> None:
    kept = Kept()
    differences = Differences(lambda _key, _before, _now: iter(()), kept.add)
    await differences.write({"a": 3})
    assert kept.calls == 0
