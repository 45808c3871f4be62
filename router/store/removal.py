"""
What a store takes and gives where it removes: by age, or values out of deliveries. Times are Unix
milliseconds.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from router.model.delivery import Delivery
from router.model.job import Attempt
from router.store.values import EventEntry


class Rewritten(msgspec.Struct, frozen=True):
    """
    A delivery as it is from now on, without what was taken out of it, with its `events`, the
    `reasons` of its jobs and the `attempts` that change. It had so many `jobs`, `tried` so often in
    all, when it was read: had it more since, nothing is written. `keys` are dedupe keys and what
    they are from now on; `clean` gives a text without what was taken out, quickly.
    """

    delivery: Delivery
    events: tuple[EventEntry, ...]
    jobs: int
    tried: int
    reasons: Mapping[str, str | None] = {}
    attempts: tuple[Attempt, ...] = ()
    keys: Mapping[bytes, bytes] = {}
    clean: Callable[[str], str] = str


class RedactionStep(msgspec.Struct, frozen=True):
    """
    What one step of redacting writes: deliveries anew, when others are looked at again (ledger
    time; None: no more), and facts, which say how far it has come.
    """

    rewritten: tuple[Rewritten, ...] = ()
    later: Mapping[str, int | None] = {}
    facts: Mapping[str, Any] = {}


class Pruned(msgspec.Struct, frozen=True):
    """What one step of upkeep removed; `more`: its searches have not come to their end."""

    deliveries: int
    keys: int
    generations: int
    more: bool = False


class EndedBefore(msgspec.Struct, frozen=True):
    """Ledger times: what has ended as it is called here, and before that, may go."""

    succeeded: int
    unmatched: int
    dead: int


class Retain(msgspec.Struct, frozen=True):
    """
    What upkeep may remove: deliveries whose jobs have all ended before these ledger times.

    A delivery goes when the longest of the times that apply to its jobs' states has passed
    (`cancelled` as `succeeded`; a delivery without jobs as `unmatched`). `finished_before`, when
    set, also removes any finished delivery received before it (the size cap), oldest first.
    Lines of the audit, and replays, go when they are older than `audit_before`. The deliveries
    of some `endpoints` have times of their own.
    """

    succeeded_before: int
    unmatched_before: int
    dead_before: int
    finished_before: int | None = None
    limit: int = 1000
    audit_before: int = 0
    endpoints: Mapping[str, EndedBefore] = {}
