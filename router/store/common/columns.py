"""How values become rows and rows values again."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any
from zlib import crc32

import msgspec

from router.kinds import NUMBERED
from router.model.delivery import (
    Delivery,
    DeliveryEvent,
    DeliverySummary,
    Redaction,
    full_name,
)
from router.model.job import Attempt, Job, Predecessor, Wanted
from router.store.common.chains import PAUSED, PREDECESSORS, TARGET, TURN
from router.store.common.damage import UNREADABLE, damaged
from router.store.common.states import DELIVERY_STATES, OUTCOMES, STATES
from router.store.values import EventEntry

MARK = "\x1f"
"""Stands around each event name in the names column, so that a whole name can be searched."""

_JOB_FIELDS = 22
"""Those of JOB_COLUMNS that every job fills, before `covers`."""


class Further(msgspec.Struct, frozen=True, omit_defaults=True):
    """What few deliveries have; a router that does not know one of these passes over it."""

    redacted: Redaction | None = None


class Meta(msgspec.Struct, frozen=True, array_like=True):
    """
    The part of a delivery that no query asks for. In place of `further` most have the checksum.
    """

    provider: str
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    verified_by: str | None
    event_count: int
    flags: tuple[str, ...]
    peer: str
    replay_of: str | None
    further: Further | int = 0


_StoredEvent = tuple[int, str, str, str | None, tuple[bytes, ...], int]

_PLAIN, _CHECKED, _FURTHER = b"\x9a", b"\x9b", b"\x9c"
"""
The meta column is a msgpack list of ten values, and since it has a checksum of eleven; of twelve
where `Further` stands before that.
"""
_plain_of: Callable[[Delivery], tuple[Any, ...]] = attrgetter(*Meta.__struct_fields__[:-1])
_UINT32 = b"\xce"
_UNREADABLE = Meta("", "", "", "", (), None, 0, (), "", None)

_encoder = msgspec.msgpack.Encoder()

encode_json = msgspec.json.Encoder(decimal_format="number").encode
"""A result or context column."""

decode_json = msgspec.json.Decoder(float_hook=Decimal).decode
"""A result's or context's value; fractions come back as exact decimals."""

decode_meta = msgspec.msgpack.Decoder(Meta).decode
"""The meta column's value."""

_needs = msgspec.json.Decoder(tuple[tuple[str, Wanted], ...])
_events = msgspec.msgpack.Decoder(tuple[_StoredEvent, ...])


def encode_meta(d: Delivery) -> bytes:
    """
    A delivery's meta column. Its last value is a checksum of the others and of the body: it finds
    what a disk has changed, not what somebody has.
    """
    plain = _encoder.encode(_plain_of(d))[1:]
    head = _CHECKED
    if d.redacted is not None:
        head, plain = _FURTHER, plain + _encoder.encode(Further(d.redacted))
    return head + plain + _UINT32 + crc32(d.body, crc32(plain)).to_bytes(4, "big")


def mark_of(meta: bytes) -> Redaction | None:
    """What a meta column says was taken out of its delivery."""
    further = decode_meta(meta).further
    return further.redacted if isinstance(further, Further) else None


def is_damaged(meta: bytes, body: bytes) -> bool:
    """Whether this is not what was stored; a row of an older router has nothing to tell it by."""
    if meta[:1] == _PLAIN:
        return False
    return crc32(body, crc32(meta[1:-5])).to_bytes(4, "big") != meta[-4:]


def encode_events(events: Sequence[DeliveryEvent], keys_until: int) -> bytes:
    """A delivery's events column."""
    if len(events) == 1:
        e = events[0]
        return _encoder.encode(
            ((e.index, e.id, e.name, e.action, e.keys, keys_until if e.keys else 0),)
        )
    return _encoder.encode(
        [(e.index, e.id, e.name, e.action, e.keys, keys_until if e.keys else 0) for e in events]
    )


def encode_entries(events: Sequence[EventEntry]) -> bytes:
    """The same of what was decoded."""
    return _encoder.encode([msgspec.structs.astuple(event) for event in events])


def decode_events(blob: bytes) -> tuple[EventEntry, ...]:
    """The events column's value."""
    return tuple([EventEntry(*stored) for stored in _events.decode(blob)])


