"""What an erasure leaves of a delivery and its jobs, and which texts it looks for, in any store."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from router.model.erasure import Erasure, ErasureStep
from router.store.values import EventEntry

FACTS = "erase/"
"""The facts of erasures under way begin so."""
TEXTS = (
    ("audit", "n", "asked"),
    ("replays", "n", "asked"),
    ("jobs", "id", "reason"),
    ("attempts", "job", "reason"),
)
"""Where a text may stand that names somebody: tables, their keys and columns; `asked` is JSON."""
WINDOW = 2_000
"""Rows that one transaction searches for such texts."""


class JobEvents(msgspec.Struct, frozen=True):
    """A job, by what its store knows it by, and the events it is for."""

    job: Any
    events: tuple[int, ...]

    @classmethod
    def of(cls, job: Any, index: int, covers: str | None) -> "JobEvents":
        """From its columns; `covers` is a JSON list."""
        return cls(job, msgspec.json.decode(covers, type=tuple[int, ...]) if covers else (index,))


class Counts(msgspec.Struct):
    """What one step has taken out."""

    deliveries: int = 0
    parts: int = 0
    events: int = 0
    jobs: int = 0


class Narrowed(msgspec.Struct):
    """Jobs that go with their events, and which events are left to those of a whole batch."""

    gone: list[Any] = []
    kept: list[tuple[Any, tuple[int, ...]]] = []


def narrowed(jobs: Iterable[JobEvents], erased: frozenset[int]) -> Narrowed:
    """What becomes of a delivery's jobs."""
    found = Narrowed()
    for one in jobs:
        left = tuple([index for index in one.events if index not in erased])
        if not left:
            found.gone.append(one.job)
        elif len(left) < len(one.events):
            found.kept.append((one.job, left))
    return found


def kept_events(
    entries: Sequence[EventEntry], erased: frozenset[int]
) -> tuple[tuple[EventEntry, ...], int]:
    """The entries that stay, and how many do not."""
    kept = tuple([entry for entry in entries if entry.index not in erased])
    return kept, len(entries) - len(kept)


def stands_at(fact: bytes | None, before: Erasure) -> bool:
    """Whether the fact of an erasure says that it stands there."""
    return fact is not None and msgspec.json.decode(fact, type=Erasure) == before


def advanced(step: ErasureStep, left: Iterable[str], counts: Counts) -> Erasure:
    """Where an erasure stands after a step that left these deliveries for later."""
    after = step.after
    parts = {part.delivery.id: tuple(sorted(part.indexes)) for part in step.parts}
    return msgspec.structs.replace(
        after,
        waiting={**after.waiting, **{id_: parts.get(id_, ()) for id_ in sorted(left)}},
        deliveries=after.deliveries + counts.deliveries,
        parts=after.parts + counts.parts,
        events=after.events + counts.events,
        jobs=after.jobs + counts.jobs,
    )


def place_of(after: str) -> tuple[int, str]:
    """Which of TEXTS is searched next, and behind which key; "": from the begin."""
    table, _, key = after.partition("/")
    return next((n for n, row in enumerate(TEXTS) if row[0] == table), 0), key


def next_place(table: int, end: object) -> str | None:
    """Where the search goes on after a window that ended there, if anywhere; None: it was empty."""
    if end is not None:
        return f"{TEXTS[table][0]}/{end}"
    return f"{TEXTS[table + 1][0]}/" if table + 1 < len(TEXTS) else None


def as_stored(text: str, column: str) -> str:
    """A text as it stands in that column."""
    return msgspec.json.encode(text)[1:-1].decode() if column == "asked" else text
