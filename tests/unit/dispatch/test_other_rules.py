"""Jobs of rules that this node does not have: fetched, or left to other nodes."""

import asyncio
from collections.abc import Sequence

from router.dispatch.settlement import NOT_HERE
from router.model.job import Job
from tests.unit.dispatch.bench import Bench, on_bench


class Others:
    """Knows what was fetched, of the rules that can be had."""

    def __init__(self, *had: str) -> None:
        self.can_be_had = set(had)
        self.known = {"r"}
        self.told: list[str] = []

    def knows(self, job: Job) -> bool:
        return job.rule in self.known

    async def fetch(self, jobs: Sequence[Job]) -> None:
        await asyncio.sleep(0.5)
        self.known |= {job.rule for job in jobs} & self.can_be_had

    async def fetch_running(self) -> None:
        self.told.append("fetch_running")


@on_bench
async def test_a_job_of_a_rule_that_is_fetched_runs_then(bench: Bench) -> None:
    bench.others = Others("theirs")
    await bench.start()
    await bench.commit_and_wake(*bench.new(rule="theirs"))
    await asyncio.sleep(0.4)
    assert bench.act.began == []
    await asyncio.sleep(0.4)
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_a_job_of_a_rule_that_cannot_be_had_is_left_to_others(bench: Bench) -> None:
    """Nothing is charged, nobody is called, its slot is free; the next node has five seconds."""
    bench.others = others = Others()
    await bench.start()
    now = bench.clock.ledger()
    await bench.commit_and_wake(*bench.new(rule="theirs"), *bench.new())
    await asyncio.sleep(1)
    assert bench.states() == {"job_0": "available", "job_1": "succeeded"}
    job = bench.ledger.records["job_0"]
    assert (job.charged, job.deaths, len(bench.act.began)) == (0, 0, 1)
    assert 5_000 <= job.due_at - now <= 6_000
    others.can_be_had = {"theirs"}
    await asyncio.sleep(12)
    assert bench.states() == {"job_0": "succeeded", "job_1": "succeeded"}


@on_bench
async def test_a_job_that_no_node_can_run_is_leased_ever_more_rarely(bench: Bench) -> None:
    """At last each ten minutes; its attempts say why, and it runs when it can."""
    bench.others = others = Others()
    await bench.start()
    await bench.commit_and_wake(*bench.new(rule="theirs"))
    await asyncio.sleep(7_200)
    tried = [one for one in bench.ledger.attempts if one.job == "job_0"]
    assert 7 <= len(tried) <= 18
    assert {(one.outcome, one.reason) for one in tried} == {("interrupted", NOT_HERE)}
    assert bench.ledger.records["job_0"].charged == 0
    others.can_be_had = {"theirs"}
    await asyncio.sleep(601)
    assert bench.states() == {"job_0": "succeeded"}


@on_bench
async def test_before_jobs_of_a_node_that_is_gone_are_reclaimed_their_rules_are_fetched(
    bench: Bench,
) -> None:
    """They say which of them are dead by that."""
    bench.others = others = Others()
    dispatcher = await bench.start()
    await dispatcher.recover_nodes()
    assert others.told == [], "nobody is gone"
    await bench.commit(*bench.new(lease="other/1"))
    bench.verbs.clear()
    others.told = bench.verbs
    await dispatcher.recover_nodes()
    assert bench.verbs[:3] == ["lost_nodes", "fetch_running", "recover"]
