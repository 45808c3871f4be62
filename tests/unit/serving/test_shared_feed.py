"""What other routers store and do is told to whoever watches this one's feed."""

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, cast

from router.errors import StoreUnavailable
from router.model.job import Attempt, Job, JobState
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.shared_feed import EARLIER_MS, LATE_MS, LOOK_S, PAUSE_S, SharedFeed
from router.store.reads import StoreReads
from router.store.values import FeedQuery, Following, Stored
from router.web.feed import HEARTBEAT_S, LINGER_S, Feed, FeedFilter, Watcher
from tests.builders import a_delivery, a_job, a_rule, a_ruleset
from tests.clocks import ManualClock, settle
from tests.unit.serving.test_nodes import Lines

LIVE = LiveRef(LiveRuleset(a_ruleset(a_rule("paid")), SecretValues({}, {})))
HERE, THERE = "1", "2"


class Ledger:
    """What is in it, and what it was asked."""

    def __init__(self) -> None:
        self.stored: list[Stored] = []
        self.ended: list[tuple[Job, Attempt]] = []
        self.asked: list[FeedQuery] = []
        self.asked_ended: list[tuple[int, set[str]]] = []
        self.away = False
        self.page = 100

    async def following(self, asked: FeedQuery) -> Following:
        if self.away:
            raise StoreUnavailable("away")
        self.asked.append(asked)
        begin = int(asked.cursor or 0)
        end = min(len(self.stored), begin + self.page)
        more = end < len(self.stored)
        return Following(tuple(self.stored[begin:end]), str(end), more, None)

    async def ended_elsewhere(
        self, since: int, here: Collection[str], limit: int
    ) -> tuple[tuple[Job, Attempt], ...]:
        assert limit > 0
        self.asked_ended.append((since, set(here)))
        return tuple(one for one in reversed(self.ended) if one[1].ended_at >= since)


class Rig:
    def __init__(self) -> None:
        self.clock, self.ledger, self.log = ManualClock(), Ledger(), Lines()
        self.feed = Feed(self.clock, boot="b")
        reads, log = cast(StoreReads, self.ledger), cast(Any, self.log)
        self.shared = SharedFeed(self.feed, reads, live=LIVE, clock=self.clock, log=log)
        self.node = HERE

    def store(self, *rules: str) -> str:
        number = len(self.ledger.stored)
        delivery = a_delivery(id=f"dlv_{number}")
        jobs = tuple(a_job(id=f"job_{number}", rule=rule) for rule in rules)
        self.ledger.stored.append(Stored("", delivery, (), history=jobs))
        return delivery.id

    def end(self, number: int = 1, *, state: JobState = "succeeded", attempt: int = 1) -> None:
        job = a_job(id="job_x", state=state, attempt=number, due_at=77, reason="exit 1: x")
        now = self.clock.now()
        ended = Attempt(job.id, attempt, now - 5, now, "failed", None, {}, "0" * 64)
        self.ledger.ended.append((job, ended))

    async def pass_(self, seconds: float) -> None:
        await self.clock.advance(seconds)

    async def look(self) -> None:
        await self.shared.look(self.node)

    @contextmanager
    def watching(self) -> Iterator[Watcher]:
        with self.feed.watching(FeedFilter(), None) as watcher:
            self.feed.take(watcher)
            yield watcher

    def told(self, watcher: Watcher) -> list[dict[str, Any]]:
        self.feed.show()
        lines = self.feed.take(watcher).decode().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


@asynccontextmanager
async def running() -> AsyncIterator[Rig]:
    rig = Rig()
    task = asyncio.create_task(rig.shared.run(lambda: rig.node))
    await settle()
    yield rig
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_what_any_router_stored_is_told_with_its_jobs() -> None:
    rig = Rig()
    with rig.watching() as watcher:
        stored = rig.store("paid", "paid", "log")
        await rig.look()
        (told,) = rig.told(watcher)
        assert (told["id"], told["rules"], told["jobs"]) == (stored, ["paid", "log"], 3)
        assert rig.ledger.asked[0].history
        assert rig.ledger.asked[0].since == str(rig.feed.live_since - EARLIER_MS)
        await rig.look()
        assert rig.told(watcher) == []


