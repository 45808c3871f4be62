"""What all connections of one listener share: limits, counts, and the answers written by hand."""

from collections.abc import Callable
from http import HTTPStatus

from router.model.settings import Limits
from router.web.client_address import Peers
from router.web.load_shedding import LoadShedder

RETRY_AFTER_S = 5

LATE = "router.late"
"""Where a request's scope holds a function that says whether it has waited too long."""

OnRefused = Callable[[bytes, str, int, str], None]
"""
Called with (raw path or b"", reason, status, peer) for a request refused before the application.
"""


class Wire:
    """Shared by the connections of one listener; belongs to one event loop."""

    def __init__(
        self,
        limits: Limits,
        *,
        peers: Peers | None = None,
        refused: OnRefused | None = None,
        linger_s: float = 1.0,
    ) -> None:
        self.limits = limits
        self.linger_s = linger_s
        self.refused: OnRefused = refused or (lambda *_: None)
        self.step_s = min(
            limits.header_s,
            limits.keep_alive_s,
            limits.body_idle_s,
            limits.body_total_s,
            limits.answer_s,
            linger_s,
        )
        self.patience = LoadShedder()
        self.crowded: Callable[[], None] = lambda: None
        """Called when connections wait long to be accepted; the listener sets it."""
        self._peers = peers or Peers()
        self._open: dict[str, int] = {}

    def admit(self, address: str) -> bool:
        """Count one more connection of this address; False: it has its full number already."""
        if self._peers.unbounded(address):
            return True
        held = self._open.get(address, 0)
        if held >= self.limits.connections_per_address:
            return False
        self._open[address] = held + 1
        return True

    def release(self, address: str) -> None:
        """Undo one admission."""
        held = self._open.get(address, 0)
        if held > 1:
            self._open[address] = held - 1
        else:
            self._open.pop(address, None)


def error_body(word: str) -> bytes:
    """The whole body of a refusal."""
    return b'{"error":"%s"}' % word.encode("ascii")


def closing_answer(status: int, word: str) -> bytes:
    """A complete response that ends its connection."""
    body = error_body(word)
    retry = b"retry-after: %d\r\n" % RETRY_AFTER_S if status == 503 else b""
    return (
        b"HTTP/1.1 %d %s\r\n" % (status, HTTPStatus(status).phrase.encode("ascii"))
        + b"content-type: application/json\r\n"
        + b"content-length: %d\r\n" % len(body)
        + retry
        + b"connection: close\r\n\r\n"
        + body
    )
