"""What the web room is given: the shapes of the intake and of the operator's verbs."""

from collections.abc import Sequence
from typing import Any, Protocol

from router.model.delivery import InboundRequest
from router.model.target import TargetRow
from router.operator import By


class EndpointPort(Protocol):
    """One endpoint as the door sees it. `body_max` in bytes, `methods` in upper case."""

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
    """The corridor behind the public door. `Any` stands for the intake's own entry type."""

    def find(self, raw_path: bytes) -> Any:
        """The Entry of exactly this path, or None."""
        ...

    async def accept(self, entry: Any, request: InboundRequest) -> ReplyPort:
        """Judge, store and answer one whole request. Never raises."""
        ...

    def refuse(
        self,
        entry: Any,
        reason: str,
        status: int,
        peer: str,
        headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> None:
        """Count a request that the door itself refused; `entry` None: no such endpoint."""
        ...


class OperatorPort(Protocol):
    """The operator's verbs behind the admin door. Bodies and results are JSON objects."""

    async def ready(self) -> bool: ...

    async def status(self) -> dict[str, Any]: ...

    def refusals(self, limit: int) -> list[dict[str, Any]]: ...

    def refusal(self, wanted: str, endpoint: str | None) -> dict[str, Any]: ...

    def output(self, job: str, after: str) -> dict[str, Any]: ...

    async def replayed(self, id_: str) -> dict[str, Any]: ...

    async def replay(self, body: dict[str, Any], by: By) -> dict[str, Any]: ...

    async def cancel(self, body: dict[str, Any], by: By) -> dict[str, Any]: ...

    async def revive(self, body: dict[str, Any], by: By) -> dict[str, Any]: ...

    async def remember(self, body: dict[str, Any], by: By) -> dict[str, Any]: ...

    async def backed_up(self, body: dict[str, Any], by: By) -> dict[str, Any]: ...

    async def prune(self, body: dict[str, Any], by: By) -> dict[str, Any]: ...

    async def targets(self) -> tuple[TargetRow, ...]: ...

    async def pause(self, body: dict[str, Any], by: By) -> dict[str, Any]: ...

    async def resume(self, body: dict[str, Any], by: By) -> dict[str, Any]: ...

    async def reload(self, by: By) -> dict[str, Any]: ...
