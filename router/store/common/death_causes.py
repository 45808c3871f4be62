"""Why jobs died, put so that those that died alike have the same words."""

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from router.model.operations import Cause

CORRUPT = "corrupt"
"""Why a job is dead whose delivery is damaged."""

EXAMPLES = 3

_VARYING = re.compile(
    r"\b(?:dlv|evt|job)_[0-9A-Z]{26}\b"
    r"|\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?=[0-9a-zA-Z_-]*[0-9])(?=[0-9a-zA-Z_-]*[a-zA-Z])[0-9a-zA-Z_-]{12,}\b"
    r"|\b0x[0-9a-fA-F]+\b"
    r"|\b(?=[0-9a-f]*[0-9])[0-9a-f]{8,}\b"
    r"|[0-9]+(?:[.:,][0-9]+)+"
    r"|[0-9]{4,}"
)
"""Ids, addresses, times, long numbers; what is left, like `exit 1` or `503`, tells causes apart."""


@lru_cache(maxsize=4096)
def normalised(reason: str) -> str:
    """The reason with whatever differs from one job to the next written as `…`."""
    return _VARYING.sub("…", reason)


def key_of(rule: str, action: str, target: str, reason: str | None) -> str:
    """A short name of a cause: 12 hexadecimal digits."""
    return _key(rule, action, target, normalised(reason or ""))


@lru_cache(maxsize=4096)
def _key(rule: str, action: str, target: str, words: str) -> str:
    text = "\x1f".join((rule, action, target, words))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


Died = tuple[str, str, str, str | None, str, int]
"""Of a dead job: rule, action, target, reason, id, when it ended."""


def by_cause(jobs: Iterable[Died]) -> tuple[Cause, ...]:
    """Dead jobs by cause, the latest first; it is quickest with the newest jobs first."""
    alike: dict[tuple[str, str, str, str | None], list[Any]] = {}
    for rule, action, target, reason, id_, ended_at in jobs:
        some = alike.setdefault((rule, action, target, reason), [0, ended_at, ended_at, ()])
        some[0] += 1
        some[1], some[2] = min(some[1], ended_at), max(some[2], ended_at)
        if some[0] <= EXAMPLES or id_ > some[3][-1]:
            some[3] = tuple(sorted((*some[3], id_), reverse=True)[:EXAMPLES])
    return joined(cause(*where, *some) for where, some in alike.items())


def cause(rule: str, action: str, target: str, reason: str | None, *of_jobs: Any) -> Cause:
    """The cause of dead jobs: their count, their first and last ends, and some of their ids."""
    words = normalised(reason or "")
    return Cause(_key(rule, action, target, words), rule, action, target, words, *of_jobs)


def joined(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """The same ones together, the latest first; the newest jobs are their examples."""
    found: dict[str, Cause] = {}
    for one in causes:
        found[one.key] = _both(found[one.key], one) if one.key in found else one
    return tuple(sorted(found.values(), key=lambda cause: cause.last_at, reverse=True))


def _both(cause: Cause, one: Cause) -> Cause:
    return msgspec.structs.replace(
        cause,
        count=cause.count + one.count,
        first_at=min(cause.first_at, one.first_at),
        last_at=max(cause.last_at, one.last_at),
        examples=tuple(sorted({*cause.examples, *one.examples}, reverse=True)[:EXAMPLES]),
    )
