"""Times of our own records: RFC 3339 in JSON, Unix milliseconds inside."""

from collections.abc import Iterator
from typing import Any, TypeVar, get_args, get_origin

import msgspec

from router.errors import UsageError
from router.legible import exact
from router.store.time_text import instant

T = TypeVar("T")

_BEYOND = 10**15
"""Above all times in milliseconds and all counts."""
_NAMES = frozenset({"at", "since", "until", "next_probe", "last_received"})


def is_time(name: str) -> bool:
    """Whether the field of this name is a time."""
    return name in _NAMES or name.endswith("_at")


def dated(value: Any) -> Any:
    """The same with RFC 3339 for every time of a record in it; what is in dicts stays as it is."""
    match value:
        case msgspec.Struct():
            fields = msgspec.structs.fields(value)
            return dates({f.encode_name: dated(getattr(value, f.name)) for f in fields})
        case list() | tuple():
            return [dated(one) for one in value]
        case dict():
            return {name: dated(one) for name, one in value.items()}
    return value


def dates(record: dict[str, Any]) -> dict[str, Any]:
    """A record in a dict, its own times as RFC 3339; the Unix milliseconds stay inside."""
    return {n: exact(v) if is_time(n) and type(v) is int else v for n, v in record.items()}


def decoded(data: bytes, kind: type[T]) -> T:
    """
    The record of this kind whose `dated` JSON this is.

    Raises:
        UsageError: a time is none, or a number of the record is beyond all times and counts.
        msgspec.MsgspecError, UnicodeDecodeError, RecursionError: it is no such record.
    """
    return msgspec.convert(_undated(msgspec.json.decode(data), kind), kind)


def _undated(value: Any, kind: Any) -> Any:
    """Decoded JSON, its times as Unix milliseconds again."""
    match value:
        case list():
            return [_undated(one, kind) for one in value]
        case dict() if get_origin(kind) is dict:
            return {name: _undated(one, get_args(kind)[1]) for name, one in value.items()}
        case dict():
            fields = (msgspec.structs.fields(record) for record in _records(kind))
            types = {field.encode_name: field.type for some in fields for field in some}
            return {n: _read(n, v, types[n]) if n in types else v for n, v in value.items()}
    return value


def _read(name: str, value: Any, kind: Any) -> Any:
    if is_time(name) and isinstance(value, str) and "-" in value:  # `2h` is no time of a record
        return instant(value, 0)
    if isinstance(value, int) and abs(value) >= _BEYOND:
        raise UsageError(f"{name} has more than 15 digits")
    return _undated(value, kind)


def _records(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """The Struct that a type is, or that its items are."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
    for part in get_args(kind):
        yield from _records(part)
