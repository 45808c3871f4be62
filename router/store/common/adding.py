"""Jobs that are added together, whichever store keeps them."""

from collections.abc import Mapping, Sequence

import msgspec

from router.model.job import NewJob
from router.store.common.run_changes import RunId


class Unit(msgspec.Struct):
    """Jobs that are added together: a run, or one job by itself. `origin` is the run replayed."""

    jobs: list[NewJob]
    origin: RunId = None
    linked: bool = False


def units(jobs: Sequence[NewJob], origins: Mapping[str, RunId]) -> list[Unit]:
    """
    Jobs of one new run together, and those that replay jobs of one old run: `origins` are the runs
    that the replayed jobs belonged to.
    """
    found: list[Unit] = []
    by_run: dict[RunId, Unit] = {}
    for job in jobs:
        origin = origins.get(job.replay_of or "")
        run = ("new", job.run) if job.run is not None else origin
        if run is None:
            found.append(Unit([job]))
        elif run in by_run:
            by_run[run].jobs.append(job)
        else:
            by_run[run] = Unit([job], origin, linked=True)
            found.append(by_run[run])
    return found


def replayed(jobs: Sequence[NewJob]) -> list[str]:
    """What these jobs replay."""
    return sorted({job.replay_of for job in jobs if job.replay_of is not None})
