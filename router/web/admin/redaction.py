"""What a caller without bodies sees: the shape of work, nothing that came in or was sent."""

from typing import Any

import msgspec

from router.kinds import CODES
from router.model.job import Attempt, Job
from router.operator.answers import HIDDEN, OneDelivery
from router.store.values import ListedAttempt


def hidden_delivery(found: OneDelivery) -> OneDelivery:
    """Without the values of headers and query, and without what jobs and attempts hold."""
    return msgspec.structs.replace(
        found,
        query=HIDDEN if found.query else "",
        headers=tuple((name, HIDDEN) for name, _ in found.headers),
        jobs=tuple(map(hidden_job, found.jobs)),
        attempts=tuple(map(hidden_attempt, found.attempts)),
    )


def hidden_job(job: Job) -> Job:
    """Without what its reason and its group's value quote."""
    waits = tuple(HIDDEN for _ in job.waits_for)
    return msgspec.structs.replace(job, reason=_word(job.reason), waits_for=waits)


def hidden_attempt(attempt: Attempt) -> Attempt:
    """Without output, answer and rendered call."""
    kept: dict[str, Any] = {
        name: attempt.result[name] for name in CODES if isinstance(attempt.result.get(name), int)
    }
    return msgspec.structs.replace(attempt, reason=_word(attempt.reason), result=kept)


def hidden_listed(found: ListedAttempt) -> ListedAttempt:
    """The same, in a list."""
    return msgspec.structs.replace(found, attempt=hidden_attempt(found.attempt))


def _word(reason: str | None) -> str | None:
    """A reason begins with fixed words; what follows a colon may quote a payload or an answer."""
    if reason is None:
        return None
    word, colon, _ = reason.partition(":")
    return f"{word}: {HIDDEN}" if colon else word
