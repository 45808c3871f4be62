"""What the connections of one listener share: limits, counts, and the door."""

import socket
import struct
from asyncio import BaseTransport
from collections.abc import Callable
from typing import Any

from router.model.settings import Limits
from router.web.client_address import Peers
from router.web.door import Door

_TCP_INFO = getattr(socket, "TCP_INFO", None)
_LAST_DATA_RECV = 52  # offset of tcpi_last_data_recv, in ms, in Linux's struct tcp_info
_OF_LIMITS = ("header_s", "keep_alive_s", "body_idle_s", "body_total_s", "answer_s")


class Wire:
    """
    Limits and counts of one listener; `door` takes its requests. Belongs to one event loop.

    `peers`: proxies, of which more connections are allowed. `linger_s`: how long a closing
    connection reads what its peer still sends.
    """

    def __init__(
        self, limits: Limits, door: Door, *, peers: Peers | None = None, linger_s: float = 1.0
    ) -> None:
        self.limits, self.door, self.linger_s = limits, door, linger_s
        self.open = set[Any]()
        """The open connections."""
        self.allowed = allowed_s(limits, linger_s)
        self.step_s = min(self.allowed.values())
        self.crowded: Callable[[], None] = lambda: None
        """Called when connections wait long to be accepted; set by the listener."""
        self.opened_at = 0.0
        """When the listener began, in the loop's seconds."""
        self._peers = peers or Peers()
        self._count: dict[str, int] = {}

    def admit(self, address: str) -> bool:
        """Count one more connection of this address. False: it has its full number already."""
        held = self._count.get(address, 0)
        if held >= self.limits.connections_per_address and not self._peers.unbounded(address):
            return False
        self._count[address] = held + 1
        return True

    def release(self, address: str) -> None:
        """Undo one admission."""
        if held := self._count.pop(address) - 1:
            self._count[address] = held


def allowed_s(limits: Limits, linger_s: float = 1.0) -> dict[str, float]:
    """Return the longest duration of each phase by its setting; see `router.web.phases`."""
    return {name: getattr(limits, name) for name in _OF_LIMITS} | {"linger_s": linger_s}


def waited_s(transport: BaseTransport) -> float:
    """
    Return for how many seconds the last received bytes have been here; 0.0 if unknown.

    Under overload the system holds a connection, its request already sent, until the loop accepts
    it. That wait counts, too.
    """
    if (taken := transport.get_extra_info("socket")) is None or _TCP_INFO is None:
        return 0.0
    try:
        info = taken.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_DATA_RECV + 4)
        return float(struct.unpack_from("=I", info, _LAST_DATA_RECV)[0]) / 1000
    except (OSError, struct.error):
        return 0.0
