"""Retry policies, and when the next attempt is due."""

import random
from datetime import UTC
from email.utils import parsedate_to_datetime

import msgspec

from router.model.job import FailureClass

CLIENT_ERROR_DELAYS = 5
RETRY_AFTER_MIN_S = 1.0
RETRY_AFTER_MAX_S = 86_400.0


class RetryPolicy(msgspec.Struct, frozen=True):
    """
    Delays in milliseconds before the second, third, … attempt; attempts = length + 1.

    `jitter` 0.2 spreads each delay by up to 20 % either way.
    """

    name: str
    schedule_ms: tuple[int, ...]
    jitter: float = 0.2


_S, _M, _H = 1_000, 60_000, 3_600_000

STANDARD = RetryPolicy(
    "standard",
    (5 * _S, 30 * _S, 2 * _M, 10 * _M, 30 * _M, 2 * _H, 6 * _H, 16 * _H, 24 * _H, 24 * _H),
)
SHORT = RetryPolicy("short", (10 * _S, 60 * _S))
NONE = RetryPolicy("none", ())
BUILT_IN: dict[str, RetryPolicy] = {p.name: p for p in (STANDARD, SHORT, NONE)}
AGE_LIMIT_MS = 7 * 24 * _H


def http_date(text: str) -> float:
    """
    Unix seconds of a time as HTTP writes it, in each of its three forms (RFC 9110, 5.6.7): where no
    zone is written it is UTC, whatever zone this machine is in.

    Raises:
        ValueError: it is none.
    """
    try:
        found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (TypeError, IndexError, OverflowError):
        raise ValueError(f"{text[:60]!r} is no time as HTTP writes it") from None


def next_delay_ms(
    policy: RetryPolicy,
    charged: int,
    failure: FailureClass,
    after_s: float | None,
    rng: random.Random,
) -> int | None:
    """
    How long to wait after the `charged`-th failed attempt (from 1), or None when it was the last.

    A delay that the target asks for (`after_s`, clamped to 1 s .. 24 h) never ends earlier than
    the schedule's; one that was raised (`temporary`) is taken as it is. A temporary failure
    outlives its policy by the delays of `short`, once.
    """
    if (delay := _scheduled(policy, charged, failure)) is None:
        return None
    jittered = max(1, round(delay * (1 + policy.jitter * rng.uniform(-1, 1))))
    if after_s is None:
        return jittered
    asked = int(min(max(after_s, RETRY_AFTER_MIN_S), RETRY_AFTER_MAX_S) * 1000)
    return asked if failure == "temporary" else max(jittered, asked)


def _scheduled(policy: RetryPolicy, charged: int, failure: FailureClass) -> int | None:
    schedule = policy.schedule_ms
    if failure == "client":
        schedule = schedule[:CLIENT_ERROR_DELAYS]
    elif failure == "temporary":
        schedule = schedule + SHORT.schedule_ms
    return schedule[charged - 1] if charged <= len(schedule) else None
