"""Whether a value is what a type says; shapes are held to their samples with it."""

import re

from router.expressions.absent import JSON
from router.expressions.compare import exact, is_number
from router.typing.formats import misfits
from router.typing.lattice import (
    ABSENT,
    FALSE,
    LIST,
    NULL,
    NUMBER,
    OBJECT,
    TEXT,
    TRUE,
    Type,
    elements,
    word,
)

_TEXTS = {
    "money": r"|[+-]?\d+(\.\d+)?",
    "email": r"|[^@]+@.*",
    "url": r"|.*[/:].*",
    "ip": r"|[0-9.]+|[0-9a-fA-F:.]+",
    "country_name": r"(?![A-Z]{2}$).*",
    "repository_name": r"|[^/]+/[^/]+",
    "git_sha": r"|[0-9a-f]{40}|[0-9a-f]{64}",
}
"""What texts of those formats look like that no constant is held to."""


def misfit(kind: Type, value: JSON, place: str = "payload") -> str | None:
    """Why the value is not of this type, naming the place; None if it is."""
    if not kind.kinds & _kind_of(value):
        return f"{place} should be {word(kind)}, and is {value!r}"
    if isinstance(value, str):
        return _of_text(kind, value, place)
    if is_number(value):
        return _wrong_constant(kind.numbers, exact(value), place)
    if isinstance(value, list):
        each = (misfit(elements(kind), one, f"{place}[{at}]") for at, one in enumerate(value))
        return next((why for why in each if why is not None), None)
    return _of_object(kind, value, place) if isinstance(value, dict) else None


def _of_text(kind: Type, value: str, place: str) -> str | None:
    if (form := misfits(kind.format, value)) is not None:
        return f"{place} should be {form.about}, and is {value!r}"
    if not re.fullmatch(_TEXTS.get(kind.format or "", ".*"), value, re.DOTALL):
        return f"{place} should be written as {kind.format} is, and is {value!r}"
    return _wrong_constant(kind.texts, value, place)


def _kind_of(value: JSON) -> int:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return TRUE if value else FALSE
    if isinstance(value, str):
        return TEXT
    if isinstance(value, list):
        return LIST
    return OBJECT if isinstance(value, dict) else NUMBER


def _wrong_constant(known: frozenset[object] | None, value: object, place: str) -> str | None:
    if known is None or value in known:
        return None
    return f"{place} is none of its values: {value!r}"


def _of_object(kind: Type, value: dict[str, JSON], place: str) -> str | None:
    for name, one in value.items():
        if (field := kind.fields.get(name, kind.rest)) is None:
            return f"{place} has no field {name!r}"
        if (why := misfit(field, one, f"{place}.{name}")) is not None:
            return why
    missing = [n for n, k in kind.fields.items() if n not in value and not k.kinds & ABSENT]
    return f"{place} lacks {missing[0]!r}" if missing else None
