"""A test's router is the real one: limits, breakers and time are what they would be."""

import asyncio
import random
from contextlib import closing

import pytest

from router.config import load, render_text
from router.kinds.kind import ActionCall
from router.model.job import ActionKind, Done, Job, Outcome, RetryOutcome
from router.model.trial import Sending
from router.rehearsal.record import TrialRecord
from router.rehearsal.run import Rig
from router.rehearsal.senders import Senders, invented
from router.rehearsal.virtual_time import START_MS, Stuck, VirtualClock, VirtualLoop
from router.rules.live import LiveRuleset
from router.store.sqlite.inline import Memory

RULES = """\
version: 1
endpoints:
  shop: {id: shop-0123456789abcdef, provider: shopify, verify: none}
targets:
  slow: {url: "https://slow.example.net", rate: 2/s}
  sick: {url: "https://sick.example.net"}
rules:
  - id: one
    from: shop
    actions:
      - {id: call, http: {target: %s, json: {}}, retry: {schedule: [1s], jitter: 0}}
"""


class Calls:
    """Answers every call alike, and knows when each came."""

    def __init__(self, answer: Outcome) -> None:
        self.answer, self.at = answer, list[int]()

    async def run(self, call: ActionCall, job: Job) -> Outcome:
        self.at.append(self.rig.clock.now() - START_MS)
        return self.answer

    async def close(self) -> None: ...

    def of(self, target: str, deliveries: int) -> list[int]:
        """When so many deliveries, sent at once, led to calls of this target."""
        loaded = load(RULES % target, path="rules.yaml", env={})
        assert loaded.ruleset is not None, render_text(loaded.diagnostics)
        rng = random.Random(1)
        keys = invented(loaded.ruleset, rng.randbytes)
        live, memory = LiveRuleset(loaded.ruleset, keys.secrets), Memory()
        kinds: tuple[ActionKind, ...] = ("http", "shell", "python", "log")
        table = dict.fromkeys(kinds, self)
        self.rig = Rig(
            live, memory, TrialRecord(), table, start_ms=START_MS, rng=rng, environ={}, keys=keys
        )
        senders = Senders(
            loaded.ruleset, keys, clock=self.rig.clock, rng=rng, random_bytes=rng.randbytes
        )
        with closing(self.rig):
            for _ in range(deliveries):
                for request in senders.requests(Sending("shop", "orders/paid", {"id": 1})):
                    assert self.rig.receive(request).status == 200
            self.jobs = self.rig.run_on()
        return self.at


def test_a_target_s_rate_spreads_its_calls() -> None:
    assert Calls(Done()).of("slow", 6) == [0, 500, 1_000, 1_500, 2_000, 2_500]


def test_retries_come_at_their_very_time() -> None:
    calls = Calls(RetryOutcome("error", "no"))
    assert calls.of("sick", 2) == [0, 0, 1_000, 1_000]
    assert [job.state for job in calls.jobs] == ["dead", "dead"]


def test_a_target_that_only_fails_is_left_alone_for_a_while() -> None:
    at = Calls(RetryOutcome("server", "HTTP 503")).of("sick", 11)
    assert at[:10] == [0] * 10
    assert 24_000 <= at[10] <= 36_000, "the breaker opened after ten"
    assert len(at) == 22


def test_the_same_test_runs_the_same_way_each_time() -> None:
    one, two = (Calls(RetryOutcome("server", "HTTP 503")) for _ in range(2))
    assert one.of("sick", 11) == two.of("sick", 11)
    assert [job.id for job in one.jobs] == [job.id for job in two.jobs]


def test_a_defect_of_ours_is_no_result() -> None:
    class Defect(Calls):
        async def run(self, call: ActionCall, job: Job) -> Outcome:
            raise KeyError("a defect")

    with pytest.raises(KeyError):
        Defect(Done()).of("sick", 1)


# -- time


def test_a_loop_jumps_to_what_is_due_and_no_further() -> None:
    loop = VirtualLoop()
    clock, woken = VirtualClock(loop.time), list[int]()

    async def sleeper(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(clock.now() - START_MS)

    tasks = [loop.create_task(sleeper(seconds)) for seconds in (0.009, 1.001, 200_000.057, 3e5)]
    loop.run_until(250_000)
    assert woken == [9, 1_001, 200_000_057]
    assert loop.time() == 250_000
    loop.run_until(1)
    assert loop.time() == 250_000, "time never goes back"
    loop.run_until_complete(asyncio.gather(*tasks))
    assert woken[-1] == 300_000_000
    with pytest.raises(Stuck):
        loop.run_until_complete(asyncio.Event().wait())
    loop.close()
