"""The live feed's ring: bounded, in order, and gaps are told."""

import asyncio
import json
import random
import tracemalloc
from contextlib import ExitStack
from typing import Any

import pytest

from router.model.delivery import Delivery, DeliveryEvent
from router.model.ids import Ids
from router.model.job import Attempt, Settlement
from router.store.values import Acceptance, Accepted, Duplicate
from router.web.feed import (
    CHUNK_BYTES,
    HEARTBEAT_S,
    LINGER_S,
    PAUSE_S,
    RING,
    WATCHERS_MAX,
    Feed,
    FeedFilter,
    FeedFull,
    Watcher,
)
from tests.builders import a_delivery, a_job, an_event
from tests.clocks import ManualClock, settle

EVERYTHING = FeedFilter()


def an_acceptance(*events: DeliveryEvent, delivery: Delivery | None = None) -> Acceptance:
    return Acceptance(delivery or a_delivery(), events, ())


class Rig:
    """A feed, and what happens."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.feed = Feed(self.clock, boot="b")
        self._ids = Ids(random.Random(1))

    def deliver(self, count: int = 1, **given: Any) -> None:
        for _ in range(count):
            event = an_event(name=given.pop("event", "orders/paid"))
            delivery = a_delivery(id=self._ids.new("dlv", 1), **given)
            self.feed.delivered(an_acceptance(event, delivery=delivery), Accepted(delivery.id))
        self.feed.show()

    def attempt(self, **given: Any) -> None:
        job = a_job(**given)
        attempt = Attempt(job.id, 1, 5, 9, "failed", "x" * 1000, {}, "0" * 64)
        self.feed.attempted(job, Settlement(job.id, "l", attempt, "retryable", due_at=77))
        self.feed.show()


@pytest.fixture
def rig() -> Rig:
    return Rig()


def messages(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """(event, data) of each message; signs of life are left out."""
    found = []
    for block in data.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "event" in fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found


def last_id(data: bytes) -> str:
    return [line[4:] for line in data.decode().split("\n") if line.startswith("id: ")][-1]


def everything(feed: Feed, watcher: Watcher) -> bytes:
    data = feed.take(watcher)
    while feed.behind(watcher):
        data += feed.take(watcher)
    return data


def test_nothing_is_kept_before_somebody_watches(rig: Rig) -> None:
    rig.deliver()
    rig.attempt()
    with rig.feed.watching(EVERYTHING, "b.0.0") as watcher:
        assert messages(rig.feed.take(watcher)) == []
        rig.deliver()
        assert len(messages(rig.feed.take(watcher))) == 1


def test_what_is_reported_has_no_body(rig: Rig) -> None:
    with rig.feed.watching(EVERYTHING, None) as watcher:
        rig.deliver(body=b"SECRET")
        rig.attempt()
        data = rig.feed.take(watcher)
    (kind, delivery), (other, attempt) = messages(data)
    assert (kind, other) == ("delivery", "attempt")
    assert b"SECRET" not in data
    assert delivery["body_bytes"] == 6
    assert delivery["events"] == ["orders/paid"]
    assert (attempt["state"], len(attempt["reason"])) == ("retryable", 200)
    assert attempt["due_at"] == "1970-01-01T00:00:00.077Z"


@pytest.mark.parametrize(
    ("wanted", "reported"),
    [
        (FeedFilter(), ["delivery", "delivery", "attempt"]),
        (FeedFilter(kinds=frozenset({"attempt"})), ["attempt"]),
        (FeedFilter(endpoints=frozenset({"code"})), ["delivery"]),
        (FeedFilter(events=frozenset({"orders/paid"})), ["delivery", "attempt"]),
        (FeedFilter(events=frozenset({"none"})), []),
    ],
)
def test_filters(rig: Rig, wanted: FeedFilter, reported: list[str]) -> None:
    with rig.feed.watching(wanted, None) as watcher:
        rig.deliver()
        rig.deliver(endpoint="code", event="push")
        rig.attempt(event="orders/paid")
        assert [kind for kind, _ in messages(rig.feed.take(watcher))] == reported
        assert not rig.feed.behind(watcher)


async def test_of_many_refusals_a_few_are_told_and_the_others_counted(rig: Rig) -> None:
    def refuse(times: int) -> None:
        for _ in range(times):
            rig.feed.refused("shop", "bad_signature", 401, "192.0.2.1")
        rig.feed.show()

    refuse(1)  # nobody watches
    with rig.feed.watching(EVERYTHING, None) as watcher:
        refuse(RING)
        [(kind, first)] = messages(rig.feed.take(watcher))
        assert (kind, first["reason"], first["untold"]) == ("refusal", "bad_signature", 0)
        await rig.clock.advance(PAUSE_S)
        refuse(1)
        [(_, second)] = messages(rig.feed.take(watcher))
        assert second["untold"] == RING - 1


def test_a_batch_of_many_names_is_reported_to_everybody(rig: Rig) -> None:
    names = tuple(an_event(name=f"e{n}") for n in range(200))
    with rig.feed.watching(FeedFilter(events=frozenset({"x"})), None) as watcher:
        rig.feed.delivered(an_acceptance(*names), Accepted("dlv_1"))
        rig.feed.show()
        ((_, reported),) = messages(rig.feed.take(watcher))
    assert len(reported["events"]) == 10


def test_a_duplicate_names_the_first(rig: Rig) -> None:
    with rig.feed.watching(EVERYTHING, None) as watcher:
        rig.feed.delivered(an_acceptance(an_event()), Duplicate("dlv_first"))
        rig.feed.show()
        ((kind, reported),) = messages(rig.feed.take(watcher))
    assert (kind, reported["id"]) == ("duplicate", "dlv_first")


def test_who_comes_back_goes_on_behind_what_it_saw(rig: Rig) -> None:
    with rig.feed.watching(EVERYTHING, None) as watcher:
        seen = last_id(rig.feed.take(watcher))  # nothing yet: a sign of life has an id, too
    rig.deliver(2)
    with rig.feed.watching(EVERYTHING, seen) as watcher:
        data = everything(rig.feed, watcher)
    assert [kind for kind, _ in messages(data)] == ["delivery"] * 2
    with rig.feed.watching(EVERYTHING, last_id(data)) as watcher:
        assert messages(everything(rig.feed, watcher)) == []


@pytest.mark.parametrize("last", ["other.0.1", "b.1.1", "b.0.7", "b.0.x", "", "b.0." + "9" * 30])
def test_a_place_that_is_not_known_is_a_gap(rig: Rig, last: str) -> None:
    with rig.feed.watching(EVERYTHING, last) as watcher:
        rig.deliver()
        reported = messages(everything(rig.feed, watcher))
    assert [kind for kind, _ in reported] == ["gap", "delivery"]
    assert reported[0][1] == {"missed": None}


def test_the_slow_learn_how_much_they_missed_and_go_on(rig: Rig) -> None:
    with rig.feed.watching(EVERYTHING, None) as watcher:
        rig.deliver(RING + 5)
        reported = messages(everything(rig.feed, watcher))
        assert reported[0] == ("gap", {"missed": 5})
        assert len(reported) == RING + 1
        rig.deliver()
        assert [kind for kind, _ in messages(rig.feed.take(watcher))] == ["delivery"]


def test_what_is_sent_in_one_go_is_bounded(rig: Rig) -> None:
    with rig.feed.watching(EVERYTHING, None) as watcher:
        rig.deliver(RING)
        longest = 0
        while rig.feed.behind(watcher):
            longest = max(longest, len(rig.feed.take(watcher)))
        assert CHUNK_BYTES <= longest < CHUNK_BYTES + 2_000


def test_watchers_that_read_nothing_hold_no_memory(rig: Rig) -> None:
    with ExitStack() as stack:
        for _ in range(WATCHERS_MAX):
            stack.enter_context(rig.feed.watching(EVERYTHING, None))
        rig.deliver(RING)
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        rig.deliver(5 * RING)
        held = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert held < 8_000_000, held  # the ring was filled anew, no more
        with pytest.raises(FeedFull):
            stack.enter_context(rig.feed.watching(EVERYTHING, None))


def test_between_two_rounds_everybody_sees_the_same(rig: Rig) -> None:
    with rig.feed.watching(EVERYTHING, None) as first, rig.feed.watching(EVERYTHING, None) as other:
        for watcher in (first, other):
            rig.feed.take(watcher)  # a sign of life
        rig.deliver()
        shown = rig.feed.take(first)
        rig.feed.delivered(an_acceptance(an_event()), Accepted("dlv_later"))
        assert rig.feed.take(other) is shown, "made once"
        assert not rig.feed.behind(first)
        rig.feed.show()
        assert rig.feed.behind(first)
        assert b"dlv_later" in rig.feed.take(first)


async def test_many_happenings_wake_a_watcher_once(rig: Rig) -> None:
    loop = asyncio.ensure_future(rig.feed.run())
    with rig.feed.watching(EVERYTHING, None) as watcher:
        woken = 0
        for _ in range(10):
            rig.deliver()
            await settle()
            woken += watcher.woken.is_set()
            watcher.woken.clear()
        assert woken == 1
        await rig.clock.advance(PAUSE_S)
        assert watcher.woken.is_set()
    loop.cancel()


async def test_a_sign_of_life_comes_every_interval(rig: Rig) -> None:
    loop = asyncio.ensure_future(rig.feed.beat())
    with rig.feed.watching(EVERYTHING, None) as watcher:
        assert b"still here" in rig.feed.take(watcher)
        assert rig.feed.take(watcher) == b""
        for _ in range(3):
            await rig.clock.advance(HEARTBEAT_S)
            assert watcher.woken.is_set()
            assert b"still here" in rig.feed.take(watcher)
    loop.cancel()


async def test_the_ring_outlives_the_last_watcher_for_a_while(rig: Rig) -> None:
    loop = asyncio.ensure_future(rig.feed.beat())
    with rig.feed.watching(EVERYTHING, None) as watcher:
        seen = last_id(rig.feed.take(watcher))
    await rig.clock.advance(LINGER_S - HEARTBEAT_S)
    assert rig.feed.live
    await rig.clock.advance(2 * HEARTBEAT_S)
    assert not rig.feed.live
    with rig.feed.watching(EVERYTHING, seen) as watcher:
        assert messages(rig.feed.take(watcher)) == [("gap", {"missed": None})]
    loop.cancel()


def test_when_the_router_goes_down_watchers_go(rig: Rig) -> None:
    with rig.feed.watching(EVERYTHING, None) as watcher:
        rig.feed.end()
        assert watcher.gone
    with pytest.raises(FeedFull), rig.feed.watching(EVERYTHING, None):
        pass
