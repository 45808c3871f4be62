"""How far a replay has come, whichever store keeps it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from router.model.job import NewJob
from router.model.operations import Item, Replay, ReplayState, ReplayStep

STATES: tuple[ReplayState, ...] = ("making", "made", "cancelled")
MAKING, MADE, CANCELLED = range(3)

COLUMNS = (
    "id, asked, created_at, {items}, state, reached, due, deliveries, jobs, skipped, ended_at, "
    "passed, earlier"
)
"""A row of `to_replay`; `items` may be NULL."""
_items = msgspec.json.Decoder(tuple[Item, ...])
_due = msgspec.json.Decoder(dict[str, float])


def to_replay(row: Sequence[Any]) -> Replay:
    """A replay from a row of COLUMNS."""
    id_, asked, created_at, named, state, reached, due, *rest = row
    return Replay(
        id_,
        msgspec.json.decode(asked),
        created_at,
        None if named is None else _items.decode(named),
        STATES[state],
        reached,
        _due.decode(due),
        *rest,
    )


def begun(replay: Replay) -> tuple[Any, ...]:
    """A new replay's columns: id, asked, items, reached, due, created_at."""
    return (
        replay.id,
        msgspec.json.encode(replay.asked),
        None if replay.items is None else msgspec.json.encode(replay.items),
        replay.reached,
        msgspec.json.encode(replay.due),
        replay.created_at,
    )


class Left(NamedTuple):
    """What is to be made of a delivery; `passed` and `earlier` as of a replay."""

    delivery: str
    jobs: Sequence[NewJob]
    passed: int = 0
    earlier: str = ""


class Made(NamedTuple):
    """A job that a delivery has, as far as it says what was made again."""

    event_index: int
    rule: str
    action: str
    id: str
    origin: str | None
    generation: str


def left(delivery: str, jobs: Sequence[NewJob], made: Iterable[Made]) -> Left:
    """
    Without what somebody else has made since it was looked at: two may ask for the same. `made`
    are the delivery's jobs in their order.
    """
    newest: dict[tuple[int, str, str], str] = {}
    routed: dict[tuple[str | None, str | None], str] = {}
    for job in made:
        newest[job.event_index, job.rule, job.action] = job.id
        routed[job.origin, job.generation] = job.id
    if jobs[0].replay_of == delivery:
        known = routed.get((delivery, jobs[0].generation))
        return Left(delivery, jobs) if known is None else Left(delivery, (), 1, known)
    last = {job.id: newest.get((job.event_index, job.rule, job.action)) for job in jobs}
    kept = [job for job in jobs if last[job.id] == job.replay_of]
    gone = [last[job.id] or "" for job in jobs if last[job.id] != job.replay_of]
    return Left(delivery, kept, len(gone), max(gone, default=""))


class StepMade(NamedTuple):
    """What a step adds to its replay's row; `due` as its column has it, `earlier` or nothing."""

    reached: str
    due: bytes
    deliveries: int
    jobs: int
    skipped: int
    state: int
    passed: int
    earlier: str


def progress(step: ReplayStep, work: Sequence[Left], made: Sequence[int | None]) -> StepMade:
    """`made` says how many jobs were made of each; None: its delivery is gone."""
    gone = list(made).count(None)
    passed_over = sum([bool(one.passed) and not one.jobs for one in work])
    return StepMade(
        step.reached,
        msgspec.json.encode(step.due),
        len(made) - gone - passed_over,
        sum([one or 0 for one in made]),
        step.skipped + gone,
        MADE if step.last else MAKING,
        step.passed + sum([one.passed for one in work]),
        max([step.earlier or "", *[one.earlier for one in work]]),
    )
