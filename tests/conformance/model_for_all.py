"""What the model has one of for all nodes: the rules in force, and what goes by them."""

from collections.abc import Mapping
from typing import Any

import msgspec

from router.model.job import Group, Job
from router.store.values import NEW_MS, Generation, InForce
from tests.conformance.model_lists import DUE, ModelLists


class ModelForAll(ModelLists):
    """Generations, the one in force, and what waits because of it."""

    async def keep_generation(self, generation: Generation) -> None:
        self._generations.setdefault(generation.id, generation)

    async def put_in_force(self, generation: str, *, by: str, at: int) -> None:
        if self._given.get(by) != generation:
            self._given[by] = generation
            self._in_force.append(InForce(len(self._in_force) + 1, generation, at))

    def _holds(self, generation: str, new_ms: int = NEW_MS) -> bool:
        living = {one.card.generation for one in self._nodes.values() if not one.gone}
        young = self._clock.now() - new_ms
        found = [
            one.generation
            for one in self._in_force
            if one.generation in {generation, *living} or one.at > young
        ]
        return not found or found[-1] == generation

    async def hold(self, paused: frozenset[str], *, generation: str, now: int = 0) -> int:
        if not self._holds(generation):
            return 0
        jobs = list(self._jobs.values())
        changed = [self._see_to(job, "paused", job.rule in paused, now) for job in jobs]
        return sum(changed) + self._see_to_targets({job.target for job in jobs}, now)

    async def pause_target(self, target: str, *, reason: str, by: str, at: int) -> int:
        pause = {"reason": reason, "by": by, "at": at}
        self._facts = {f"paused/{target}": pause, **self._facts}
        return self._see_to_targets({target}, at)

    async def resume_target(self, target: str, *, now: int) -> int:
        self._facts.pop(f"paused/{target}", None)
        return self._see_to_targets({target}, now)

    def _see_to_targets(self, targets: set[str], now: int) -> int:
        return sum(
            self._see_to(job, "target", f"paused/{job.target}" in self._facts, now)
            for job in list(self._jobs.values())
            if job.target in targets
        )

    def _see_to(self, job: Job, what: str, must_wait: bool, now: int) -> bool:
        """Whether that is a change."""
        job = self._jobs[job.id]
        waits = what in self.runs.waits.get(job.id, ())
        if job.state not in (*DUE, "waiting") or waits == must_wait:
            return False
        if must_wait:
            self.runs.hold(job.id, what)
        else:
            self._change(job, due_at=max(job.due_at, now))
            self.runs.free(job.id, what, None)
        return True

    def _change(self, job: Job, **values: Any) -> Job:
        self._jobs[job.id] = msgspec.structs.replace(job, **values)
        self._ahead_then[job.id] = self._clock.offset
        return self._jobs[job.id]

    async def regroup(
        self, groups: Mapping[str, Group | None], *, generation: str, now: int
    ) -> int:
        return self.runs.regroup(groups, now) if self._holds(generation) else 0
