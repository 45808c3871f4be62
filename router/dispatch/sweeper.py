"""What nobody told this process of is found in the store: due jobs, lost leases, gone nodes."""

from collections.abc import Callable

from router.clock import Clock
from router.dispatch.lease_plan import LeasePlan
from router.dispatch.leases import Leases
from router.dispatch.live import DispatchRules
from router.dispatch.runner import Runner
from router.model.job import ActionKind
from router.store.protocol import DispatchStore
from router.store.values import Recovered


class Sweeper:
    """Asks the store; `wake` is told of each target that has jobs, and when they are due."""

    def __init__(
        self,
        store: DispatchStore,
        live: DispatchRules,
        clock: Clock,
        *,
        plan: LeasePlan,
        leases: Leases,
        runner: Runner,
        wake: Callable[[str, int, ActionKind | None], None],
    ) -> None:
        self._store, self._live, self._clock = store, live, clock
        self._plan, self._leases, self._runner = plan, leases, runner
        self._wake = wake

    async def recover(self) -> Recovered:
        """Reclaim what nodes that run no more left running. Raises StoreUnavailable."""
        lost = await self._store.reads.lost_nodes(self._leases.node)
        if lost and self._live.others is not None:  # their jobs say what becomes of them
            await self._live.others.fetch_running()
        return await self._store.recover(
            nodes=lost,
            now=self._clock.ledger(),
            on_interrupt_dead=self._live.dead_if_interrupted(),
            died=self._runner.died,
        )

    async def sweep(self) -> None:
        """Find what is due, and make available what this node holds and does not know of."""
        number, found = self._plan.look(), await self._store.reads.targets()
        self._plan.looked(number, found)
        for target, due_at in found.items():
            self._wake(target, due_at, None)
        lost, runner = self._leases.lost, self._runner
        if len(lost):
            ends = runner.interrupted, runner.unbegun, runner.own_event
            for job in await lost.give_back(*ends):
                self._wake(job.target, self._clock.ledger(), job.kind)
