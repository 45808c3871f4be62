"""What the model has one of for all nodes: the rules in force, and what goes by them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from router.errors import PublishedMeanwhile
from router.model.job import Group, Job
from router.store.values import Generation, Publication
from tests.conformance.model_lists import DUE, ModelLists


class ModelForAll(ModelLists):
    """Generations, the one in force, and what waits because of it."""

    async def keep_generation(self, generation: Generation) -> None:
        self._generations.setdefault(generation.id, generation)

    async def publish(
        self, generation: str, *, by: str, at: int, after: int | None = None
    ) -> Publication:
        newest = self._published[-1].seq if self._published else 0
        if after not in (None, newest):
            raise PublishedMeanwhile(self._published[-1].by if self._published else "nobody")
        of_this = [one.generation for one in self._published if one.by == by]
        if after is not None or of_this[-1:] != [generation]:
            self._published.append(Publication(newest + 1, generation, by, at))
        return self._published[-1]

    def _holds(self, generation: str) -> bool:
        return not self._published or self._published[-1].generation == generation

    async def hold(
        self,
        paused: frozenset[str],
        targets: frozenset[str] = frozenset(),
        *,
        generation: str,
        now: int = 0,
    ) -> int:
        changed = 0
        for what, names in (("paused", paused), ("target", targets)):
            for job in list(self._jobs.values()) if self._holds(generation) else ():
                name = job.rule if what == "paused" else job.target
                held = what in self.runs.waits.get(job.id, ())
                if job.state in (*DUE, "waiting") and name in names and not held:
                    self.runs.hold(job.id, what)
                    changed += 1
                elif held and name not in names:
                    self._change(job, due_at=max(job.due_at, now))
                    self.runs.free(job.id, what, None)
                    changed += 1
        return changed

    def _change(self, job: Job, **values: Any) -> Job:
        self._jobs[job.id] = msgspec.structs.replace(job, **values)
        self._ahead_then[job.id] = self._clock.offset
        return self._jobs[job.id]

    async def regroup(
        self, groups: Mapping[str, Group | None], *, generation: str, now: int
    ) -> int:
        return self.runs.regroup(groups, now) if self._holds(generation) else 0
