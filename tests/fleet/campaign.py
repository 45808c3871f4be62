"""A fleet under load and under faults; in the end everything is counted."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.process import ROOT, RouterDied, TookTooLong
from tests.faults.telling import reported
from tests.fleet import judge
from tests.fleet.faults import Faults, Kind, planned
from tests.fleet.judge import Ledger, StoredAttempt, StoredDelivery, StoredJob
from tests.fleet.senders import Senders
from tests.fleet.site import Fleet, NeverHappened, a_fleet, drawn, until
from tests.fleet.target import Call, Target
from tests.ledger import OUTCOMES, STATES, digest

LIMIT = 3
SLOW_LANE = "l0"
FLAKY_EACH = 4
CALLING = ("limited", "lane", "flaky")
RULES = (
    "retries: {quick: {schedule: [200ms, 500ms, 1s, 2s, 3s, 5s, 5s, 5s], jitter: 0.1}}\n"
    "targets:\n"
    f"  limited: {{url: SINK, concurrency: {LIMIT}}}\n"
    "  other: {url: SINK}\n"
    "rules:\n"
    "  - id: limited\n    from: code\n"
    "    actions: [{id: call, retry: quick,"
    " http: {target: limited, path: '/limited/{{ payload.number }}'}}]\n"
    "  - id: lane\n    from: code\n"
    "    concurrency: {group: payload.lane, limit: 1}\n"
    "    actions: [{id: call, retry: quick,"
    " http: {target: other, path: '/lane/{{ payload.number }}'}}]\n"
    "  - id: flaky\n    from: code\n"
    "    actions: [{id: call, retry: quick,"
    " http: {target: other, path: '/flaky/{{ payload.number }}'}}]\n"
    f"  - id: slow\n    from: code\n    match: payload.lane == '{SLOW_LANE}'\n"
    "    actions: [{id: run, retry: quick, shell: {argv: [sleep, '0.5']}}]\n"
)
SENDERS = 8
PAUSE_S = 0.25
BETWEEN = 20
"""Acknowledgements between two faults, so that each meets work."""


@dataclass
class Tally:
    """What all of it came to."""

    faults: str = ""
    acked: int = 0
    deliveries: int = 0
    jobs: int = 0
    calls: int = 0
    taken_over: int = 0
    dead: int = 0
    gone: int = 0
    at_once: int = 0
    heard: Mapping[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        heard = ", ".join(f"{word} {count}" for word, count in sorted(self.heard.items()))
        return (
            f"faults: {self.faults}\n"
            f"senders heard: {heard}\n"
            f"{self.acked} acknowledged, {self.deliveries} stored, {self.jobs} jobs, "
            f"{self.calls} calls\n"
            f"{self.gone} routers declared gone, {self.taken_over} calls of jobs that others took "
            f"over, {self.dead} jobs dead of {judge.MAX_DEATHS} deaths\n"
            f"calls at once where {LIMIT} may be: {self.at_once}; {len(self.problems)} problems"
        )


def answer(call: Call) -> int:
    """The first attempts of some calls fail."""
    _, kind, number = call.path.split("/")
    flaky = kind == "flaky" and int(number) % FLAKY_EACH == 0 and call.attempt == 1
    return 503 if flaky else 200


def run(
    folder: Path,
    binaries: Path,
    counts: Mapping[Kind, int],
    seed: int,
    nodes: int,
    programs: Sequence[Path] = (ROOT,),
) -> Tally:
    """So many faults of each kind, befalling so many routers, which run these programs in turn."""
    return asyncio.run(_run(folder, binaries, counts, seed, nodes, programs))


async def _run(
    folder: Path,
    binaries: Path,
    counts: Mapping[Kind, int],
    seed: int,
    nodes: int,
    programs: Sequence[Path],
) -> Tally:
    tally = Tally()
    target = Target(drawn(seed, "target"), answer)
    steps = planned(counts, nodes, drawn(seed, "plan"))
    promoted = counts.get("promotion", 0) > 0
    site = a_fleet(folder, binaries, nodes, RULES, target, has_standby=promoted, programs=programs)
    async with site as fleet:
        senders = Senders([one.router.url for one in fleet.nodes], drawn(seed, "senders"), PAUSE_S)
        faults = Faults(fleet, drawn(seed, "faults"))
        sending = asyncio.create_task(senders.send(SENDERS))
        try:
            await _befall(faults, senders, steps)
            senders.ends = True
            await sending
            await until(lambda: all_ended(fleet), "all jobs ended")
        except (NeverHappened, RouterDied, TookTooLong) as error:
            tally.problems.append(str(error))
        finally:
            sending.cancel()
            await asyncio.wait([sending])
        tally.faults = str(faults)
        await _count(tally, fleet, senders, faults)
    return tally


async def _befall(faults: Faults, senders: Senders, steps: Sequence[Sequence[Kind]]) -> None:
    await _acknowledged(senders, BETWEEN)
    for step in reported(steps, "steps"):
        await faults.do(step)
        await _acknowledged(senders, BETWEEN)


async def _acknowledged(senders: Senders, more: int) -> None:
    enough = len(senders.acked) + more

    async def reached() -> bool:
        return len(senders.acked) >= enough

    await until(reached, f"{more} more deliveries acknowledged")


async def all_ended(fleet: Fleet) -> bool:
    """Whether no job is open."""
    return [*(await fleet.ask("SELECT count(*) FROM queue"))[0]] == [0]


async def _count(tally: Tally, fleet: Fleet, senders: Senders, faults: Faults) -> None:
    ledger = await read(fleet)
    calls = fleet.target.calls
    tally.acked, tally.deliveries = len(senders.acked), len(ledger.deliveries)
    tally.jobs, tally.calls, tally.heard = len(ledger.jobs), len(calls), senders.heard
    tally.taken_over = sum(map(ledger.was_taken_over, calls))
    tally.dead = sum(map(ledger.died_often, ledger.jobs))
    ended_well = [one for one in calls if not ledger.was_taken_over(one)]
    tally.at_once = judge.most_at_once([c for c in ended_well if c.path.startswith("/limited/")])
    gone = {number for (number,) in await fleet.ask("SELECT n FROM nodes WHERE gone")}
    tally.gone = len(gone)
    tally.problems += senders.wrong
    tally.problems += judge.lost(ledger, senders.acked)
    tally.problems += judge.odd_jobs(ledger)
    tally.problems += judge.odd_calls(ledger, calls, CALLING)
    tally.problems += judge.out_of_turn(ledger, calls)
    tally.problems += [f"declared gone: node {n}, which lived" for n in gone - faults.touched]
    tally.problems += [
        f"a traceback in the log of {node.name}"
        for node in fleet.nodes
        if "Traceback" in node.router.log.read_text("utf-8", "replace")
    ]
    if tally.at_once > LIMIT:
        tally.problems.append(f"above the limit of {LIMIT}: {tally.at_once} calls at once")


async def read(fleet: Fleet) -> Ledger:
    """The whole ledger, by plain SQL."""
    deliveries = await fleet.ask("SELECT id, body FROM deliveries WHERE endpoint = 'code'")
    jobs = await fleet.ask(
        "SELECT j.id, j.delivery, j.rule, j.state, j.reason, r.value, r.n FROM jobs j "
        "LEFT JOIN runs r ON r.id = j.run"
    )
    attempts = await fleet.ask("SELECT job, number, outcome FROM attempts")
    return Ledger(
        [StoredDelivery(f"dlv_{id_}", digest(body), wanted(body)) for id_, body in deliveries],
        [
            StoredJob(
                f"job_{id_}", f"dlv_{of}", rule, None if state is None else STATES[state], *rest
            )
            for id_, of, rule, state, *rest in jobs
        ],
        [StoredAttempt(f"job_{job}", number, OUTCOMES[n]) for job, number, n in attempts],
    )


def wanted(body: bytes) -> tuple[str, ...]:
    """The rules that this delivery has a job of."""
    slow = json.loads(body)["lane"] == SLOW_LANE
    return (*CALLING, "slow") if slow else CALLING
