"""Targets that fail, come back, are paused and shared: the dispatcher's part, in virtual time."""

import asyncio
from collections import Counter
from itertools import pairwise

import pytest

from router.dispatch import DispatchSettings
from router.model.job import Done, FailOutcome, Job, Outcome, RetryOutcome
from router.model.settings import TargetLimits
from router.model.target import PAUSED
from tests.unit.dispatch.bench import BEFORE, Bench, on_bench


class Target:
    """A target that is up or down, and hears when it is called."""

    def __init__(self, bench: Bench, *, takes_s: float = 0.0) -> None:
        self.bench, self.takes_s, self.up = bench, takes_s, True
        self.calls: list[float] = []
        self.at_once = self.most_at_once = 0
        bench.act.how = self.called

    async def called(self, _job: Job) -> Outcome:
        self.calls.append(self.bench.clock.monotonic())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            await asyncio.sleep(self.takes_s)
        finally:
            self.at_once -= 1
        return Done() if self.up else RetryOutcome("network", "no connection")

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [(change.old, change.new) for change in self.bench.seen.changes]

    def since(self, at: float) -> list[float]:
        return [call for call in self.calls if call >= at]


async def _down(bench: Bench, jobs: int = 40) -> Target:
    """A target that has gone down under some jobs, until its breaker opened."""
    target = Target(bench)
    target.up = False
    await bench.start()
    await bench.commit_and_wake(*bench.new(jobs))
    await asyncio.sleep(1)
    assert target.changes == [("healthy", "failing")]
    return target


@on_bench
async def test_jobs_of_an_open_target_stay_as_they_are(bench: Bench) -> None:
    target = await _down(bench)
    called = len(target.calls)
    assert called <= 16, "what was under way when it opened"
    untouched = [job for job in bench.ledger.records.values() if job.state == "available"]
    assert len(untouched) == 40 - called
    assert {(job.attempt, job.charged) for job in untouched} == {(0, 0)}
    await asyncio.sleep(20)
    assert len(target.calls) == called


@on_bench
async def test_one_probe_at_a_time_finds_out_and_the_wait_grows(bench: Bench) -> None:
    target = await _down(bench)
    target.takes_s = 10
    target.most_at_once = 0
    begun = bench.clock.monotonic()
    await asyncio.sleep(1_200)
    probes = target.since(begun)
    assert target.most_at_once == 1
    gaps = [b - a for a, b in pairwise(probes)]
    assert 20 < probes[0] - begun < 40
    assert all(after > before * 1.3 for before, after in pairwise(gaps[:3]))
    assert ("failing", "recovering") in target.changes
    assert ("recovering", "failing") in target.changes


@on_bench
async def test_a_good_probe_closes_it_and_everything_runs(bench: Bench) -> None:
    target = await _down(bench, jobs=300)
    target.up = True
    await asyncio.sleep(120)
    assert target.changes[-2:] == [("recovering", "recovering"), ("recovering", "healthy")]
    assert set(bench.states().values()) == {"succeeded"}
    seconds = Counter(int(at) for at in target.calls[16:])
    first = min(second for second in seconds if second > 10)
    assert max(seconds[first + n] for n in range(5)) <= 7, "five a second at first"
    assert bench.dispatcher.breakers.unhealthy == {}, "and then nothing is out of the ordinary"


@on_bench
async def test_a_probe_that_cannot_be_rendered_does_not_hold_the_target(bench: Bench) -> None:
    target = await _down(bench)
    outcomes: list[Outcome] = [FailOutcome("http.path: empty"), Done()]

    async def how(job: Job) -> Outcome:
        target.calls.append(bench.clock.monotonic())
        return outcomes.pop(0) if outcomes else Done()

    bench.act.how = how
    await asyncio.sleep(60)
    assert target.changes[-1] == ("recovering", "healthy")


@on_bench
async def test_answers_that_are_no_success_show_that_it_is_there(bench: Bench) -> None:
    async def how(job: Job) -> Outcome:
        return RetryOutcome("client", "HTTP 404", None, {"status": 404})

    bench.act.how = how
    await bench.start()
    await bench.commit_and_wake(*bench.new(40))
    await asyncio.sleep(1)
    assert len(bench.act.began) == 40
    assert bench.dispatcher.breakers.unhealthy == {}


