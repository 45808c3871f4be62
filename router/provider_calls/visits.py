"""
Addresses that proved handshakes want fetched (a subscription's confirmation): each once, after the
answer to its sender, and away from the requests' way.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlsplit

import msgspec

from router.clock import Clock
from router.log import Log
from router.provider_calls.answers import CallFailedError, Sends, refused
from router.providers.management import ApiRequest, Promise

TICK_S = 1.0
TIMEOUT_S = 10.0
RETRIES_S = (5.0, 30.0, 120.0, 600.0)
"""Pauses after a failure; after the last of them it is given up."""
WAITING_MAX = 100
"""So many may wait; what comes then is dropped and said."""
KNOWN_MAX = 1000
"""So many that were fetched are remembered, and not fetched again."""
_FETCHED = Promise((200, 201, 202, 204), "anything")


class _Visit(msgspec.Struct):
    """An address to fetch, when, in monotonic seconds, and how often it has failed."""

    endpoint: str
    due: float
    failures: int = 0


class Visits:
    """
    Fetches addresses that `want` was given, for ever. `on_end` gets the endpoint of each that was
    fetched or given up, and which. No log line holds more of an address than its host: the rest
    confirms.
    """

    def __init__(
        self,
        *,
        open_client: Callable[[], AbstractAsyncContextManager[Sends]],
        clock: Clock,
        log: Log,
        on_end: Callable[[str, str], None],
    ) -> None:
        self._open, self._clock = open_client, clock
        self._log, self._on_end = log, on_end
        self._waiting: dict[str, _Visit] = {}
        self._known: OrderedDict[str, None] = OrderedDict()

    def want(self, endpoint: str, address: str) -> None:
        """Fetch this address soon, unless that was done or is due anyway."""
        if address in self._known or address in self._waiting:
            return
        if len(self._waiting) >= WAITING_MAX:
            self._gave_up(endpoint, address, "too many wait")
        else:
            self._waiting[address] = _Visit(endpoint, self._clock.monotonic())

    async def run(self) -> None:
        """Fetch what is due, for ever."""
        while True:
            await self.step()
            await self._clock.sleep(TICK_S)

    async def step(self) -> None:
        """Fetch what is due now."""
        now = self._clock.monotonic()
        for address, visit in list(self._waiting.items()):
            if visit.due <= now:
                await self._fetch(address, visit)

    async def _fetch(self, address: str, visit: _Visit) -> None:
        try:
            async with self._open() as client:
                answer = await client.send(ApiRequest("GET", address, (), _FETCHED))
        except CallFailedError as error:
            self._failed(address, visit, str(error))
            return
        if not answer.ok:
            self._failed(address, visit, refused(answer, None))
            return
        del self._waiting[address]
        self._known[address] = None
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        self._log.info("handshake confirmed", endpoint=visit.endpoint, host=_host(address))
        self._on_end(visit.endpoint, "fetched")

    def _failed(self, address: str, visit: _Visit, words: str) -> None:
        if visit.failures >= len(RETRIES_S):
            del self._waiting[address]
            self._gave_up(visit.endpoint, address, words)
            return
        pause = RETRIES_S[visit.failures]
        visit.failures, visit.due = visit.failures + 1, self._clock.monotonic() + pause
        fields = {"endpoint": visit.endpoint, "host": _host(address), "reason": words}
        self._log.warning("handshake not confirmed yet", **fields, again_s=pause)

    def _gave_up(self, endpoint: str, address: str, words: str) -> None:
        fields = {"endpoint": endpoint, "host": _host(address), "reason": words}
        self._log.error("handshake not confirmed: have the sender ask again", **fields)
        self._on_end(endpoint, "given_up")


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""
