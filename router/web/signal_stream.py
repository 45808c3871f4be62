"""The signal as server-sent events: the answer to one listener, until either side goes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from litestar.response.base import ASGIResponse

from router.web.signal import Signal, SignalFull, SignalListener

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

CONTENT_TYPE = "text/event-stream"
HELLO = b"retry: 2000\n\n: listening\n\n"
CHANGED = b"data: changed\n\n"
HEARTBEAT = b": still here\n\n"


class SignalStream(ASGIResponse):
    """
    The answer to one client of `caller`, as long as it is `still_admitted`.

    Raises:
        SignalFull: too many listen.
    """

    _should_set_content_length = False

    def __init__(
        self, signal: Signal, caller: str, still_admitted: Callable[[], Awaitable[bool]]
    ) -> None:
        super().__init__(headers={"content-type": CONTENT_TYPE, "x-accel-buffering": "no"})
        if signal.full(caller):
            raise SignalFull
        self._signal, self._caller = signal, caller
        self._still_admitted = still_admitted

    async def send_body(self, send: Send, receive: Receive) -> None:
        """Until the client goes away, or the router does. A slow client delays nobody else."""
        with self._signal.listening(self._caller) as listener:
            leaving = asyncio.ensure_future(_leave(receive, listener))
            try:
                await _body(send, HELLO)
                while await self._woken(listener):
                    data = CHANGED if listener.changed else HEARTBEAT
                    listener.changed = False
                    await _body(send, data)
            finally:
                leaving.cancel()
            await send({"type": "http.response.body", "body": b""})

    async def _woken(self, listener: SignalListener) -> bool:
        """Wait for the next message; False: the client gets nothing more."""
        await listener.woken.wait()
        listener.woken.clear()
        return not listener.gone and await self._still_admitted()


async def _body(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _leave(receive: Receive, listener: SignalListener) -> None:
    """See the client go, also while nothing is sent to it."""
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.leave()
