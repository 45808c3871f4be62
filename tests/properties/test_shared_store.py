"""
Two routers' stores on one PostgreSQL, any history of their verbs, answers lost: the model tells the
same story.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from operator import methodcaller
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from router.errors import StoreUnavailable
from router.model.job import Job
from router.model.store_address import DatabaseUrl
from router.store.postgres.database import Database
from router.store.postgres.store import PostgresStore
from router.store.values import LOST, Acceptance, LeaseBatch, Selector
from tests.clocks import START_MS, ManualClock
from tests.conformance.model_store import ModelStore
from tests.postgres.emptying import emptied
from tests.postgres.proxy import Relay, Side
from tests.postgres.server import Server
from tests.store_values import Maker, a_settlement

EVERYTHING = Selector(limit=10_000)
KEYS = st.sampled_from([b"a", b"b", b"c"])
TARGETS = ("erp", "chat")
READS = ("deliveries", "delivery", "jobs", "job", "counts", "targets")
CLIENT = st.integers(0, 1)
SIDE = st.sampled_from([None, "request", "connection", "answer"])
"""Which part of the exchange with the server is lost; None: nothing is."""
END = st.sampled_from(["succeeded", "retryable", "dead"])
FOR_EVER = 7 * 86_400_000


class SlowClock(ManualClock):
    """Ledger time stands still; what is bounded by the wall waits for the wall."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Recorded:
    """The model, and what it was told: so that there can be a second one with the same history."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock, self._model = clock, ModelStore(clock)
        self._history: list[tuple[str, Any, Any]] = []

    def __getattr__(self, verb: str) -> Any:
        def told(*args: Any, **kwargs: Any) -> Any:
            if verb not in READS:
                self._history.append((verb, args, kwargs))
            return getattr(self._model, verb)(*args, **kwargs)

        return told

    async def again(self) -> "Recorded":
        fresh = Recorded(self._clock)
        for verb, args, kwargs in self._history:
            await getattr(fresh, verb)(*args, **kwargs)
        return fresh


class Histories(RuleBasedStateMachine):
    """Each verb goes to one of two stores, and to the model; both at once in some order."""

    server: Server
    database: str

    @initialize(seed=st.integers(0, 1_000_000))
    def begin(self, seed: int) -> None:
        self.loop = asyncio.new_event_loop()
        self.clock = SlowClock()
        self.make = Maker(seed)
        self.model = Recorded(self.clock)
        self.leases = 0
        self.running: list[Job] = []
        self.run(self.open())

    async def open(self) -> None:
        address = self.server.address(self.database, tcp=True)
        await emptied(address)
        self.relay = Relay(address)
        self.relaying = self.relay.relaying()
        await self.relaying.__aenter__()
        address = DatabaseUrl(self.relay.address)
        self.databases = [Database(address, self.clock, 6) for _ in range(2)]
        self.stores = [PostgresStore(one) for one in self.databases]
        for store in self.stores:
            await store.start()

    def run(self, work: Any) -> Any:
        return self.loop.run_until_complete(work)

    def lose(self, marker: str | bytes, side: Side | None) -> None:
        """Lose the connection on which this is sent next."""
        if side is not None:
            self.relay.lose(marker.encode() if isinstance(marker, str) else marker, side)

    async def strays(self) -> None:
        """
        Until the server has ended every session whose connection was lost: what it was asked for
        then may come to pass a moment later.
        """
        database = self.databases[0]
        sql = (
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() "
            "AND starts_with(application_name, 'router ')"
        )
        known: set[int] = set()
        there = {0}
        while not there <= known:
            there = {pid for (pid,) in await database.ask_once(lambda tx: tx.all(sql))}
            lanes = [
                lane for of in self.databases for lane in (of.write, of.dispatch, of.read, of.node)
            ]
            known = set().union(*[lane.sessions for lane in lanes])

    def an_acceptance(self, keys: list[bytes], target: str) -> Acceptance:
        """Its body says which it is."""
        self.number = getattr(self, "number", 0) + 1
        body = b"body %d." % self.number
        job = self.make.job(target=target, due_at=self.clock.now())
        until = START_MS + FOR_EVER
        return self.make.acceptance(*keys, jobs=[job], keys_until=until, body=body)

    @rule(
        client=CLIENT,
        keys=st.lists(KEYS, max_size=2),
        where=st.sampled_from(TARGETS),
        side=SIDE,
        again=st.booleans(),
    )
    def accept(
        self, client: int, keys: list[bytes], where: str, side: Side | None, again: bool
    ) -> None:
        """`again`: somebody asks once more, at the other store, what the first may have done."""
        one = self.an_acceptance(keys, where)
        self.lose(one.delivery.body, side)
        expected = self.run(self.model.accept(one))
        assert self.run(self.stores[client].accept(one)) == expected
        if again:
            expected = self.run(self.model.accept(one))
            assert self.run(self.stores[1 - client].accept(one)) == expected

    @rule(keys=st.lists(KEYS, min_size=1, max_size=2), where=st.sampled_from(TARGETS))
    def accept_at_both(self, keys: list[bytes], where: str) -> None:
        """Copies of one delivery, at the same moment."""
        copies = [self.an_acceptance(keys, where) for _ in self.stores]
        self.at_once([methodcaller("accept", one) for one in copies])

    @rule(slots=st.integers(1, 3), client=CLIENT, side=SIDE)
    def lease(self, slots: int, client: int, side: Side | None) -> None:
        """Whether one whose answer was lost has happened is seen by its leases."""
        self.leases += 1
        lease = f"{client + 1}/{self.leases}"
        asked: dict[str, Any] = {"lease": lease, "now": self.clock.now()}
        self.lose(lease, side)
        wanted = dict.fromkeys(TARGETS, slots)
        store = self.stores[client]
        try:
            reported: LeaseBatch | None = self.run(store.lease(wanted, **asked))
        except StoreUnavailable:
            reported = None
            self.run(self.strays())
            if not self.run(store.reads.lost_leases([lease])):
                return
        expected = self.run(self.model.lease(wanted, **asked))
        assert reported in (None, expected)
        self.running += [one.job for one in expected.jobs]

    @rule(slots=st.integers(1, 2))
    def lease_at_both(self, slots: int) -> None:
        """Nobody gets what the other one gets."""
        self.leases += 2
        leases = [f"{client + 1}/{self.leases - client}" for client in (0, 1)]
        batches = self.run(self._leased(leases, slots))
        taken = [one.job for batch in batches for one in batch.jobs]
        assert len({job.id for job in taken}) == len(taken)
        for batch, lease in zip(batches, leases, strict=True):
            if batch.jobs:
                ids = [one.job.id for one in batch.jobs]
                named = {t: [i for i in ids if self.target(i) == t] for t in TARGETS}
                slots_of = {target: len(named[target]) for target in TARGETS}
                expected = self.run(
                    self.model.lease(slots_of, lease=lease, now=self.clock.now(), fresh=named)
                )
                assert [one.job for one in batch.jobs] == [one.job for one in expected.jobs]
        self.running += taken

    async def _leased(self, leases: list[str], slots: int) -> list[LeaseBatch]:
        wanted = dict.fromkeys(TARGETS, slots)
        now = self.clock.now()
        return await asyncio.gather(
            *[
                store.lease(wanted, lease=lease, now=now)
                for store, lease in zip(self.stores, leases, strict=True)
            ]
        )

    def target(self, job: str) -> str:
        found = self.run(self.model.job(job))
        assert found is not None
        return str(found.target)

    @rule(client=CLIENT, pick=st.integers(0, 1_000), state=END, late=st.booleans(), side=SIDE)
    def settle(self, client: int, pick: int, state: Any, late: bool, side: Side | None) -> None:
        """`late`: under a lease that is not the job's, as of a router that was declared gone."""
        if not self.running:
            return
        job = self.running[pick % len(self.running)]
        due = self.clock.now() if state == "retryable" else None
        end = a_settlement(job, state, due_at=due, **({"lease": "9/9"} if late else {}))
        self.lose(end.lease, side)
        expected = [LOST] if late else [self.run(self.model.settle(end)) for _ in "ab"]
        assert self.run(self.stores[client].settle(end)) in expected

    @rule(pick=st.integers(0, 1_000), states=st.tuples(END, END))
    def settle_at_both(self, pick: int, states: tuple[Any, Any]) -> None:
        """One job, two opinions of how it ended: whoever is first decides."""
        if not self.running:
            return
        job, due = self.running[pick % len(self.running)], self.clock.now()
        ends = [
            a_settlement(job, one, due_at=due if one == "retryable" else None) for one in states
        ]
        self.at_once([methodcaller("settle", end) for end in ends])

    @rule(client=CLIENT, node=st.sampled_from(["1", "2"]))
    def take_over(self, client: int, node: str) -> None:
        """What a node has leased is made available; it may be both who do it."""
        nodes, now = [node], self.clock.now()
        asked: dict[str, Any] = {"nodes": nodes, "now": now, "on_interrupt_dead": frozenset()}
        expected = self.run(self.model.recover(**asked))
        assert self.run(self.stores[client].recover(**asked)) == expected

    @rule(client=CLIENT, where=st.sampled_from(TARGETS), pause=st.booleans())
    def pause_or_resume(self, client: int, where: str, pause: bool) -> None:
        found = []
        for one in (self.model, self.stores[client]):
            asked: Any = one
            if pause:
                work = asked.pause_target(where, reason="", by="ann", at=self.clock.ledger())
            else:
                work = asked.resume_target(where, now=self.clock.ledger())
            found.append(self.run(work))
        assert found[0] == found[1]

    @rule(client=CLIENT, cancel=st.booleans())
    def cancel_or_revive(self, client: int, cancel: bool) -> None:
        found = []
        for one in (self.model, self.stores[client]):
            asked: Any = one
            if cancel:
                work = asked.cancel(Selector(rule="paid"), reason="x", now=self.clock.now())
            else:
                work = asked.revive(Selector(rule="paid"), now=self.clock.now())
            found.append(self.run(work))
        assert found[0] == found[1]

    def at_once(self, verbs: Sequence[Callable[[Any], Awaitable[Any]]]) -> None:
        """Each at a store of its own: what both say is what one order of them would have said."""

        async def asked() -> list[Any]:
            return await asyncio.gather(
                *[verb(store) for verb, store in zip(verbs, self.stores, strict=True)]
            )

        async def told(model: Any, order: tuple[int, ...]) -> list[Any]:
            answers = {place: await verbs[place](model) for place in order}
            return [answers[place] for place in sorted(answers)]

        reported, expected = self.run(asked()), []
        shown, seen = self.visible(self.stores[0]), []
        for order in ((0, 1), (1, 0)):
            model = self.run(self.model.again())
            expected.append(self.run(told(model, order)))
            if expected[-1] == reported:
                seen.append(self.visible(model))
                if seen[-1] == shown:
                    self.model = model
                    return
        raise AssertionError((reported, expected, shown, seen))

    def visible(self, store: Any) -> list[Any]:
        """All that a store shows, when each has written the copies that it has counted."""
        for one in self.stores:
            self.run(one.reads.deliveries(EVERYTHING))
        reads = store if isinstance(store, Recorded) else store.reads
        return [
            self.run(reads.deliveries(EVERYTHING)),
            self.run(reads.jobs(EVERYTHING)),
            self.run(reads.counts()),
            self.run(reads.targets()),
        ]

    @invariant()
    def all_tell_the_same(self) -> None:
        expected = self.visible(self.model)
        for store in self.stores:
            assert self.visible(store) == expected

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            try:
                self.all_records_are_the_same()
            finally:
                self.run(self.close())
                self.loop.close()

    def all_records_are_the_same(self) -> None:
        """With the attempts of every job."""
        for one in self.run(self.model.deliveries(EVERYTHING)):
            expected = self.run(self.model.delivery(one.id))
            assert self.run(self.stores[0].reads.delivery(one.id)) == expected

    async def close(self) -> None:
        for store in getattr(self, "stores", ()):
            await store.close()
        await self.relaying.__aexit__(None, None, None)


@pytest.mark.parametrize(
    ("histories", "steps"),
    [(3, 15), pytest.param(20, 30, marks=[pytest.mark.long, pytest.mark.timeout(600)])],
)
@pytest.mark.long
def test_two_stores_of_one_database_and_the_model(
    postgres: str, postgres_server: Server, worker_id: str, histories: int, steps: int
) -> None:
    class Here(Histories):
        server, database = postgres_server, worker_id

    run_state_machine_as_test(
        Here,
        settings=settings(
            max_examples=histories,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],  # what others do at that moment is not done again
            suppress_health_check=list(HealthCheck),
        ),
    )
