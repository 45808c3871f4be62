"""
Requests that were refused, kept whole for a diagnosis: few, bounded, in memory only.

They come from strangers and may hold anything, so nothing is kept unless the operator has said so
(`server.refusals: {bodies: true}`, or `--dev`), nothing is ever written, and whoever keeps one
hands it over with what could be a credential already removed.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from router.errors import NotFound
from router.model.delivery import InboundRequest

AGENT = b"webhook-rules-router doctor"
"""Who `router doctor` says it is when it asks without a signature whether an address leads here."""

PROBE = "probe"
"""The reason by which such a refusal is counted, so that nobody takes it for a sender's."""

_UNPROVED = frozenset(
    {"missing_signature", "no_secret", "method_not_allowed"}
    | {"address_not_allowed", "ranges_unknown"}
)

RECENT_MAX = 500
KEPT_MAX = 16
BODY_MAX = 256 * 1024


class KeptRefusal(msgspec.Struct, frozen=True):
    """
    One refused request. `at` in Unix milliseconds; `reason` is the word of the refusal. Of a body
    over BODY_MAX only the size is kept, and `cut` is true.
    """

    id: str
    at: int
    endpoint: str
    reason: str
    request: InboundRequest
    body_bytes: int
    cut: bool = False


def is_probe(headers: Iterable[tuple[bytes, bytes]], reason: str) -> bool:
    """
    Is a request refused for this reason one of `router doctor`'s own? A stranger who says so hides
    nothing by it: whatever was shown as a proof, and was none, is never taken for a probe.
    """
    return reason in _UNPROVED and (b"user-agent", AGENT) in headers


class Refusals:
    """
    The last refusals, and the last few requests that were refused; `wanted` says at each refusal
    whether to keep its request. `node` is the number of this node of several: part of their ids,
    so that one of another node is not taken for ours.
    """

    def __init__(
        self, wanted: Callable[[], bool] = lambda: False, node: Callable[[], str] | None = None
    ) -> None:
        self.wanted, self._node = wanted, node
        self._recent: deque[dict[str, Any]] = deque(maxlen=RECENT_MAX)
        self._kept: deque[KeptRefusal] = deque(maxlen=KEPT_MAX)
        self._count = 0

    def add(self, refusal: dict[str, Any]) -> None:
        """Remember that a request was refused, and why."""
        self._recent.append(refusal)

    def recent(self, limit: int) -> list[dict[str, Any]]:
        """The newest refusals, newest first."""
        return list(self._recent)[: -limit - 1 : -1]

    def clear(self) -> None:
        """Forget all of them."""
        self._recent.clear()
        self._kept.clear()

    def keep(self, endpoint: str, reason: str, at: int, request: InboundRequest) -> str:
        """Keep a request that holds no credentials any more; the id to ask for it by."""
        self._count += 1
        size = len(request.body)
        cut = size > BODY_MAX
        if cut:
            request = msgspec.structs.replace(request, body=b"")
        name = f"ref_{self._count}" if self._node is None else f"ref_{self._node()}_{self._count}"
        self._kept.append(KeptRefusal(name, at, endpoint, reason, request, size, cut))
        return name

    def get(self, wanted: str, endpoint: str | None = None) -> KeptRefusal:
        """
        The one of this id, or for `last` the newest (of an endpoint, if one is named).

        Raises:
            NotFound: it is not kept (any more); the text says how to have them kept.
        """
        for kept in reversed(self._kept):
            if kept.id == wanted or (wanted == "last" and endpoint in (None, kept.endpoint)):
                return kept
        if wanted != "last":
            raise NotFound(f"no refused request {wanted} is kept; only the last {KEPT_MAX} are")
        whose = f" of endpoint {endpoint}" if endpoint else ""
        how = "" if self.wanted() else ": say `server: {refusals: {bodies: true}}` to keep them"
        raise NotFound(f"no refused request{whose} is kept{how}")
