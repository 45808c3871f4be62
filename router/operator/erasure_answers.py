"""What questions about erasures are answered with."""

from typing import Literal

import msgspec

from router.model.erasure import ErasureState
from router.store.values import VacuumRoom


class ErasedFrom(msgspec.Struct, frozen=True):
    """Deliveries of one endpoint and state that an erasure is about."""

    endpoint: str
    state: str
    deliveries: int


class ErasurePlan(msgspec.Struct, frozen=True):
    """
    What an erasure would take out, as far as was looked: `whole` is false when there is more.
    `open` deliveries have jobs that have not ended, and go when these have. `until` makes the
    selection exactly this one; `failed` and `reason` as of a list. `vacuum`: the bytes of the file
    that is then written anew, how many its disk must have free, and has.
    """

    deliveries: int
    events: int
    jobs: int
    open: int
    parts: tuple[ErasedFrom, ...]
    whole: bool
    until: int | None
    failed: int = 0
    reason: str | None = None
    vacuum: VacuumRoom | None = None
    dry_run: Literal[True] = True


class ErasureProgress(msgspec.Struct, frozen=True):
    """
    How far an erasure is: `searching`, `waiting` for jobs of so many deliveries, `cleaning` the
    store's files, or `done`. `deliveries` went whole; of `parts`, batches, some events did.
    `unreachable`: what it does not reach, in words. `vacuum`: the store's file is to be written
    anew (`due`), was (`done`), or why not; null: that was not asked for.
    """

    id: str
    state: ErasureState
    deliveries: int
    parts: int
    events: int
    jobs: int
    waiting: int
    failed: int
    created_at: int
    unreachable: str
    vacuum: str | None = None
    dry_run: Literal[False] = False


class Erasures(msgspec.Struct, frozen=True):
    """Erasures that have not ended, the oldest first."""

    erasures: tuple[ErasureProgress, ...]
