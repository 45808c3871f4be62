"""
Chains and concurrency groups under a virtual clock and a seeded scheduler, with crashes, lost
leases, a failing store and limits that change. The numbers are those of the list of invariants.
"""

import random
from typing import Any

import msgspec
import pytest

from router.dispatch import Dispatcher
from router.dispatch.protocol import Results
from router.kinds.kind import ActionCall
from router.model.job import ENDED, Group, Job, Outcome, Predecessor, Skip, Turn, Work
from tests.conformance.model_runs import ModelRun
from tests.sim.loop import simulate
from tests.sim.makers import a_new_job
from tests.sim.seeds import BATCHES, named
from tests.sim.world import TARGETS, View, World, live_through

pytestmark = pytest.mark.long


Shape = tuple[tuple[str, tuple[Predecessor, ...]], ...]
A, B = Predecessor("a"), Predecessor("b")
SHAPES: tuple[Shape, ...] = (
    (("a", ()),),
    (("a", ()), ("b", (A,))),
    (("c", (B,)), ("b", (A,)), ("a", ())),
    (("a", ()), ("b", (Predecessor("a", "dead"),)), ("c", (Predecessor("a", "ended"),))),
    (("a", ()), ("b", ()), ("c", (A, B))),
)
GROUPS = {
    "strict": Group(),
    "wide": Group(2),
    "latest": Group(1, "latest"),
    "drop": Group(1, "drop"),
}
WIDEST = 3


class RunsWorld(World):
    """Deliveries of one run each; what dispatch does with them is checked as jobs begin."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng)
        self.begun: list[str] = []

    async def accept(self, dispatcher: Dispatcher, view: View) -> None:
        now, rng = self.clock.now(), self.rng
        shape, rule = rng.choice(SHAPES), rng.choice((*GROUPS, "alone"))
        group = GROUPS.get(rule)
        turn = group and Turn(f"{rule}/{(value := rng.choice('xy'))}", value, group)
        linked = turn is not None or any(after for _, after in shape)
        new = []
        for action, after in shape:
            self.jobs += 1
            target, kind = rng.choice(TARGETS)
            free = turn is None and not after
            new.append(
                a_new_job(
                    f"job_{self.jobs}",
                    rule=rule,
                    action=action,
                    target=target,
                    kind=kind,
                    due_at=now,
                    event=rng.choice(("ok", "ok", "ok", "unrenderable", "unwanted")),
                    lease=dispatcher.reserve(target, kind) if free else None,
                    after=after,
                    turn=turn,
                    run="r" if linked else None,
                )
            )
        await self.commit(dispatcher, view, new, now)
        if rng.random() < 0.05:  # a reload changes a limit
            group = Group(rng.randint(1, WIDEST))
            self.ledger.runs.regroup({"wide": group}, self.clock.now())

    def an_outcome(self, job: Job) -> Outcome:
        outcome = super().an_outcome(job)
        return msgspec.structs.replace(outcome, result={"by": job.id})

    def render(self, work: Work, results: Results) -> ActionCall | Skip:
        job = work.job
        for member in self.members(job):
            seen = results.get(member.action, {}).get("by")
            wants = {need.action for need in job.after}
            if member.action in wants and seen != self.last_result(member):
                self.wrong(job, f"I26: reads {seen} as the result of {member.id}")
        if job.event == "unwanted":
            return Skip("when")
        return super().render(work, results)

    def last_result(self, job: Job) -> str | None:
        """What the job's last attempt has left, its own id, if it got as far as that."""
        mine = [a for a in self.ledger.attempts if a.job == job.id]
        ran = [a for a in mine if a.outcome not in ("interrupted", "skipped")]
        left: str | None = ran[-1].result.get("by") if ran else None
        return left

    def begins(self, job: Job) -> None:
        super().begins(job)
        self._in_order(job)
        run = self.ledger.runs.of(job.id)
        if run is not None and run.turn is not None:
            self._in_turn(job, run, run.turn)
        self.begun.append(job.id)

    def _in_order(self, job: Job) -> None:
        states = {member.action: member.state for member in self.members(job)}
        for need in job.after:
            state = states[need.action]
            if state not in ENDED or need.wants not in (state, "ended"):
                self.wrong(job, f"I20: begins though {need.action} is {state}")

    def _in_turn(self, job: Job, run: ModelRun, turn: Turn) -> None:
        runs = self.ledger.runs
        others = [r for r in runs.runs if r.turn and r.turn.key == turn.key and r is not run]
        busy = [r for r in others if self.running & set(r.jobs)]
        limit = WIDEST if job.rule == "wide" else GROUPS[job.rule].limit
        if len(busy) >= limit:
            self.wrong(job, f"I23: begins beside {len(busy)} other runs of its key")
        before = [r for r in runs.runs[: runs.runs.index(run)] if r in others]
        if job.rule == "strict" and not all(self.has_ended(r) for r in before):
            self.wrong(job, "I23: overtakes an older run of its key")

    def has_ended(self, run: ModelRun) -> bool:
        return all(job.state in ENDED for job in self.ledger.runs.members(run))

    def members(self, job: Job) -> list[Job]:
        run = self.ledger.runs.of(job.id)
        return [] if run is None else self.ledger.runs.members(run)

    def wrong(self, job: Job, text: str) -> None:
        self.ledger.wrong.append(f"{job.id} {text}")


async def _lived(rng: random.Random) -> RunsWorld:
    world = RunsWorld(rng)
    await live_through(world)
    return world


def lived(seed: int) -> RunsWorld:
    rng = random.Random(seed)
    world: RunsWorld = simulate(_lived(rng), rng)
    return world


def checked(seed: int) -> None:
    """Live under this seed, and hold the promises against it."""
    world = lived(seed)
    ledger = world.ledger
    assert ledger.wrong == []
    for job in ledger.records.values():
        assert len(ledger.ends[job.id]) == 1, f"I17: {job.id} ended {ledger.ends[job.id]}"
        _ends_rightly(world, job)
    for run in ledger.runs.runs:
        assert run.place in (None, "gone"), "I23: a run kept its turn"


def _ends_rightly(world: RunsWorld, job: Job) -> None:
    """A cancelled job says why, and what it says is so."""
    word, _, name = (job.reason or "").partition(": ")
    states: dict[str, Any] = {m.action: m.state for m in world.members(job)}
    if job.state != "cancelled":
        assert job.reason is None or job.state == "dead"
    elif word == "predecessor_dead":
        assert states[name] == "dead", job
    elif word == "predecessor_cancelled":
        assert states[name] == "cancelled", job
    elif word == "not_needed":
        assert states[name] in ("succeeded", "cancelled"), job
    elif word == "when":
        assert job.event == "unwanted"
    else:
        assert (word, job.rule) in (("superseded", "latest"), ("busy", "drop")), job
    if job.reason == "busy":
        assert job.id not in world.begun


@BATCHES
def test_i17_i20_i23_i26_runs_keep_their_order_and_their_turns(seeds: list[int]) -> None:
    for seed in seeds:
        with named(seed):
            checked(seed)


def test_the_same_seed_gives_the_same_run() -> None:
    assert lived(3).begun == lived(3).begun


def test_every_way_to_end_is_met() -> None:
    """The seeds of a short run reach every rule of the table."""
    reasons: set[str] = set()
    for seed in range(12):
        jobs = lived(seed).ledger.records.values()
        reasons |= {(job.reason or "").partition(":")[0] for job in jobs if job.state in ENDED}
    assert reasons >= {
        "superseded", "busy", "predecessor_dead", "predecessor_cancelled", "not_needed", "when",
    }  # fmt: skip
