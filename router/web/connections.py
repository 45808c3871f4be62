"""What all connections of one listener share: limits, counts, and where small POSTs go."""

from collections.abc import Callable

from router.model.settings import Limits
from router.web.client_address import Peers
from router.web.load_shedding import LoadShedder
from router.web.small_post import SmallPosts

LATE = "router.late"
"""Where a request's scope holds a function that says whether it has waited too long."""
TRANSPORT = "router.transport"
"""Where it holds its connection's transport."""

_OF_LIMITS = ("header_s", "keep_alive_s", "body_idle_s", "body_total_s", "answer_s")

OnRefused = Callable[[bytes, str, int, str], None]
"""
Called with (raw path or b"", reason, status, peer) for a request refused before the application.
"""


class Wire:
    """
    Shared by the connections of one listener; belongs to one event loop.

    `group`: takes whole small POSTs from the protocol; None: the application takes everything.
    `patience`: how long a request may wait for its turn.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        peers: Peers | None = None,
        refused: OnRefused | None = None,
        linger_s: float = 1.0,
        group: SmallPosts | None = None,
        patience: LoadShedder | None = None,
    ) -> None:
        self.limits = limits
        self.group = group
        self.linger_s = linger_s
        self.refused: OnRefused = refused or (lambda *_: None)
        self.allowed = {name: getattr(limits, name) for name in _OF_LIMITS} | {"linger_s": linger_s}
        self.step_s = min(self.allowed.values())
        self.patience = patience or LoadShedder()
        self.crowded: Callable[[], None] = lambda: None
        """Called when connections wait long to be accepted; the listener sets it."""
        self.opened_at = 0.0
        """When the listener began: who came before waits for it from then on."""
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
