"""What the router remembers of asking a sender for missed deliveries: pure values."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

FACTS = "recovery/"
"""The last run of each endpoint, by name."""
ASKED = "recovered/"
"""What was asked for lately, by endpoint: the sender's keys, and when."""

RecoveryState = Literal["running", "done", "stopped"]


class Recovery(msgspec.Struct, frozen=True):
    """
    One run. `since` is where it begins, `until` (None: nowhere yet) all before has been looked
    through. Times in Unix milliseconds; `at` is when this was written.

    `seen` were listed, `missed` of them never delivered: `requested` from the sender, which
    delivers them again; or `stored` here, `known` here already; or `failed`. `passed` were asked
    for a moment ago. `problem` says why it stopped, or what the first failure was.
    """

    endpoint: str
    state: RecoveryState
    started_at: int
    since: int
    at: int
    until: int | None = None
    seen: int = 0
    missed: int = 0
    requested: int = 0
    stored: int = 0
    known: int = 0
    failed: int = 0
    passed: int = 0
    problem: str | None = None


class MissedDelivery(msgspec.Struct, frozen=True):
    """One that the sender could not make, as a plan shows it."""

    id: str
    event: str
    at: int


class RecoveryPlan(msgspec.Struct, frozen=True):
    """What a run would ask for; `shown` are the newest of the `missed`."""

    endpoint: str
    since: int
    seen: int
    missed: int
    passed: int
    shown: tuple[MissedDelivery, ...]


def recoveries(facts: Mapping[str, Any]) -> dict[str, Recovery]:
    """What `recall(FACTS)` gave, by endpoint; anything unreadable is left out."""
    found = {}
    for value in facts.values():
        try:
            one = msgspec.convert(value, Recovery)
        except msgspec.ValidationError:
            continue
        found[one.endpoint] = one
    return found
