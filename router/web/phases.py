"""
The phases of a connection: what it waits for, how long it may, and what is said when it did not.

No timers and no I/O: the protocol says how far it is, and the table when that ends.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple


@dataclass(slots=True)  # written eight times a request, which a Struct makes slow
class Progress:
    """
    How far a connection is; the protocol keeps it up to date. Times are the loop's, in seconds.

    `unanswered`: the head of a request is whole and its answer is not; then `more_body`: its body
    is not whole, `answering`: its answer has begun. `in_head`: another head has begun. `served`: a
    request has begun before. `whole_since`: when the body was. `stalled_since`: the peer takes
    nothing of what is sent; `leaving_since`: nothing more is said or looked at (inf: not so).
    """

    unanswered: bool = False
    more_body: bool = False
    answering: bool = False
    in_head: bool = False
    served: bool = False
    idle_since: float = 0.0
    head_since: float = 0.0
    body_since: float = 0.0
    last_byte: float = 0.0
    whole_since: float = 0.0
    stalled_since: float = inf
    leaving_since: float = inf


class TimeBound(NamedTuple):
    """
    At most as long as `setting` says, from a moment on: `start` in words, `since` in `Progress`.
    """

    setting: str
    start: str
    since: str


class Phase(NamedTuple):
    """
    One row: the phase, when a connection is in it, how long it may be, and what the sender gets if
    it ends by that. Status 0: nothing; the connection is closed (`idle`) or dropped (`gone`).
    """

    name: str
    holds: Callable[[Progress], bool]
    bounds: tuple[TimeBound, ...]
    status: int
    word: str


PHASES = (
    Phase(
        "a refusal that is out",  # what still comes is read away: a reset would lose the answer
        lambda at: at.leaving_since < inf,
        (TimeBound("linger_s", "the refusal", "leaving_since"),),
        0,
        "gone",
    ),
    Phase(
        "half a body",
        lambda at: at.unanswered and at.more_body,
        (
            TimeBound("body_idle_s", "the last byte", "last_byte"),
            TimeBound("body_total_s", "the end of the head", "body_since"),
        ),
        408,
        "body_timeout",
    ),
    Phase(
        "half an answer of which the sender takes nothing",
        lambda at: at.unanswered and at.answering,
        (TimeBound("answer_s", "the last byte taken", "stalled_since"),),
        503,
        "timeout",
    ),
    Phase(
        "a whole request without an answer",
        lambda at: at.unanswered,
        (TimeBound("answer_s", "the last byte of the body", "whole_since"),),
        503,
        "timeout",
    ),
    Phase(
        "half a head",
        lambda at: at.in_head,
        (TimeBound("header_s", "its first byte", "head_since"),),
        408,
        "header_timeout",
    ),
    Phase(
        "nothing yet",
        lambda at: not at.served,
        (TimeBound("header_s", "the connection", "idle_since"),),
        0,
        "idle",
    ),
    Phase(
        "no further request",
        lambda _: True,
        (TimeBound("keep_alive_s", "the answer", "idle_since"),),
        0,
        "idle",
    ),
)
"""The first row that holds is the phase."""


def phase_of(at: Progress) -> Phase:
    """What a connection waits for."""
    return next(phase for phase in PHASES if phase.holds(at))  # the last always holds


def ends_at(phase: Phase, at: Progress, allowed: Mapping[str, float]) -> float:
    """When a phase ends by itself; `allowed`: the settings, in seconds."""
    ends = [getattr(at, bound.since) + allowed[bound.setting] for bound in phase.bounds]
    return float(min(ends))
