"""
Verdicts that wait for something that is not in the request.

Nothing here fetches: a way of proof says what it needs and how it goes on, and whoever judges the
request has it, gets it, or goes on without.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from router.model.delivery import Refused, Verified

UNKNOWN_KEY = "unknown_key"
"""The reason of a refusal that a fetch may cure."""


class PublishedKey(msgspec.Struct, frozen=True):
    """What a sender publishes at an address, in bytes; None while it is not known."""

    address: str


Ask = PublishedKey


class Waiting(msgspec.Struct, frozen=True):
    """
    The verdict is what `then` makes of the answer to `ask`; None: there is none here and now.

    `then` never raises, and given None it does not wait for the same again.
    """

    ask: Ask
    then: Callable[[Any], "Verdict"]


Verdict = Verified | Refused | Waiting


def without_asking(verdict: Verdict) -> Verified | Refused:
    """The verdict where nobody can be asked."""
    while isinstance(verdict, Waiting):
        verdict = verdict.then(None)
    return verdict