async def test_all_pages_are_read_in_one_look() -> None:
    rig = Rig()
    rig.ledger.page = 2
    with rig.watching() as watcher:
        stored = [rig.store() for _ in range(5)]
        await rig.look()
        assert [one["id"] for one in rig.told(watcher)] == stored


async def test_nobody_reads_while_nobody_watches() -> None:
    async with running() as rig:
        rig.shared.look_soon()
        await rig.pass_(10 * LOOK_S)
        assert rig.ledger.asked == []
        with rig.watching():
            await rig.pass_(0)
            assert len(rig.ledger.asked) == 1
            await rig.pass_(LOOK_S)
            await rig.pass_(PAUSE_S)
            assert len(rig.ledger.asked) == 2
        await rig.pass_(LOOK_S)
        await rig.pass_(PAUSE_S)
        assert len(rig.ledger.asked) == 2


async def test_who_is_told_of_a_commit_looks_at_once() -> None:
    async with running() as rig:
        with rig.watching() as watcher:
            await rig.pass_(0)
            stored = rig.store()
            rig.shared.look_soon()
            await rig.pass_(PAUSE_S)
            assert [one["id"] for one in rig.told(watcher)] == [stored]


async def test_one_reader_serves_all_who_watch() -> None:
    async with running() as rig:
        with rig.watching() as one, rig.watching() as two:
            await rig.pass_(0)
            rig.store()
            rig.shared.look_soon()
            await rig.pass_(PAUSE_S)
            assert len(rig.told(one)) == len(rig.told(two)) == 1
            assert len(rig.ledger.asked) == 2


async def test_who_comes_back_misses_nothing_of_the_pause() -> None:
    rig = Rig()
    with rig.watching():
        await rig.look()
    stored = rig.store()
    with rig.watching() as watcher:
        await rig.look()
        assert [one["id"] for one in rig.told(watcher)] == [stored]


async def test_who_comes_long_after_begins_anew() -> None:
    rig = Rig()
    beat = asyncio.create_task(rig.feed.beat())
    with rig.watching():
        await rig.look()
    for _ in range(int(LINGER_S / HEARTBEAT_S) + 1):
        await rig.pass_(HEARTBEAT_S)
    with rig.watching():
        await rig.look()
    beat.cancel()
    assert [one.cursor for one in rig.ledger.asked] == [None, None]


async def test_attempts_of_other_routers_are_told_once() -> None:
    rig = Rig()
    with rig.watching() as watcher:
        rig.end(state="retryable")
        await rig.look()
        (told,) = rig.told(watcher)
        assert (told["job"], told["attempt"], told["state"]) == ("job_x", 1, "retryable")
        assert told["reason"] == "exit 1", "what follows may quote an answer"
        assert told["due_at"] is not None
        await rig.clock.advance(1)
        await rig.look()
        assert rig.told(watcher) == []
        assert rig.ledger.asked_ended[-1][0] == rig.feed.live_since


async def test_an_attempt_that_is_not_the_last_says_that_it_was_tried_again() -> None:
    rig = Rig()
    with rig.watching() as watcher:
        rig.end(2, state="succeeded", attempt=1)
        await rig.look()
        (told,) = rig.told(watcher)
        assert (told["state"], told["reason"]) == ("retryable", None)


async def test_attempts_of_a_former_number_of_this_router_are_its_own() -> None:
    rig = Rig()
    with rig.watching():
        await rig.look()
        rig.node = THERE
        await rig.clock.advance(60)
        await rig.look()
        await rig.look()
    since, here = rig.ledger.asked_ended[-1]
    assert here == {HERE, THERE}
    assert since == rig.clock.now() - LATE_MS


async def test_a_store_that_is_away_is_said_once_and_looked_at_again() -> None:
    async with running() as rig:
        rig.ledger.away = True
        with rig.watching() as watcher:
            for _ in range(3):
                await rig.pass_(LOOK_S)
                await rig.pass_(PAUSE_S)
            assert rig.log.said == ["the live feed does not see the store"]
            rig.ledger.away = False
            stored = rig.store()
            await rig.pass_(LOOK_S)
            await rig.pass_(PAUSE_S)
            assert [one["id"] for one in rig.told(watcher)] == [stored]
