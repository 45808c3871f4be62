"""The live feed as server-sent events: one watcher's answer, until either side goes."""

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import Any

from litestar.response.base import ASGIResponse

from router.web.connections import TRANSPORT
from router.web.feed import HEARTBEAT_S, Feed, FeedFilter, FeedFull, Watcher

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

CONTENT_TYPE = "text/event-stream"
UNREAD_BYTES = 65_536
"""What the system holds for a client that does not read: more is left in the ring."""
HELLO = b'retry: 2000\nevent: hello\ndata: {"heartbeat_s": %d}\n\n' % HEARTBEAT_S


class EventStream(ASGIResponse):
    """
    The answer to one client, who saw the message `last` last, as long as it is `still_admitted`.

    Raises:
        FeedFull: too many watch.
    """

    _should_set_content_length = False

    def __init__(
        self,
        feed: Feed,
        wanted: FeedFilter,
        last: str | None,
        still_admitted: Callable[[], Awaitable[bool]],
    ) -> None:
        super().__init__(headers={"content-type": CONTENT_TYPE})
        if feed.full:
            raise FeedFull
        self._feed = feed
        self._wanted = wanted
        self._last = last
        self._still_admitted = still_admitted

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answer on a connection that holds little of what its client does not read."""
        taken = scope[TRANSPORT].get_extra_info("socket") if TRANSPORT in scope else None
        if taken is not None:
            with contextlib.suppress(OSError):  # gone already
                taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNREAD_BYTES)
        await super().__call__(scope, receive, send)

    async def send_body(self, send: Send, receive: Receive) -> None:
        """
        Until the client goes away, or the router does.

        A client that reads slowly holds up nobody but itself: `send` waits for it, and meanwhile
        the ring goes past its place.
        """
        with self._feed.watching(self._wanted, self._last) as watcher:
            leaving = asyncio.ensure_future(_leave(receive, watcher))
            try:
                await _body(send, HELLO + self._feed.take(watcher))
                while not watcher.gone:
                    await _next(self._feed, watcher, send, self._still_admitted)
            finally:
                leaving.cancel()
            await send({"type": "http.response.body", "body": b""})


async def _next(
    feed: Feed, watcher: Watcher, send: Send, still_admitted: Callable[[], Awaitable[bool]]
) -> None:
    watcher.woken.clear()
    if data := feed.take(watcher):
        if not await still_admitted():
            watcher.leave()
            return
        await _body(send, data)
    if feed.behind(watcher):
        await asyncio.sleep(0)  # others first: nothing of this is urgent
    elif not (watcher.beat or watcher.gone):
        await watcher.woken.wait()


async def _body(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _leave(receive: Receive, watcher: Watcher) -> None:
    """See the client go, also while nothing happens that could be sent to it."""
    while (await receive())["type"] != "http.disconnect":
        pass
    watcher.leave()
