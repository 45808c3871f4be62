"""Any history of verbs: the store in a file and the model in dicts tell the same story."""

import asyncio
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from router.model.job import ActionKind, Attempt, Job
from router.store.protocol import Store
from router.store.removal import EndedBefore, Retain
from router.store.sqlite.store import open_store
from router.store.values import Acceptance, LeaseBatch, Selector
from tests.clocks import START_MS, ManualClock
from tests.conformance.model_store import ModelStore
from tests.store_values import Maker, a_settlement

EVERYTHING = Selector(limit=10_000)
KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e"])
EVENT_KEYS = st.lists(KEYS, max_size=2)
TARGETS = ("erp", "chat", "log")
RULES = ("paid", "refund")
GENERATIONS = ("g1", "g2")
MINUTE = 60_000
AGES = st.tuples(*[st.integers(0, 60)] * 3)


async def pruned(store: Store, retain: Retain, now: int) -> tuple[int, int]:
    """Deliveries and keys gone when nothing is left to remove: one step may be only a part."""
    deliveries = keys = 0
    while True:
        step = await store.prune(retain, now=now)
        if not step.deliveries and not step.keys:
            return deliveries, keys
        deliveries, keys = deliveries + step.deliveries, keys + step.keys


class Histories(RuleBasedStateMachine):
    """Every verb goes to both; every answer and everything visible afterwards is compared."""

    @initialize(seed=st.integers(0, 1_000_000))
    def begin(self, seed: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock()
        self.make = Maker(seed)
        self.model: Store = ModelStore(self.clock)
        self.store: Store = self.run(self.open())
        self.running: list[Job] = []
        self.leases = 0

    async def open(self) -> Store:
        return await open_store(str(Path(self.folder.name) / "router.db"), clock=self.clock)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.loop.run_until_complete(work)

    def both(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        """Ask both; the answers must be the same."""
        of = self.store if hasattr(self.store, verb) else self.store.reads

        async def asked(store: Any) -> Any:
            return await getattr(store, verb)(*args, **kwargs)

        reported, expected = self.run(asked(of)), self.run(asked(self.model))
        assert reported == expected, (reported, expected)
        return reported

    def an_acceptance(self, events: list[list[bytes]], target: str, rule_: str) -> Acceptance:
        until = self.clock.now() + 30 * MINUTE
        entries = [self.make.event(i, *keys) for i, keys in enumerate(events)]
        jobs = [
            self.make.job(
                event_index=e.index, target=target, rule=rule_, due_at=self.clock.now() + e.index
            )
            for e in entries
        ]
        return self.make.acceptance(
            events=entries, jobs=jobs, keys_until=until, event_count=len(events)
        )

    @rule(
        events=st.lists(EVENT_KEYS, max_size=3),
        where=st.sampled_from(TARGETS),
        rule_=st.sampled_from(RULES),
    )
    def accept(self, events: list[list[bytes]], where: str, rule_: str) -> None:
        self.both("accept", self.an_acceptance(events, where, rule_))

    @rule(batch=st.lists(st.lists(EVENT_KEYS, min_size=1, max_size=3), min_size=2, max_size=5))
    def accept_together(self, batch: list[list[list[bytes]]]) -> None:
        accepted = [self.an_acceptance(events, "erp", "paid") for events in batch]

        async def at_once() -> list[Any]:
            return await asyncio.gather(*[self.store.accept(one) for one in accepted])

        reported = self.run(at_once())
        assert reported == [self.run(self.model.accept(one)) for one in accepted]

    @rule(batch=st.lists(st.lists(EVENT_KEYS, max_size=3), max_size=5), again=st.booleans())
    def accept_a_group(self, batch: list[list[list[bytes]]], again: bool) -> None:
        """`again`: the first comes twice, as after a call of unknown outcome."""
        group = [self.an_acceptance(events, "erp", "refund") for events in batch]
        self.both("accept_all", group + group[:1] if again else group)

    @rule(paused=st.frozensets(st.sampled_from(RULES)), generation=st.sampled_from(GENERATIONS))
    def hold(self, paused: frozenset[str], generation: str) -> None:
        self.both("hold", paused, generation=generation)

    @rule(where=st.sampled_from(TARGETS))
    def pause_target(self, where: str) -> None:
        self.both("pause_target", where, reason="", by="ann", at=self.clock.ledger())

    @rule(where=st.sampled_from(TARGETS))
    def resume_target(self, where: str) -> None:
        self.both("resume_target", where, now=self.clock.ledger())

    @rule(
        generation=st.sampled_from(GENERATIONS),
        by=st.sampled_from(("n1", "n2")),
    )
    def put_in_force(self, generation: str, by: str) -> None:
        self.both("put_in_force", generation, by=by, at=self.clock.now())

    @rule(keys=EVENT_KEYS)
    def hand_over(self, keys: list[bytes]) -> None:
        self.leases += 1
        job = self.make.job(state="running", lease=f"b.{self.leases}")
        acceptance = self.make.acceptance(*keys, jobs=[job])
        self.both("accept", acceptance)
        begun = self.run(self.model.job(job.id))
        self.running += [begun] if begun else []

    @rule(
        counts=st.lists(st.integers(0, 3), min_size=3, max_size=3),
        kinds=st.dictionaries(st.sampled_from(TARGETS), st.sampled_from(["http", "shell"])),
        ahead=st.integers(0, 5),
    )
    def lease(self, counts: list[int], kinds: dict[str, ActionKind], ahead: int) -> None:
        self.leases += 1
        slots = dict(zip(TARGETS, counts, strict=True))
        batch: LeaseBatch = self.both(
            "lease", slots, lease=f"b.{self.leases}", now=self.clock.now() + ahead, kinds=kinds
        )
        self.running += [one.job for one in batch.jobs]

    @rule(
        pick=st.integers(0, 1_000),
        state=st.sampled_from(["succeeded", "retryable", "dead", "available"]),
        charged=st.booleans(),
        late=st.booleans(),
        own_event=st.booleans(),
    )
    def settle(
        self, pick: int, state: Any, charged: bool, late: bool, own_event: bool = False
    ) -> None:
        if not self.running:
            return
        job = self.running[pick % len(self.running)]
        due = self.clock.now() + pick if state in ("retryable", "available") else None
        given = {"lease": "b.late"} if late else {}
        own = self.an_acceptance([[b"own"]], "chat", "paid") if own_event else None
        self.both("settle", a_settlement(job, state, due_at=due, charged=charged, **given), own)

    @rule()
    def settle_all(self) -> None:
        settlements = [a_settlement(job) for job in self.running]

        async def at_once() -> list[bool]:
            return await asyncio.gather(*[self.store.settle(one) for one in settlements])

        reported = self.run(at_once())
        assert reported == [self.run(self.model.settle(one)) for one in settlements]
        self.running = []

    @rule(
        states=st.lists(st.sampled_from(["succeeded", "retryable", "dead"]), max_size=6),
        late=st.integers(0, 6),
        own_event=st.booleans(),
    )
    def settle_a_group(self, states: list[Any], late: int, own_event: bool) -> None:
        """The lease of one, or of none, has gone to another; the first end may be reported."""
        jobs, due = [*self.running, *self.running[:1]], self.clock.now()
        group = [
            (
                a_settlement(job, state, due_at=due, **({"lease": "b.late"} if i == late else {})),
                self.an_acceptance([[b"own"]], "chat", "paid") if own_event and not i else None,
            )
            for i, (job, state) in enumerate(zip(jobs, states, strict=False))
        ]
        self.both("settle_all", group)

    @rule(dead=st.booleans())
    def crash(self, dead: bool) -> None:
        self.run(self.store.close())
        self.store = self.run(self.open())
        doomed = frozenset({("refund", "erp")}) if dead else frozenset()
        reported: dict[str, Acceptance] = {}

        def died(job: Job, attempt: Attempt) -> Acceptance:
            """The same of the same job, whoever asks."""
            assert (attempt.job, attempt.outcome) == (job.id, "interrupted")
            if job.id not in reported:
                reported[job.id] = self.an_acceptance([[job.id.encode()]], "chat", "paid")
            return reported[job.id]

        self.both(
            "recover",
            nodes=self.run(self.store.reads.lost_nodes("next")),
            now=self.clock.now(),
            on_interrupt_dead=doomed,
            died=died,
        )

    @rule(rule_=st.sampled_from([None, *RULES]), limit=st.sampled_from([None, 2]))
    def cancel(self, rule_: str | None, limit: int | None) -> None:
        selector = Selector(rule=rule_, limit=limit, until=self.clock.now() - 10 * MINUTE)
        self.both("cancel", selector, reason="x", now=self.clock.now())

    @rule(rule_=st.sampled_from([None, *RULES]))
    def revive(self, rule_: str | None) -> None:
        self.both("revive", Selector(rule=rule_), now=self.clock.now())

    @rule(pick=st.integers(0, 1_000))
    def replay(self, pick: int) -> None:
        stored = self.run(self.model.deliveries(EVERYTHING))
        if stored:
            job = self.make.job(rule="refund", generation="replayed", due_at=self.clock.now())
            self.both("add", stored[pick % len(stored)].id, [job])

    @rule(minutes=st.integers(1, 40))
    def let_time_pass(self, minutes: int) -> None:
        self.run(self.clock.advance(minutes * 60))

    @rule(ages=AGES, cap=st.one_of(st.none(), st.integers(0, 60)), own=st.none() | AGES)
    def prune(
        self, ages: tuple[int, int, int], cap: int | None, own: tuple[int, int, int] | None
    ) -> None:
        now = self.clock.now()
        times = {} if own is None else {"shop": EndedBefore(*[now - age * MINUTE for age in own])}
        retain = Retain(
            *[now - age * MINUTE for age in ages],
            finished_before=None if cap is None else START_MS + cap,
            endpoints=times,
        )
        reported = self.run(pruned(self.store, retain, now))
        assert reported == self.run(pruned(self.model, retain, now))

    @invariant()
    def they_tell_the_same(self) -> None:
        for summary in self.both("deliveries", EVERYTHING):
            self.both("delivery", summary.id)
        self.both("jobs", EVERYTHING)
        self.both("counts")
        self.both("targets")
        self.both("in_force")
        self.both("recall", "paused/")

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            self.run(self.store.close())
            self.loop.close()
            self.folder.cleanup()


Histories.TestCase.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
test_histories = Histories.TestCase
