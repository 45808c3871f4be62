"""
Any history of runs with an order or a turn: the store in a file and the plain model agree, and
the promises hold in what they show. The numbers are those of the list of invariants.
"""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from router.model.job import ENDED, Group, Job, NewJob, Predecessor, Turn
from router.store.values import Selector
from tests.chance import examples
from tests.properties.test_store import EVERYTHING, TARGETS, Histories
from tests.store_values import GENERATION

Shape = tuple[tuple[str, tuple[Predecessor, ...]], ...]
A, B = Predecessor("a"), Predecessor("b")
SHAPES: tuple[Shape, ...] = (
    (("a", ()),),
    (("a", ()), ("b", ())),
    (("a", ()), ("b", (A,))),
    (("c", (B,)), ("b", (A,)), ("a", ())),
    (("a", ()), ("b", (Predecessor("a", "dead"),)), ("c", (Predecessor("a", "ended"),))),
    (("a", ()), ("b", ()), ("c", (A, B))),
    (("a", ()), ("b", (A,)), ("c", (Predecessor("b", "dead"), A))),
)
NAMES = frozenset({"a", "b", "c"})
GROUPS = (
    Group(),
    Group(2),
    Group(1, "queue", "halt"),
    Group(1, "latest"),
    Group(2, "latest"),
    Group(1, "drop"),
)


class Runs(Histories):
    """Everything `Histories` does, and runs on top of it."""

    @rule(
        shape=st.sampled_from(SHAPES),
        value=st.sampled_from("xy"),
        group=st.sampled_from((None, *GROUPS)),
        rule_=st.sampled_from(("paid", "refund")),
        paused=st.sampled_from((False, False, False, True)),
    )
    def accept_run(
        self, shape: Shape, value: str, group: Group | None, rule_: str, paused: bool
    ) -> None:
        turn = Turn(f"{rule_}\x1f{value}", value, group) if group else None
        if turn is None and not any(after for _, after in shape):
            return
        entry = self.make.event(0)
        jobs = [
            self.make.job(
                rule=rule_,
                action=action,
                target=TARGETS[place % 2],
                due_at=self.clock.now(),
                state="waiting" if paused else "available",
                after=after,
                run="r",
                turn=turn,
            )
            for place, (action, after) in enumerate(shape)
        ]
        self.both("accept", self.make.acceptance(events=[entry], jobs=jobs))

    @rule(counts=st.lists(st.integers(0, 3), min_size=3, max_size=3))
    def lease_runs(self, counts: list[int]) -> None:
        self.lease(counts, {}, 0)

    @rule(pick=st.integers(0, 1_000), state=st.sampled_from(["dead", "retryable", "cancelled"]))
    def fail(self, pick: int, state: Any) -> None:
        self.settle(pick, state, True, False)

    @rule(group=st.sampled_from((None, *GROUPS)), rule_=st.sampled_from(("paid", "refund")))
    def regroup(self, group: Group | None, rule_: str) -> None:
        self.both("regroup", {rule_: group}, generation=GENERATION, now=self.clock.now())

    @rule(pick=st.integers(0, 1_000), verb=st.sampled_from(("cancel", "revive")))
    def by_id(self, pick: int, verb: str) -> None:
        jobs = self.all_jobs()
        if jobs:
            chosen = Selector(ids=(jobs[pick % len(jobs)].id,))
            given = {"reason": "x"} if verb == "cancel" else {}
            self.both(verb, chosen, now=self.clock.now(), **given)

    @rule(pick=st.integers(0, 1_000), which=st.sets(st.integers(0, 4)))
    def replay_some(self, pick: int, which: set[int]) -> None:
        stored = self.run(self.model.deliveries(EVERYTHING))
        if not stored:
            return
        delivery = stored[pick % len(stored)].id
        jobs = [job for job in self.all_jobs() if job.delivery == delivery]
        again = [self.again(job) for place, job in enumerate(jobs) if place in which]
        if again:
            self.both("add", delivery, again)

    def again(self, job: Job) -> NewJob:
        return self.make.job(
            rule=job.rule,
            action=job.action,
            target=job.target,
            due_at=self.clock.now(),
            replay_of=job.id,
            after=job.after,
        )

    def all_jobs(self) -> tuple[Job, ...]:
        found: tuple[Job, ...] = self.run(self.model.jobs(EVERYTHING))
        return found

    @invariant()
    def results_are_the_same(self) -> None:
        for job in self.all_jobs():
            if job.after:
                self.both("results", job.id, NAMES)

    @invariant()
    def i17_nothing_waits_for_nothing(self) -> None:
        """A waiting job says what it waits for, and no other says anything."""
        for job in self.run(self.store.reads.jobs(EVERYTHING)):
            assert bool(job.waits_for) == (job.state == "waiting"), job

    @invariant()
    def i17_what_has_ended_stays_ended(self) -> None:
        for job in self.run(self.store.reads.jobs(EVERYTHING)):
            assert (job.ended_at is not None) == (job.state in ENDED), job


Runs.TestCase.settings = settings(
    max_examples=examples(40),
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
test_runs = Runs.TestCase
