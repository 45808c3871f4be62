"""The router that is listened to: what came after a place, and the feed that says when to ask."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from router.cli.admin import tls_fault
from router.cli.listening.delivery import FeedPage
from router.errors import RouterError, UsageError

if TYPE_CHECKING:
    import httpx

HEARTBEAT_S = 15.0
"""As often the router gives a sign of life."""
SILENCE_S = 2 * HEARTBEAT_S
CONNECT_S = 10.0
ANSWER_S = 60.0
PAGE = 50
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0
_CHUNK_TAIL = 64


class Lost(RouterError):
    """The router cannot be asked just now; the text says why."""


class Waits:
    """Longer and longer waits, each with jitter, until something has gone well."""

    def __init__(
        self, rng: random.Random, first_s: float = FIRST_WAIT_S, longest_s: float = LONGEST_WAIT_S
    ) -> None:
        self._rng = rng
        self._first_s = first_s
        self._longest_s = longest_s
        self._failures = 0

    def next_s(self) -> float:
        """How long to wait now."""
        most = min(self._longest_s, self._first_s * 2.0 ** min(self._failures, 16))
        self._failures += 1
        return most * self._rng.uniform(0.5, 1.0)

    def over(self) -> None:
        """It went well."""
        self._failures = 0


class DeliverySource:
    """
    The ledger behind an admin door. `endpoints` and `events`: only those; empty: all.

    Its client's base URL is the door's, with the token in its headers.
    """

    def __init__(
        self, client: "httpx.AsyncClient", *, endpoints: frozenset[str], events: frozenset[str]
    ) -> None:
        self._client = client
        filters = {"endpoint": ",".join(sorted(endpoints)), "event": ",".join(sorted(events))}
        self._filters = {name: value for name, value in filters.items() if value}

    async def after(self, *, cursor: str | None, since: str) -> FeedPage:
        """
        The deliveries after a place, in the order of the ledger.

        Raises:
            Lost: not just now.
            UsageError: never: the router refuses the token or the question.
        """
        import httpx

        place = {"since": since} if cursor is None else {"cursor": cursor}
        query = {**self._filters, **place, "limit": str(PAGE)}
        try:
            response = await self._client.get("/api/deliveries/after", params=query)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Lost(_words(error)) from None
        _check(response.status_code, response.content)
        try:
            return msgspec.json.decode(response.content, type=FeedPage)
        except msgspec.DecodeError:
            raise UsageError("the server answers, but not as a router's admin door") from None

    @asynccontextmanager
    async def feed(self, silence_s: float) -> AsyncIterator[AsyncIterator[bytes]]:
        """
        The live feed of deliveries, piece by piece; longer silence is a loss.

        Raises:
            Lost, UsageError: as `after`.
        """
        import httpx

        query = {**self._filters, "kinds": "delivery"}
        timeout = httpx.Timeout(CONNECT_S, read=silence_s)
        try:
            async with self._client.stream(
                "GET", "/api/feed", params=query, timeout=timeout
            ) as response:
                if response.status_code != httpx.codes.OK:
                    _check(response.status_code, await response.aread())
                yield response.aiter_raw()
        except httpx.ReadTimeout:
            raise Lost(f"no sign of life for {silence_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Lost(_words(error)) from None


class Ears:
    """
    Keeps the feed open, for ever. `woken` is set when it is time to ask what has come.

    `connected` is true only while the feed has been heard within `silence_s`; `told` hears of each
    change: None for connected, else why not, and in how many seconds it is tried again.
    """

    def __init__(
        self,
        source: DeliverySource,
        *,
        waits: Waits,
        told: Callable[[str | None, float], None],
        silence_s: float = SILENCE_S,
    ) -> None:
        self._source = source
        self._waits = waits
        self._told = told
        self._silence_s = silence_s
        self.connected = False
        self.woken = asyncio.Event()

    async def run(self) -> None:
        """
        Listen, and connect again when it ends.

        Raises:
            UsageError: the router refuses us.
        """
        while True:
            try:
                await self._hear()
                why = "the router has closed the connection"
            except Lost as lost:
                why = str(lost)
            self.connected = False
            self.woken.set()  # who waits for us must now look for himself
            wait_s = self._waits.next_s()
            self._told(why, wait_s)
            await asyncio.sleep(wait_s)

    async def _hear(self) -> None:
        async with self._source.feed(self._silence_s) as pieces:
            tail = b""
            async for piece in pieces:
                if not self.connected:
                    self.connected = True
                    self._waits.over()
                    self._told(None, 0.0)
                    self.woken.set()
                # Not only signs of life: something has come, or was missed.
                if b"event:" in tail + piece:
                    self.woken.set()
                tail = piece[-_CHUNK_TAIL:] if b"event:" not in piece[-_CHUNK_TAIL:] else b""


def _check(status: int, body: bytes) -> None:
    if status == 200:
        return
    words = _detail(body) or f"it answers {status}"
    if status in (408, 425, 429) or status >= 500:
        raise Lost(words)
    if status == 401:
        raise UsageError(f"the server does not accept the token ({words}); set ROUTER_TOKEN")
    if status == 404:
        raise UsageError("the server has no live feed: it is no router, or an older one")
    raise UsageError(f"the server refuses: {words}")


def _detail(body: bytes) -> str:
    try:
        told = msgspec.json.decode(body, type=dict[str, object])
    except msgspec.DecodeError:
        return ""
    return str(told.get("detail") or told.get("error") or "")[:300]


def _words(error: Exception) -> str:
    import httpx

    if isinstance(error, httpx.ConnectError):
        return tls_fault(error) or "nothing listens there"
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    return str(error)[:200] or type(error).__name__
