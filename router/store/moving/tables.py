"""What is copied: each table of the database with its columns, and rows that fit them."""

from collections.abc import Sequence
from typing import Any

from router.model.ids import DIGITS
from router.store.postgres.ids import ULID_LENGTH
from router.store.postgres.texts import escape

Row = tuple[Any, ...]


def _columns(text: str) -> dict[str, str]:
    return {column.split()[0]: column.split()[1] for column in text.split(",")}


TABLES = {
    "generations": _columns(
        "n integer, id text, text text?, context bytea?, created_at bigint, named_on integer"
    ),
    "deliveries": _columns(
        "id uuid, kept boolean, endpoint text, state smallint, received_at bigint, "
        "generation integer, names escaped, events bytea, meta bytea, body bytea"
    ),
    "copies": _columns("delivery uuid, count bigint, last_seen_at bigint"),
    "keys": _columns("key bytea, delivery uuid, until bigint"),
    "jobs": _columns(
        "id uuid, kept boolean, delivery uuid, target text, rule text, action text, kind smallint, "
        "event_index integer, event_id uuid, event escaped, created_at bigint, generation integer, "
        "covers integer[]?, replay_of text?, replay integer?, run uuid?, needs text?, "
        "state smallint?, due_at bigint?, attempt integer, charged integer, deaths integer, "
        "started_at bigint?, ended_at bigint?, reason escaped?"
    ),
    "queue": _columns(
        "job uuid, delivery uuid, run uuid?, target text, rule text, state smallint, "
        "replayed boolean, due_at bigint, waits smallint, attempt integer, charged integer, "
        "deaths integer, lease text?, started_at bigint?"
    ),
    "attempts": _columns(
        "job uuid, number integer, kept boolean, started_at bigint, ended_at bigint, "
        "outcome smallint, reason escaped?, result bytea, generation integer"
    ),
    "runs": _columns(
        "id uuid, jobs uuid[], rule text, delivery uuid, origin uuid?, turn smallint?, key bytea?, "
        "n bigint?, value escaped?, at_once bigint?, on_busy smallint?, on_dead smallint?"
    ),
    "rule_generations": _columns("rule text, generation integer"),
    "published": _columns("seq bigint, generation text, by escaped, at bigint"),
    "rule_counts": _columns(
        "rule text, evaluated bigint, matched bigint, errored bigint, shadowed bigint, "
        "counted_since bigint, last_matched_at bigint?"
    ),
    "activity": _columns(
        "span_s integer, at bigint, kind text, name text, detail text, count bigint, total bigint, "
        "most bigint"
    ),
    "facts": _columns("name text, value bytea, updated_at bigint"),
    "replays": _columns(
        "n integer, id text, asked bytea, items bytea?, state smallint, reached text, due bytea, "
        "deliveries bigint, jobs bigint, skipped bigint, passed bigint, earlier text?, "
        "created_at bigint, ended_at bigint?"
    ),
    "audit": _columns(
        "n bigint, id text, at bigint, who escaped, peer escaped?, verb text, asked bytea, "
        "count bigint, way text?"
    ),
}
"""Columns by name, with their types: `escaped` is text from outside, `?` may be NULL."""

_BITS = {"smallint": 15, "integer": 31, "bigint": 63}
_DIGITS = frozenset(DIGITS)


def checked(table: str, values: Sequence[Any]) -> Row:
    """
    A row of the table, ids with their kinds. Raises ValueError: a value is none of its column's.
    """
    columns = TABLES[table].items()
    row = []
    for (name, kind), value in zip(columns, values, strict=True):
        try:
            row.append(_taken(kind, value))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return tuple(row)


def _taken(kind: str, value: Any) -> Any:
    if value is None:
        if kind.endswith("?"):
            return None
        raise ValueError("nothing is there")
    plain = kind.removesuffix("?")
    if plain.endswith("[]"):
        if not isinstance(value, list):
            raise ValueError("no list")
        return [_taken(plain[:-2], one) for one in value]
    if plain in _BITS:
        if type(value) is not int or not -1 << _BITS[plain] <= value < 1 << _BITS[plain]:
            raise ValueError(f"no {plain}")
    elif plain == "bytea":
        if not isinstance(value, bytes):
            raise ValueError("no bytes")
    elif plain == "uuid":
        _check_id(value)
    elif plain != "boolean":
        return _text(value, escaped=plain == "escaped")
    return value


def _check_id(value: Any) -> None:
    is_id = isinstance(value, str) and len(value) == ULID_LENGTH + 4 and value[4] in "01234567"
    if not is_id or not _DIGITS.issuperset(value[4:]):
        raise ValueError("no id")


def _text(value: Any, *, escaped: bool) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("no text") from None
    if escaped:
        return escape(value)
    if "\0" in value:
        raise ValueError("a NUL in it")
    return value
