"""Runs in a store, for tests of chains and groups."""

from typing import Any

from router.model.job import Group, Job, JobState, NewJob, Predecessor, Turn
from router.store.protocol import Store
from router.store.values import Accepted, Selector, Settled
from tests.clocks import START_MS
from tests.store_values import Maker, a_settlement

DATABASES = ("sqlite", "memory", "postgres")
"""The kinds of store that are none of the tests' own."""

A = (Predecessor("a"),)
CHAIN = (("a", ()), ("b", A), ("c", (Predecessor("b"),)))


class Rig:
    """A store with runs in it; its jobs are known by the names of their actions."""

    def __init__(self, store: Store, make: Maker) -> None:
        self.store, self.make = store, make
        self.deliveries: list[str] = []
        self.leases = 0

    def jobs_of(self, shape: Any, group: Group | None, **given: Any) -> list[NewJob]:
        turn = group and Turn("deploy\x1fx", "x", group)
        return [
            self.make.job(action=action, after=after, run="r", turn=turn, rule="deploy", **given)
            for action, after in shape
        ]

    async def accept(self, shape: Any = (("a", ()),), group: Group | None = None) -> Accepted:
        acceptance = self.make.acceptance(jobs=self.jobs_of(shape, group))
        receipt = await self.store.accept(acceptance)
        assert isinstance(receipt, Accepted)
        self.deliveries.append(receipt.delivery)
        return receipt

    async def jobs(self, run: int = -1) -> dict[str, Job]:
        record = await self.store.reads.delivery(self.deliveries[run])
        assert record is not None
        return {job.action: job for job in record.jobs}

    async def states(self, run: int = -1) -> dict[str, tuple[JobState, str | None]]:
        return {name: (job.state, job.reason) for name, job in (await self.jobs(run)).items()}

    async def state(self, run: int, action: str = "a") -> JobState:
        return (await self.jobs(run))[action].state

    async def begin(self) -> list[Job]:
        """Lease all that is due."""
        self.leases += 1
        now = START_MS + 1_000 * self.leases
        batch = await self.store.lease({"erp": 100}, lease=f"b.{self.leases}", now=now)
        return [leased.job for leased in batch.jobs]

    async def run(self, state: JobState = "succeeded", **given: Any) -> Settled:
        """Lease the one job that is due, and end it so."""
        (job,) = await self.begin()
        return await self.store.settle(a_settlement(job, state, **given))


async def replayed(rig: Rig, *actions: str) -> dict[str, Job]:
    old = await rig.jobs()
    jobs = [
        rig.make.job(action=name, after=old[name].after, replay_of=old[name].id, rule="deploy")
        for name in actions
    ]
    await rig.store.add(rig.deliveries[-1], jobs)
    return {job.action: job for job in await rig.store.reads.jobs(Selector()) if job.replay_of}
