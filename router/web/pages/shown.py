"""A stored delivery as a page shows it: pure values, everything bounded."""

from collections.abc import Sequence
from typing import Any

import msgspec

from router.legible import cut, pretty
from router.model.delivery import Delivery
from router.model.job import Attempt, Job
from router.store.values import DeliveryRecord
from router.web.pages.rendering import result_text

BODY_SHOWN = 16_384
BODY_MAX = 1_048_576
"""Bytes of a body that are shown at first, and at most; beyond there is the file."""
HEADERS_SHOWN = 200
EVENTS_SHOWN = 20
JOBS_SHOWN = 100
ATTEMPTS_SHOWN = 5
RESULT_SHOWN = 2_000
RESULT_MAX = 262_144


class Body(msgspec.Struct, frozen=True):
    """Text of a body; `cut`: there is more, `whole`: that more can be shown too."""

    text: str
    cut: bool
    whole: bool


class AnswerPart(msgspec.Struct, frozen=True):
    """One thing that an action answered."""

    name: str
    text: str
    cut: bool
    lines: bool


class ShownAttempt(msgspec.Struct, frozen=True):
    """An attempt with what came of it."""

    attempt: Attempt
    parts: tuple[AnswerPart, ...]

    @property
    def took(self) -> int:
        """Milliseconds."""
        return max(0, self.attempt.ended_at - self.attempt.started_at)


class ShownJob(msgspec.Struct, frozen=True):
    """A job with its last attempts; `earlier` ones are on a page of its own."""

    job: Job
    attempts: tuple[ShownAttempt, ...]
    earlier: int


def shown_body(body: bytes, *, whole: bool) -> Body:
    """The body for reading: JSON indented, other text as it is, binary as escapes."""
    if len(body) > BODY_MAX:
        return Body(pretty(body[:BODY_SHOWN]), cut=True, whole=False)
    text = pretty(body)
    if whole or len(text) <= BODY_SHOWN:
        return Body(text, cut=False, whole=False)
    return Body(text[:BODY_SHOWN], cut=True, whole=True)


def shown_jobs(record: DeliveryRecord, *, bodies: bool) -> tuple[ShownJob, ...]:
    """The first jobs of a delivery, each with its last attempts."""
    return tuple(
        shown_job(job, [a for a in record.attempts if a.job == job.id], bodies=bodies)
        for job in record.jobs[:JOBS_SHOWN]
    )


def shown_job(
    job: Job,
    attempts: Sequence[Attempt],
    *,
    bodies: bool,
    last: int = ATTEMPTS_SHOWN,
    most: int = RESULT_SHOWN,
) -> ShownJob:
    """A job, its `last` attempts, and up to `most` characters of each thing they answered."""
    kept = attempts[-last:]
    shown = tuple(ShownAttempt(a, _parts(a, most) if bodies else ()) for a in kept)
    return ShownJob(job, shown, len(attempts) - len(kept))


def _parts(attempt: Attempt, most: int) -> tuple[AnswerPart, ...]:
    return tuple(
        _part(name, value, most)
        for name, value in attempt.result.items()
        if name != "json" and value not in (None, "", {}, [])  # `json` is `text` for expressions
    )


def _part(name: str, value: Any, most: int) -> AnswerPart:
    text = result_text(value)
    return AnswerPart(name, cut(text, most), len(text) > most, "\n" in text or len(text) > 80)


def verified(delivery: Delivery) -> str:
    """How it was proved genuine."""
    if delivery.verified_by is None:
        return "not at all: the endpoint is unsigned"
    return f"by secret {delivery.verified_by!r}"


def dedupe(record: DeliveryRecord) -> str:
    """What of it was new, and what came again."""
    total = record.delivery.event_count
    known = total - len(record.events)
    new = "new" if known <= 0 else f"{known} of {total} events were known before, so not routed"
    if not (copies := record.duplicates):
        return f"{new}; it came once"
    return f"{new}; {copies} {'copy' if copies == 1 else 'copies'} came later and were dropped"
