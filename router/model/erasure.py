"""One person's way out of the ledger: what was asked, how far it has come, one step of it."""

from typing import Any, Literal

import msgspec

from router.model.delivery import Delivery, Redaction

ERASED = "[erased]"
"""Stands where a text had been that named the person."""

ErasureState = Literal["searching", "waiting", "cleaning", "done"]
"""
searching  deliveries are looked through, and what is found goes
waiting    what is left has jobs that have not ended
cleaning   nothing is left in the ledger; its file is written anew if that was asked for, and its
           journal emptied
done       it is in no row, no index and not in the journal
"""


class Erasure(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    An erasure under way. `asked` is the request as JSON, None once nothing is left to be found:
    from then on only its digest in the audit says what it was.

    `reached` is how far the search has come. `waiting` are deliveries that have open jobs, with the
    indexes of the events that go, none: it goes whole.
    `deliveries` went whole, `parts` are those that lost some of their events; `events` and `jobs`
    went with both. `failed` counts events on which the condition could not be evaluated.
    `vacuum`: the store's file is to be written anew (`due`), was (`done`), or why not.
    """

    id: str
    created_at: int
    asked: dict[str, Any] | None
    reached: str | None = None
    searched: bool = False
    waiting: dict[str, tuple[int, ...]] = {}
    deliveries: int = 0
    parts: int = 0
    events: int = 0
    jobs: int = 0
    failed: int = 0
    vacuum: str | None = None
    done: bool = False

    @property
    def state(self) -> ErasureState:
        """What goes on."""
        if self.done:
            return "done"
        if self.asked is None:
            return "cleaning"
        return "waiting" if self.searched and self.waiting else "searching"


class ErasedPart(msgspec.Struct, frozen=True):
    """
    A delivery that loses the events at `indexes`, as it is to be stored; `before` is the mark that
    it must still have.
    """

    delivery: Delivery
    indexes: frozenset[int]
    before: Redaction | None


class ErasureStep(msgspec.Struct, frozen=True):
    """
    Some deliveries to go, `whole` by their ids, in one transaction. It counts only while the
    erasure stands at `before`; then it stands at `after`.
    """

    before: Erasure
    after: Erasure
    whole: tuple[str, ...] = ()
    parts: tuple[ErasedPart, ...] = ()