@on_bench
async def test_too_many_requests_opens_it_too(bench: Bench) -> None:
    async def how(job: Job) -> Outcome:
        return RetryOutcome("throttled", "HTTP 429")

    bench.act.how = how
    await bench.start()
    await bench.commit_and_wake(*bench.new(40))
    await asyncio.sleep(1)
    assert bench.dispatcher.breakers.unhealthy["erp"].state == "failing"


@on_bench
async def test_breaker_off_is_called_however_it_fails(bench: Bench) -> None:
    bench.limits["erp"] = TargetLimits(16, None, breaker=False)
    target = Target(bench)
    target.up = False
    await bench.start()
    await bench.commit_and_wake(*bench.new(40))
    await asyncio.sleep(1)
    assert len(target.calls) == 40


@on_bench
async def test_shell_jobs_have_no_breaker(bench: Bench) -> None:
    target = Target(bench)
    target.up = False
    await bench.start()
    await bench.commit_and_wake(*bench.new(40, kind="shell", target="r/a"))
    await asyncio.sleep(3)
    assert len(target.calls) == 40
    (row,) = bench.dispatcher.targets()
    assert (row.target, row.attempts, row.success, row.last_error) == (
        "r/a", 40, 0.0, "no connection",
    )  # fmt: skip


@on_bench
async def test_the_first_call_of_a_target_is_in_use_before_it_has_ended(bench: Bench) -> None:
    Target(bench, takes_s=20)
    await bench.start()
    await bench.commit_and_wake(*bench.new(kind="shell", target="r/a"))
    await asyncio.sleep(1)
    (row,) = bench.dispatcher.targets()
    assert (row.target, row.in_use, row.attempts, row.success) == ("r/a", 1, 0, None)
    await asyncio.sleep(20)
    (row,) = bench.dispatcher.targets()
    assert (row.in_use, row.attempts) == (0, 1)


@on_bench
async def test_intake_goes_on_while_a_target_is_down(bench: Bench) -> None:
    await _down(bench)
    for _ in range(1_000):
        assert bench.dispatcher.reserve("erp", "http") is None, "committed available, no waiting"
    await bench.commit_and_wake(*bench.new(1_000))
    assert list(bench.states().values()).count("available") > 1_000
    assert bench.dispatcher.reserve("crm", "http") is not None, "others are handed over"
    (row,) = (one for one in bench.dispatcher.targets() if one.target == "erp")
    assert (row.state, row.deferred, row.success) == ("failing", 1_000, 0.0)


@on_bench
async def test_an_open_target_is_open_after_a_restart_and_spends_no_calls(bench: Bench) -> None:
    target = await _down(bench)
    await asyncio.sleep(5)
    assert bench.ledger.facts["target/erp"]["state"] == "failing"
    called = len(target.calls)
    await bench.dispatcher.drain(0)
    await bench.loop_task
    await bench.start(recover=True)
    await asyncio.sleep(10)
    assert len(target.calls) == called
    target.up = True
    await asyncio.sleep(120)
    assert set(bench.states().values()) == {"succeeded"}


@on_bench
async def test_what_could_not_be_remembered_is_remembered_later(bench: Bench) -> None:
    bench.failing["remember"] = [BEFORE, BEFORE]
    await _down(bench)
    await asyncio.sleep(16)
    assert bench.ledger.facts["target/erp"]["state"] == "failing"


@on_bench
async def test_a_paused_target_is_not_called_and_a_resumed_one_gently(bench: Bench) -> None:
    target = Target(bench)
    dispatcher = await bench.start()
    dispatcher.breakers.pause("erp", "they migrate", "ops")
    assert dispatcher.reserve("erp", "http") is None
    await bench.commit_and_wake(*bench.new(100))
    await asyncio.sleep(3_600)
    assert target.calls == []
    assert dispatcher.breakers.paused() == {"erp"}
    resumed = bench.clock.monotonic()
    await bench.ledger.remember({PAUSED + "erp": None})
    dispatcher.breakers.resume("erp", "done", "ops")
    await asyncio.sleep(3)
    assert 10 <= len(target.since(resumed)) <= 20
    await asyncio.sleep(60)
    assert set(bench.states().values()) == {"succeeded"}
    assert target.changes == [
        ("healthy", "paused"),
        ("paused", "recovering"),
        ("recovering", "healthy"),
    ]


