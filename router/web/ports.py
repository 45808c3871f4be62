"""What the web room is given: the shapes of the intake and of the operator's verbs."""

from collections.abc import Sequence
from typing import Any, Protocol

from router.model.delivery import InboundRequest


class EndpointPort(Protocol):
    """One endpoint as the listener sees it. `body_max` in bytes, `methods` in upper case."""

    @property
    def name(self) -> str: ...

    @property
    def body_max(self) -> int: ...

    @property
    def methods(self) -> frozenset[str]: ...


class ReplyPort(Protocol):
    """
    An answer of the intake. `retry_after` in seconds; `close` ends the connection after it;
    `challenge` says by which schemes a sender refused with 401 could prove itself.
    """

    @property
    def status(self) -> int: ...

    @property
    def body(self) -> bytes: ...

    @property
    def content_type(self) -> str: ...

    @property
    def close(self) -> bool: ...

    @property
    def retry_after(self) -> int | None: ...

    @property
    def challenge(self) -> bytes | None: ...


class IntakePort(Protocol):
    """The intake behind the public listener. `Any` stands for the intake's own entry type."""

    def find(self, raw_path: bytes) -> Any:
        """The Entry of exactly this path, or None."""

    async def accept(self, entry: Any, request: InboundRequest) -> ReplyPort:
        """Judge, store and answer one whole request. Never raises."""

    def refuse(
        self,
        entry: Any,
        reason: str,
        status: int,
        peer: str,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Count a request that the listener itself refused; `entry` None: no such endpoint."""
