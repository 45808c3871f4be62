"""The router that is listened to: deliveries after a cursor, and the signal to look for them."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import httpx
import msgspec

from router.cli.admin import no_answer
from router.errors import RouterError, UsageError
from router.operator.followed_answers import FollowedDeliveries
from router.operator.times import decoded

HEARTBEAT_S = 15.0
"""How often the router sends a heartbeat."""
IDLE_S = 2 * HEARTBEAT_S
CONNECT_S = 10.0
PAGE = 50
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0


class ConnectionLost(RouterError):
    """The router cannot be reached just now; the text says why."""


@dataclass(eq=False)
class Backoff:
    """Longer and longer waits, each with jitter, until a call succeeds."""

    rng: random.Random
    first_s: float = FIRST_WAIT_S
    longest_s: float = LONGEST_WAIT_S
    _failures: int = field(default=0, init=False)

    def next_s(self) -> float:
        """How long to wait now."""
        most = min(self.longest_s, self.first_s * 2.0 ** min(self._failures, 16))
        self._failures += 1
        return most * self.rng.uniform(0.5, 1.0)

    def over(self) -> None:
        """A call succeeded."""
        self._failures = 0


class DeliverySource:
    """
    The deliveries of a router, by its admin API. `endpoints` and `events`: only those; empty: all.

    The client's base URL is the admin address, and it adds the token to each request.
    """

    def __init__(
        self, client: httpx.AsyncClient, *, endpoints: frozenset[str], events: frozenset[str]
    ) -> None:
        self._client = client
        filters = {"endpoint": ",".join(sorted(endpoints)), "event": ",".join(sorted(events))}
        self._filters = {name: value for name, value in filters.items() if value}

    async def after(self, *, cursor: str | None, since: str) -> FollowedDeliveries:
        """
        The deliveries after a cursor, in the order of the store.

        Raises:
            ConnectionLost: not just now.
            UsageError: for good: the router refuses the token or the request.
        """
        place = {"since": since} if cursor is None else {"cursor": cursor}
        query = {**self._filters, **place, "limit": str(PAGE)}
        try:
            response = await self._client.get("/api/deliveries/after", params=query)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConnectionLost(_words(error)) from None
        _check(response.status_code, response.content)
        try:
            return decoded(response.content, FollowedDeliveries)
        except msgspec.DecodeError:
            raise UsageError("the server answers, but not as a router's admin API") from None

    @asynccontextmanager
    async def signal(self, idle_s: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """
        The router's signal, piece by piece; `idle_s` without one is a loss.

        Raises:
            ConnectionLost, UsageError: as `after`.
        """
        timeout = httpx.Timeout(CONNECT_S, read=idle_s)
        try:
            async with self._client.stream("GET", "/api/signal", timeout=timeout) as response:
                if response.status_code != httpx.codes.OK:
                    _check(response.status_code, await response.aread())
                yield response.aiter_raw()
        except httpx.ReadTimeout:
            raise ConnectionLost(f"no heartbeat for {idle_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ConnectionLost(_words(error)) from None


@dataclass(eq=False)
class SignalWatcher:
    """
    Keeps the signal open, for ever. `woken` is set when it is time to ask for deliveries.

    `connected` is true only while the router sent something within `idle_s`; `on_change` gets each
    change: None for connected, else why not, and in how many seconds it is tried again.
    """

    source: DeliverySource
    backoff: Backoff
    on_change: Callable[[str | None, float], None]
    idle_s: float = IDLE_S
    connected: bool = field(default=False, init=False)
    woken: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    async def run(self) -> None:
        """
        Listen, and connect again when it ends.

        Raises:
            UsageError: the router refuses us.
        """
        while True:
            try:
                await self._watch()
                why = "the router has closed the connection"
            except ConnectionLost as lost:
                why = str(lost)
            self.connected = False
            self.woken.set()  # whoever waits must now ask without the signal
            wait_s = self.backoff.next_s()
            self.on_change(why, wait_s)
            await asyncio.sleep(wait_s)

    async def _watch(self) -> None:
        async with self.source.signal(self.idle_s) as pieces:
            async for _ in pieces:
                if not self.connected:
                    self.connected = True
                    self.backoff.over()
                    self.on_change(None, 0.0)
                self.woken.set()  # at a heartbeat too: to ask costs little


def _check(status: int, body: bytes) -> None:
    if status == 200:
        return
    words = f"it answers {status}"
    with suppress(msgspec.DecodeError):
        answer = msgspec.json.decode(body, type=dict[str, object])
        words = str(answer.get("detail") or answer.get("error") or words)[:300]
    if status in (408, 425, 429) or status >= 500:
        raise ConnectionLost(words)
    if status == 401:
        raise UsageError(f"the server does not accept the token ({words}); set ROUTER_TOKEN")
    if status == 404:
        raise UsageError("the server has no signal: it is not a router, or of another version")
    raise UsageError(f"the server refuses: {words}")


def _words(error: Exception) -> str:
    return no_answer(error) or str(error)[:200] or type(error).__name__
