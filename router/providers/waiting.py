"""
Verdicts that wait for something that is not in the request.

Nothing here fetches: a way of proof says what it needs and how it goes on, and whoever judges the
request has it, gets it, or goes on without.
"""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from router.model.delivery import Refused, Verified

UNKNOWN_KEY = "unknown_key"
"""The reason of a refusal that a fetch may cure."""


class PublishedKey(msgspec.Struct, frozen=True):
    """
    The key set, or the certificate with its chain, that a sender publishes at an address: bytes, or
    None while it is not known. `hosts` lists where an address of a request's own choice may be,
    `names` whom its certificate must be for. Not `chained`: it is published without those that
    vouch for it, and the certificate of the host that it came from has to.
    """

    address: str
    kind: Literal["key set", "certificate"] = "key set"
    hosts: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    chained: bool = True


class Introspection(msgspec.Struct, frozen=True):
    """
    What the issuer of a token says of it (RFC 7662): its answer, or None when there is none.
    `client_secret` names the secret that shows who asks.
    """

    url: str
    client_id: str
    client_secret: str
    token: bytes

    def __repr__(self) -> str:
        return f"Introspection({self.url!r})"


Ask = PublishedKey | Introspection


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