def encode_names(events: Sequence[DeliveryEvent | EventEntry]) -> str:
    """A delivery's names column."""
    if len(events) == 1:
        return f"{MARK}{events[0].name}{MARK}"
    return MARK + MARK.join(dict.fromkeys([e.name for e in events])) + MARK if events else ""


def decode_names(text: str) -> tuple[str, ...]:
    """The names column's value."""
    return tuple(text[1:-1].split(MARK)) if text else ()


def to_delivery(row: Sequence[Any]) -> Delivery:
    """A delivery from a row of DELIVERY_COLUMNS; one that the disk has changed says so."""
    id_, endpoint, received_at, state, generation, meta, body = row
    damaged = is_damaged(meta, body)
    try:
        m = decode_meta(meta)
    except msgspec.MsgspecError:
        m, damaged = _UNREADABLE, True
    return Delivery(
        id_,
        endpoint,
        m.provider,
        received_at,
        m.method,
        m.path,
        m.query,
        m.headers,
        body,
        m.verified_by,
        DELIVERY_STATES[state],
        m.event_count,
        generation,
        m.flags,
        m.peer,
        m.replay_of,
        damaged,
        m.further.redacted if isinstance(m.further, Further) else None,
    )


def to_summary(row: Sequence[Any], jobs: dict[str, int]) -> DeliverySummary:
    """
    A delivery as a list shows it: from its id, endpoint, time, state, events, meta, size of its
    body, count of copies and time of the last one. Raises Damaged.
    """
    id_, endpoint, received_at, state, blob, meta, size, copies, seen = row
    try:
        events = decode_events(blob)
        m = decode_meta(meta)
    except UNREADABLE as error:
        raise damaged("deliveries", id_, error) from error
    return DeliverySummary(
        id=id_,
        endpoint=endpoint,
        provider=m.provider,
        received_at=received_at,
        state=DELIVERY_STATES[state],
        events=tuple(dict.fromkeys([e.name for e in events])),
        event_count=m.event_count,
        body_bytes=size,
        verified_by=m.verified_by,
        duplicates=copies or 0,
        last_seen_at=seen,
        jobs=jobs,
        flags=m.flags,
        replay_of=m.replay_of,
        full_names=tuple(dict.fromkeys([full_name(e.name, e.action) for e in events])),
    )


def to_job(row: Sequence[Any]) -> Job:
    """A job from a row of JOB_COLUMNS. Raises Damaged."""
    values = list(row[:_JOB_FIELDS])
    covers, needs, waits, turn = row[_JOB_FIELDS:]
    try:
        values[8] = NUMBERED[values[8]]
        values[10] = STATES[values[10]]
        if covers or needs or waits:
            after = decode_needs(needs)
            covered = tuple(msgspec.json.decode(covers)) if covers else ()
            values += [covered, after, _waits_for(waits or 0, after, turn)]
    except UNREADABLE as error:
        raise damaged("jobs", row[0], error) from error
    return Job(*values)


def _waits_for(waits: int, after: tuple[Predecessor, ...], turn: str | None) -> tuple[str, ...]:
    words = {
        PREDECESSORS: "the end of " + ", ".join([need.action for need in after]),
        TURN: f"its turn in group {turn or ''}",
        PAUSED: "its paused rule",
        TARGET: "its paused target",
    }
    return tuple([text for what, text in words.items() if waits & what])


def encode_needs(needs: tuple[Predecessor, ...]) -> str | None:
    """A job's needs column: a list of pairs."""
    return msgspec.json.encode([(n.action, n.wants) for n in needs]).decode() if needs else None


def decode_needs(text: str | None) -> tuple[Predecessor, ...]:
    """The needs column's value."""
    return tuple([Predecessor(*pair) for pair in _needs.decode(text)]) if text else ()


def to_attempt(row: Sequence[Any]) -> Attempt:
    """An attempt from its row: the job's id, then the columns, the generation as its id."""
    job, number, began, ended, outcome, reason, result, generation = row
    return Attempt(
        job, number, began, ended, OUTCOMES[outcome], reason, decode_json(result), generation
    )
