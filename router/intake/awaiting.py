"""
How verdicts that wait are settled: by what senders publish, at once, or by asking others.

A question is bounded in time. Each endpoint has slots for its own, and one address a share of them,
so that neither a sender nor a stranger delays others. What is remembered takes none.
"""

import asyncio
from typing import Any, Protocol

from router.model.addresses import neighbourhood
from router.model.delivery import Refused, Verified
from router.providers.waiting import UNKNOWN_KEY, Introspection, PublishedKey, Verdict, Waiting
from router.rules.live import LiveRuleset

SLOTS = 8
"""Questions at a time about requests of one endpoint."""
OF_ONE_ADDRESS = 2
"""Of these, so many about requests from one address (of IPv6: one /64)."""
BUSY = Refused("proof_busy", 503)


class Asks(Protocol):
    """Who is asked about requests."""

    def remembered(self, ask: Introspection) -> bytes | None:
        """The answer of a moment ago; None: there is none that still holds."""

    async def ask(self, live: LiveRuleset, ask: Introspection) -> bytes | None:
        """The answer, soon; None: there is none. Raises nothing."""


class KnownKeys(Protocol):
    """What senders publish, as far as it is known here."""

    def known(self, key: PublishedKey) -> bytes | None:
        """What stands at its address; None: not known yet."""

    def want(self, key: PublishedKey, peer: str) -> None:
        """Have it fetched again soon: a request from this address needs it."""


class NothingKnown:
    """Nothing is known, nothing is fetched, and nobody is asked."""

    def known(self, key: PublishedKey) -> bytes | None:
        """None: not known."""

    def want(self, key: PublishedKey, peer: str) -> None:
        """Nobody fetches it."""

    def remembered(self, ask: Introspection) -> bytes | None:
        """None: nobody was asked."""

    async def ask(self, live: LiveRuleset, ask: Introspection) -> bytes | None:
        """None: nobody answers."""


class VerdictSettler:
    """Settles verdicts that wait, of requests from `peer`."""

    def __init__(self, keys: KnownKeys, asks: Asks) -> None:
        self._keys, self._asks = keys, asks
        self._asking: dict[tuple[str, Introspection], tuple[str, asyncio.Task[Any]]] = {}

    def looked_up(self, peer: str, verdict: Verdict) -> Verified | Refused:
        """The verdict by what is known now; what is not is fetched for the next time."""
        missed = list[PublishedKey]()
        while isinstance(verdict, Waiting):
            verdict = verdict.then(self._known(verdict.ask, missed))
        return self._wanting(verdict, missed, peer)

    async def heard(
        self, live: LiveRuleset, endpoint: str, peer: str, verdict: Verdict
    ) -> Verified | Refused:
        """The verdict after all that must be asked were asked."""
        missed = list[PublishedKey]()
        while isinstance(verdict, Waiting):
            if isinstance(verdict.ask, PublishedKey):
                answer = self._known(verdict.ask, missed)
            elif (answer := self._asks.remembered(verdict.ask)) is None:
                asking = self._question(live, endpoint, peer, verdict.ask)
                if asking is None:
                    return BUSY
                answer = await asyncio.shield(asking)
            verdict = verdict.then(answer)
        return self._wanting(verdict, missed, peer)

    def _question(
        self, live: LiveRuleset, endpoint: str, peer: str, ask: Introspection
    ) -> asyncio.Task[Any] | None:
        """
        The question that is on its way about this token, or a new one; None: no slot is free.

        It goes on when the sender leaves: who comes and goes asks no more than who stays.
        """
        key = endpoint, ask
        if key not in self._asking:
            near = neighbourhood(peer)
            taken = [by for (name, _), (by, _) in self._asking.items() if name == endpoint]
            if len(taken) >= SLOTS or taken.count(near) >= OF_ONE_ADDRESS:
                return None
            asking = asyncio.ensure_future(self._asks.ask(live, ask))
            asking.add_done_callback(lambda _: self._asking.pop(key))
            self._asking[key] = near, asking
        return self._asking[key][1]

    def _known(self, ask: Any, missed: list[PublishedKey]) -> bytes | None:
        if not isinstance(ask, PublishedKey):
            return None
        missed.append(ask)
        return self._keys.known(ask)

    def _wanting(
        self, verdict: Verified | Refused, missed: list[PublishedKey], peer: str
    ) -> Verified | Refused:
        if isinstance(verdict, Refused) and verdict.reason == UNKNOWN_KEY:
            for key in missed:
                self._keys.want(key, peer)
        return verdict
