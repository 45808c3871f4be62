"""A delivery as the listener gets it, and what became of it here."""

from typing import Any

import msgspec

from router.model.delivery import Delivery


class ArrivedEvent(msgspec.Struct, frozen=True):
    """An event of a delivery."""

    index: int
    id: str
    name: str
    action: str | None = None


class Arrived(msgspec.Struct, frozen=True, rename={"body": "body_base64"}):
    """A delivery of the router, whole; `cursor` is the position after it."""

    cursor: str
    id: str
    endpoint: str
    provider: str
    received_at: int
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    events: tuple[ArrivedEvent, ...]
    state: str = "routed"
    verified_by: str | None = None
    event_count: int = 1
    replay_of: str | None = None

    @property
    def names(self) -> str:
        """Its events, for a line."""
        names = list(dict.fromkeys(event.name for event in self.events))
        shown = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        return f"{shown} ({self.event_count})" if self.event_count > 1 else shown or "-"

    def delivery(self) -> Delivery:
        """As the rest of the router knows it."""
        return Delivery(
            id=self.id,
            endpoint=self.endpoint,
            provider=self.provider,
            received_at=self.received_at,
            method=self.method,
            path=self.path,
            query=self.query,
            headers=self.headers,
            body=self.body,
            verified_by=self.verified_by,
            state="routed",
            event_count=self.event_count,
            generation="",
            replay_of=self.replay_of,
        )


class FeedPage(msgspec.Struct, frozen=True):
    """The deliveries after a cursor, as the router answers."""

    deliveries: tuple[Arrived, ...]
    cursor: str
    more: bool
    removed: int | None = 0
    other: bool = False


class Forwarded(msgspec.Struct, frozen=True):
    """
    One try to forward a delivery. `status` None: no answer came, `error` says why; `unsendable`:
    and none ever will, for it cannot be put into a request.

    `at` is Unix milliseconds; `again_in_s` is set when it will be tried again by itself.
    """

    arrived: Arrived
    url: str
    at: int
    attempt: int
    status: int | None
    took_ms: float
    error: str | None = None
    again_in_s: float | None = None
    saved: str | None = None
    unsendable: bool = False

    @property
    def ok(self) -> bool:
        """Whether the local target accepted it."""
        return self.status is not None and 200 <= self.status < 300

    def as_json(self) -> dict[str, Any]:
        """As one JSON object; no body."""
        arrived = self.arrived
        return {
            "at": self.at,
            "delivery": arrived.id,
            "endpoint": arrived.endpoint,
            "events": [event.name for event in arrived.events],
            "received_at": arrived.received_at,
            "url": self.url,
            "status": self.status,
            "ms": self.took_ms,
            "attempt": self.attempt,
            "error": self.error,
            "again_in_s": self.again_in_s,
            "saved": self.saved,
        }
