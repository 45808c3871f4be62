"""What arrives: the request, its verdict, and the delivery and events it becomes."""

from typing import Any, Literal

import msgspec

JSON = Any
"""A JSON value: None, bool, int, Decimal, str, list of JSON, or dict of str to JSON."""

DeliveryState = Literal["routed", "unmatched", "unparsed", "too_complex"]

REMOVED = "[removed]"


class InboundRequest(msgspec.Struct, frozen=True, gc=False):
    """
    One HTTP request, whole, as bytes.

    `raw_path` excludes the query; `headers` are (lower-case name, value) in wire order;
    `peer` is the sender's address; `received_at` is Unix milliseconds. `public_url` is where its
    endpoint's sender was told to send, as far as this is known: without a path only where that
    is the path of the request.
    """

    method: str
    raw_path: bytes
    query_string: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    peer: str
    received_at: int
    public_url: str = ""


class LiveSecret(msgspec.Struct, frozen=True, gc=False):
    """A secret that may verify now. Its value never appears in a representation."""

    name: str
    value: bytes

    def __repr__(self) -> str:
        return f"LiveSecret(name={self.name!r}, value='***')"


RECOVERED = "recovered"
"""The flag of a delivery that was fetched from its sender's API, which never could deliver it."""


class Verified(msgspec.Struct, frozen=True, gc=False):
    """
    The request is genuine; `secret` names the one that proved it (None: endpoint unsigned).
    `recovered`: it was fetched from its sender's API with that secret.
    """

    secret: str | None
    recovered: bool = False


class Refused(msgspec.Struct, frozen=True, gc=False):
    """
    The request is not proved genuine.

    `reason` is a short fixed word (metrics label: `missing_signature`, `bad_signature`,
    `malformed_signature`, `ambiguous_header`, `stale_timestamp`, …); `hint` is for the operator
    and names a known mistake. `status` is what the sender gets.
    """

    reason: str
    status: int = 401
    hint: str | None = None


class DeliveryEvent(msgspec.Struct, frozen=True):
    """
    One thing that happened.

    `index` counts from 0 within its delivery. `raw` is the event's exact bytes when the provider
    splits its batches, else None (the delivery's body is the event). `fields` holds the names a
    provider adds (`shop`, `branch`). `keys` are the dedupe keys, empty for none.
    """

    id: str
    index: int
    name: str
    action: str | None
    payload: JSON
    raw: bytes | None = None
    fields: dict[str, JSON] = {}
    keys: tuple[bytes, ...] = ()


REDACTED_VALUE = "[redacted]"
"""Stands where a value stood that was taken out of a delivery."""

REDACTED = "redacted"
"""The flag of a delivery of which something was taken out."""

BLANKED = "blanked"
"""The flag of a redacted delivery whose body could not be taken apart: all of it was taken out."""


class Redaction(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    What was taken out of a delivery: the values at `paths`, or whole events of a batch, by index.
    `at` is when, in Unix milliseconds, `sha256` (hexadecimal) that of the body as it came.
    """

    at: int
    sha256: str
    paths: tuple[str, ...] = ()
    erased: tuple[int, ...] = ()


class Delivery(msgspec.Struct, frozen=True):
    """
    One genuine request, as stored.

    `headers` are (lower-case name, value as latin-1 text), credentials already `[removed]`;
    `query` likewise as text; `body` is byte for byte what was verified. `received_at` is Unix
    milliseconds. `flags` are short words (`no_id`, `no_key`). `generation` names the ruleset
    that routed it. `damaged`: the disk has changed it since, nothing may be done with it.
    `redacted`: the body, and perhaps more, is not as it came.
    """

    id: str
    endpoint: str
    provider: str
    received_at: int
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    verified_by: str | None
    state: DeliveryState
    event_count: int
    generation: str
    flags: tuple[str, ...] = ()
    peer: str = ""
    replay_of: str | None = None
    damaged: bool = False
    redacted: Redaction | None = None


class DeliverySummary(msgspec.Struct, frozen=True):
    """
    A delivery as a list shows it: no body, but its events, copies and jobs by state. `events` are
    their names, by which they are selected; `full_names` have the action too.
    """

    id: str
    endpoint: str
    provider: str
    received_at: int
    state: str
    events: tuple[str, ...]
    event_count: int
    body_bytes: int
    verified_by: str | None
    duplicates: int
    last_seen_at: int | None
    jobs: dict[str, int]
    flags: tuple[str, ...]
    replay_of: str | None
    full_names: tuple[str, ...] = ()


def full_name(event: str, action: str | None) -> str:
    """An event with its action, as `events` of a rule name it: `pull_request.opened`."""
    return event if action is None else f"{event}.{action}"


def as_request(delivery: Delivery) -> InboundRequest:
    """The stored delivery as the request it was, for reading again (never for verifying)."""
    return InboundRequest(
        delivery.method,
        delivery.path.encode("latin-1"),
        delivery.query.encode("latin-1"),
        tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in delivery.headers),
        delivery.body,
        delivery.peer,
        delivery.received_at,
    )
