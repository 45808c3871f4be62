"""What stands between an answer and its socket: when bytes leave, and how a connection ends."""

import asyncio
import socket
import struct
from collections.abc import Callable

_TCP_INFO = getattr(socket, "TCP_INFO", None)
_LAST_DATA_RECV = 52  # where Linux's struct tcp_info holds it, in milliseconds


class CorkedTransport:
    """A transport that sends an answer's head together with its body: one call, not two."""

    __slots__ = ("_head", "_transport", "is_closing")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        """Keep the head until the body comes."""
        if self._head is None:
            self._head = data
        else:
            self._transport.write(self._head + data)
            self._head = b""

    def flush(self) -> None:
        """Send a head that has no body."""
        if self._head:
            self._transport.write(self._head)
            self._head = b""

    def close(self) -> None:
        """Send what is kept, then close."""
        self.flush()
        self._transport.close()


class LingeringTransport:
    """
    A transport whose `close` lets the peer finish sending: for requests not wholly read. `linger`
    closes our side and reads theirs away.
    """

    def __init__(self, linger: Callable[[], None], transport: asyncio.Transport) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = linger


def waited_s(transport: asyncio.BaseTransport) -> float:
    """
    How long the last bytes of a connection have been here, in seconds; 0 where nobody knows.

    Under overload a connection waits with the system to be accepted, its request already sent: the
    loop accepts one a turn. Without this the wait would not count.
    """
    if (taken := transport.get_extra_info("socket")) is None or _TCP_INFO is None:
        return 0.0
    try:
        info = taken.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_DATA_RECV + 4)
        return float(struct.unpack_from("=I", info, _LAST_DATA_RECV)[0]) / 1000
    except (OSError, struct.error):
        return 0.0
