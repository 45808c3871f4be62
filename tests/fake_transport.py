"""A connection without a socket: what is sent into a protocol, and what it says."""

import asyncio
from typing import Any


class FakeTransport(asyncio.Transport):
    """
    Gives a protocol what arrives, as a real transport does: not while it reads no more, nor after
    it has closed. `sent` is what it wrote; `how` it ended the connection, if it did.
    """

    def __init__(self, protocol: Any, peer: str = "192.0.2.1") -> None:
        super().__init__()
        self._protocol = protocol
        self._names = {"peername": (peer, 4711), "sockname": ("127.0.0.1", 80)}
        self._held = bytearray()
        self._paused = self._ended = self._lost = False
        self.sent = bytearray()
        self.how = ""
        protocol.connection_made(self)

    def arrives(self, data: bytes) -> None:
        """The peer has sent this."""
        if self._paused or self._held:
            self._held += data
        elif not (self.how in ("closed", "dropped") or self._lost):
            self._protocol.data_received(data)

    def half_close(self) -> None:
        """The peer sends no more."""
        if (
            not (self.how in ("closed", "dropped") or self._lost)
            and not self._protocol.eof_received()
        ):
            self.close()

    def lose(self) -> None:
        """The connection is gone."""
        if not self._lost:
            self._lost = True
            self._protocol.connection_lost(None)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._names.get(name, default)

    def write(self, data: Any) -> None:
        if not self._lost:
            self.sent += data

    def is_closing(self) -> bool:
        return self.how in ("closed", "dropped")

    def close(self) -> None:
        self._end("closed")

    def abort(self) -> None:
        self._end("dropped")

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.how = self.how or "half closed"

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        asyncio.get_running_loop().call_soon(self._catch_up)

    def _catch_up(self) -> None:
        if self._held and not self._paused:
            held, self._held = bytes(self._held), bytearray()
            self.arrives(held)

    def _end(self, how: str) -> None:
        if not self.is_closing():
            self.how = how
            asyncio.get_running_loop().call_soon(self.lose)
