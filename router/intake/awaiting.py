"""
How verdicts that wait are settled: by what senders publish, at once, or by asking others.

Who asks is bounded in time, and each endpoint by its slots, so that one sender's proof delays
nobody else's.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from router.model.delivery import Refused, Verified
from router.providers.waiting import UNKNOWN_KEY, Introspection, PublishedKey, Verdict, Waiting
from router.rules.live import LiveRuleset

SLOTS = 8
"""So many requests of one endpoint may be asked about at a time."""
BUSY = Refused("proof_busy", 503)

Asks = Callable[[LiveRuleset, Introspection], Awaitable[Any]]
"""What comes of asking others, soon; None: no answer. Raises nothing."""


class KnownKeys(Protocol):
    """What senders publish, as far as it is known here."""

    def known(self, key: PublishedKey) -> bytes | None:
        """What stands at its address; None: not known yet."""

    def want(self, key: PublishedKey) -> None:
        """Have it fetched again soon."""


class NothingPublished:
    """Nothing is known, and nothing fetched."""

    def known(self, key: PublishedKey) -> bytes | None:
        """None: not known."""

    def want(self, key: PublishedKey) -> None:
        """Nobody fetches it."""


async def nobody(_live: LiveRuleset, _ask: Introspection) -> None:
    """Nobody is asked."""


class VerdictSettler:
    """Settles verdicts that wait."""

    def __init__(self, keys: KnownKeys, asks: Asks) -> None:
        self._keys, self._asks = keys, asks
        self._taken: Counter[str] = Counter()

    def looked_up(self, verdict: Verdict) -> Verified | Refused:
        """The verdict by what is known now; what is not is fetched for the next time."""
        missed = list[PublishedKey]()
        while isinstance(verdict, Waiting):
            verdict = verdict.then(self._known(verdict.ask, missed))
        return self._wanting(verdict, missed)

    async def heard(self, live: LiveRuleset, endpoint: str, verdict: Verdict) -> Verified | Refused:
        """The verdict after all that must be asked were asked."""
        missed = list[PublishedKey]()
        while isinstance(verdict, Waiting):
            if isinstance(verdict.ask, PublishedKey):
                verdict = verdict.then(self._known(verdict.ask, missed))
            elif self._taken[endpoint] >= SLOTS:
                return BUSY
            else:
                self._taken[endpoint] += 1
                try:
                    answer = await self._asks(live, verdict.ask)
                finally:
                    self._taken[endpoint] -= 1
                verdict = verdict.then(answer)
        return self._wanting(verdict, missed)

    def _known(self, ask: Any, missed: list[PublishedKey]) -> bytes | None:
        if not isinstance(ask, PublishedKey):
            return None
        missed.append(ask)
        return self._keys.known(ask)

    def _wanting(
        self, verdict: Verified | Refused, missed: list[PublishedKey]
    ) -> Verified | Refused:
        if isinstance(verdict, Refused) and verdict.reason == UNKNOWN_KEY:
            for key in missed:
                self._keys.want(key)
        return verdict