@on_bench
async def test_what_another_node_pauses_is_not_called_from_the_next_sweep_on(bench: Bench) -> None:
    bench.settings = DispatchSettings(sweep_s=1.0)
    target = Target(bench)
    dispatcher = await bench.start()
    await bench.ledger.pause_target("erp", reason="they migrate", by="ann", at=bench.clock.now())
    await asyncio.sleep(1.1)
    await bench.commit_and_wake(*bench.new())
    await asyncio.sleep(60)
    assert target.calls == []
    assert (dispatcher.breakers.paused(), dispatcher.breakers.of("erp").by) == ({"erp"}, "ann")
    await bench.ledger.remember({PAUSED + "erp": None})
    await asyncio.sleep(1.1)
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_what_is_heard_of_another_node_waits_for_no_sweep(bench: Bench) -> None:
    bench.settings = DispatchSettings(sweep_s=3_600)
    target = Target(bench)
    dispatcher = await bench.start()
    await bench.commit(*bench.new())
    dispatcher.heard(["erp"])
    await asyncio.sleep(0.1)
    assert bench.states() == {"job_0": "succeeded"}
    await bench.commit(*bench.new())
    dispatcher.heard([])
    await asyncio.sleep(0.1)
    assert len(target.calls) == 2, "who is not told where looks everywhere"
    await bench.ledger.pause_target("erp", reason="they migrate", by="ann", at=bench.clock.now())
    dispatcher.heard([])
    await asyncio.sleep(0.1)
    assert dispatcher.breakers.paused() == {"erp"}


@pytest.mark.long
@on_bench
async def test_days_of_only_failures_pause_a_target_and_say_so(bench: Bench) -> None:
    bench.settings = DispatchSettings(sweep_s=600)
    target = await _down(bench, jobs=200)
    await asyncio.sleep(121 * 3_600)
    assert target.changes[-1][1] == "paused"
    called = len(target.calls)
    await asyncio.sleep(24 * 3_600)
    assert len(target.calls) == called


@on_bench
async def test_a_backlog_leaves_room_for_what_comes_now(bench: Bench) -> None:
    target = Target(bench, takes_s=0.1)
    bench.limits["erp"] = TargetLimits(4)
    await bench.commit(*bench.new(4_000, due_at=bench.clock.now() - 60_000))
    await bench.start()
    await asyncio.sleep(1)
    lags: list[float] = []
    for _ in range(150):  # 15 a second, where 40 are served
        (job,) = bench.new()
        at = bench.clock.monotonic()
        await bench.commit_and_wake(job)
        await asyncio.sleep(1 / 15)
        lags += [began - at for name, began in bench.act.began[-8:] if name == job.id]
    await asyncio.sleep(1)
    begun = dict(bench.act.began)
    fresh = [n for n in begun if int(n.removeprefix("job_")) >= 4_000]
    assert len(fresh) == 150
    assert max(lags) < 0.5
    assert len(target.calls) > 400, "and the backlog goes on"


@on_bench
async def test_an_endpoint_that_floods_a_target_delays_no_other(bench: Bench) -> None:
    Target(bench, takes_s=0.1)
    bench.limits["erp"] = TargetLimits(4)
    await bench.start()
    asked: dict[str, float] = {}
    for second in range(30):
        for n in range(100):  # a flood of a hundred a second, where forty are served
            await bench.commit_and_wake(*bench.new(), endpoint="noisy")
            if n % 50 == 0:
                (quiet,) = bench.new()
                asked[quiet.id] = bench.clock.monotonic()
                await bench.commit_and_wake(quiet, endpoint="quiet")
        await asyncio.sleep(1)
        del second
    await asyncio.sleep(3)
    begun = dict(bench.act.began)
    lags = sorted(begun[name] - at for name, at in asked.items())
    assert len(lags) == 60
    assert lags[-1] < 2.0
