"""Rules of other nodes: generations that jobs name, fetched from the ledger."""

import asyncio
from collections.abc import Callable, Sequence

from router.clock import Clock
from router.config import render_text
from router.errors import ConfigError, RouterError, StoreUnavailable
from router.log import Log
from router.model.job import Job
from router.rules.live import LiveRef, LiveRuleset
from router.store.reads import StoreReads
from router.store.values import Generation, Selector

AGAIN_S = 60.0
"""After so long a generation that could not be compiled here is tried again."""
RUNNING_MAX = 10_000
"""Running jobs looked at: more than the slots of any fleet."""

Compile = Callable[[Generation], LiveRuleset]
"""With this node's secrets. Raises RouterError: it cannot be run here; the text says why."""


class FetchedRules:
    """
    Fetches the generation that a job names when this node does not have its action, so that any
    node runs any job. What does not compile here, or lacks a secret, is for other nodes to run.
    """

    def __init__(
        self, live: LiveRef, reads: StoreReads, compile_: Compile, *, clock: Clock, log: Log
    ) -> None:
        self._live, self._reads, self._compile = live, reads, compile_
        self._clock, self._log = clock, log
        self._failed: dict[str, tuple[float, str]] = {}  # when to try again, and why
        self._turn = asyncio.Lock()

    def knows(self, job: Job) -> bool:
        """Whether the job may begin here."""
        return self._live.knows(job)

    async def fetch(self, jobs: Sequence[Job]) -> None:
        """Adopt the generations of those jobs that may not begin here yet; never raises."""
        if all(map(self._live.knows, jobs)):
            return
        async with self._turn:
            wanted = {job.generation: job for job in jobs if not self._live.knows(job)}
            for id_ in sorted(wanted):
                if self._clock.monotonic() >= self._failed.get(id_, (0.0, ""))[0]:
                    await self._adopt(wanted[id_])

    async def fetch_running(self) -> None:
        """The same of all jobs that run anywhere. Raises StoreUnavailable."""
        running = Selector(state="running", limit=RUNNING_MAX)
        await self.fetch(await self._reads.jobs(running))

    async def _adopt(self, job: Job) -> None:
        id_ = job.generation
        try:
            kept = await self._reads.generation(id_)
            if kept is None:
                self._give_up(id_, "it is not in the store")
                return
            adopted = await asyncio.to_thread(self._compile, kept)
        except StoreUnavailable:
            return  # that says nothing of it
        except ConfigError as error:
            self._give_up(id_, render_text(error.diagnostics))
        except RouterError as error:
            self._give_up(id_, str(error))
        else:
            self._live.adopt(adopted)
            if (job.rule, job.action) not in adopted.actions:
                self._give_up(id_, f"it has no action {job.rule}/{job.action}")
                return
            self._failed.pop(id_, None)
            self._log.info("jobs of another node's rules run here", generation=id_)

    def _give_up(self, id_: str, reason: str) -> None:
        """For a while: its jobs are left to other nodes. That is said once."""
        said = self._failed.get(id_, (0.0, ""))[1]
        self._failed[id_] = self._clock.monotonic() + AGAIN_S, reason
        if reason == said:
            return
        self._log.warning(
            "jobs of another node's rules cannot run here and are left to other nodes",
            generation=id_,
            reason=reason,
        )
