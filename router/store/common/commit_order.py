"""Reading on in the order of commits: what is asked for, and how much goes into one answer."""

from collections.abc import Sequence

from router.errors import UsageError
from router.store.common.columns import decode_names
from router.store.values import LIMIT_MAX, FeedQuery

EXAMINED_MAX = 1_000
"""Deliveries looked at in one question, wanted or not."""
BODIES_MAX = 1_048_576
"""Bytes of bodies in one answer; a single larger body goes alone."""

Listed = tuple[str, str, int]
"""Of a delivery its endpoint, names and size of its body."""


def choose(rows: Sequence[Listed], asked: FeedQuery) -> tuple[list[int], int, bool]:
    """Which rows are wanted, how many were used up, and whether that is all."""
    chosen: list[int] = []
    room = BODIES_MAX
    for at, (endpoint, names, size) in enumerate(rows):
        if asked.endpoints and endpoint not in asked.endpoints:
            continue
        if asked.events and asked.events.isdisjoint(decode_names(names)):
            continue
        if len(chosen) == min(asked.limit, LIMIT_MAX) or (chosen and size > room):
            return chosen, at, False
        chosen.append(at)
        room -= size
    return chosen, len(rows), True


def no_cursor() -> UsageError:
    """Nobody gave that cursor out."""
    return UsageError("this cursor is none that the router gave out")


def time_of(since: str) -> int:
    """The time that `since` says, if it is neither `start` nor `now`. Raises UsageError."""
    if not (since.isascii() and since.isdigit() and len(since) <= 15):
        raise UsageError("since is start, now, or Unix milliseconds")
    return int(since)
