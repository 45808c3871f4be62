"""
What a replay is of: originals, and what has been made of them already.

Jobs of one delivery, event, rule and action are runs of the same; the first is the original.
"""

import math
from collections.abc import Iterable

import msgspec

from router.model.job import Job
from router.store.values import Selector, Stored

Same = tuple[int, str, str]


def same(job: Job) -> Same:
    """What the runs of one original in a delivery have in common."""
    return job.event_index, job.rule, job.action


class OriginalRuns:
    """The runs of a delivery's jobs; `history` has them all, in the order they were made."""

    def __init__(self, history: Iterable[Job]) -> None:
        self._runs: dict[Same, list[Job]] = {}
        for job in history:
            self._runs.setdefault(same(job), []).append(job)

    def original(self, job: Job) -> Job:
        """The first run of the same."""
        return self._runs[same(job)][0]

    def newest(self, job: Job) -> Job:
        """The last one: itself, if it has not been made again."""
        return self._runs[same(job)][-1]


def meant(stored: Stored, selector: Selector) -> Stored | None:
    """
    What is left of the jobs that a selector found: one original for each whose newest run is among
    them, so that `--state dead` is about how things stand. Times are the original's.

    Replays are meant only where the selector names one: then by themselves.
    """
    if selector.replay is not None:
        return stored
    runs = OriginalRuns(stored.history)
    newest = [job for job in stored.jobs if runs.newest(job).id == job.id]
    since, until = selector.since or 0, math.inf if selector.until is None else selector.until
    jobs = tuple([o for o in map(runs.original, newest) if since <= o.created_at < until])
    return msgspec.structs.replace(stored, jobs=jobs) if jobs else None


def routed(stored: Stored, generation: str) -> Job | None:
    """The newest job that a replay made by routing the delivery anew by these rules."""
    of = (stored.delivery.id, generation)
    newest_first = reversed(stored.history)
    return next((job for job in newest_first if (job.replay_of, job.generation) == of), None)
