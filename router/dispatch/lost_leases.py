"""Leases of ours under which nobody runs anything: found and given back."""

from collections.abc import Callable

from router.clock import Clock
from router.model.job import Job, Settlement
from router.store.protocol import DispatchStore
from router.store.values import Acceptance

REMEMBER_S = 60.0


class LostLeases:
    """
    A verb that failed may have committed all the same: then jobs run under a lease that nobody
    holds, and no restart comes to reclaim them. Such leases are remembered and looked for.
    """

    def __init__(self, store: DispatchStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._leases: dict[str, float] = {}
        self._jobs: set[tuple[str, str]] = set()

    def lease(self, lease: str) -> None:
        """Every job under this lease, should there be any."""
        self._leases[lease] = self._clock.monotonic() + REMEMBER_S

    def job(self, job: Job) -> None:
        """This one job, whose result could not be written."""
        self._jobs.add((job.lease or "", job.id))

    def __len__(self) -> int:
        return len(self._leases) + len(self._jobs)

    async def give_back(
        self,
        interrupted: Callable[[Job], Settlement],
        unbegun: Callable[[Job], Settlement],
        own_event: Callable[[Job, Settlement], Acceptance | None],
    ) -> list[Job]:
        """
        Settle what is found, with its `own_event`; returns those jobs. What lies under a lease of
        which no answer came is `unbegun`, a job that was handed to us `interrupted`.

        Raises:
            StoreUnavailable: try again later.
        """
        found, jobs = [], set(self._jobs)
        for job in await self._store.reads.lost_leases({*self._leases, *(of for of, _ in jobs)}):
            mine = (job.lease or "", job.id) in jobs
            if mine or job.lease in self._leases:
                end = interrupted(job) if mine else unbegun(job)
                await self._store.settle(end, own_event(job, end))
                found.append(job)
        self._jobs -= jobs
        now = self._clock.monotonic()
        self._leases = {lease: until for lease, until in self._leases.items() if until > now}
        return found
