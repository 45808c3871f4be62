"""Form-encoded bodies that hold JSON in one field, read with bounded work."""

import binascii
from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any
from urllib.parse import quote_plus

FIELDS_MAX = 100


class FormError(ValueError):
    """The body is no form with exactly one such field."""


class FormTooLargeError(ValueError):
    """The form is more work than a delivery may cost."""


def is_form(content_type: bytes) -> bool:
    """Is the body `application/x-www-form-urlencoded`, whatever its parameters?"""
    kind = content_type[:256].split(b";", 1)[0]
    return kind.strip().lower() == b"application/x-www-form-urlencoded"


def fields_of(body: bytes) -> dict[str, str | list[str]]:
    """
    All fields of a form by name; one that is there several times is a list.

    Raises:
        FormError: an escape is broken, or a text is not UTF-8.
        FormTooLargeError: too many fields.
    """
    try:
        return by_name([(name.decode(), value.decode()) for name, value in pairs_of(body)])
    except UnicodeDecodeError:
        raise FormError("a form field is not UTF-8") from None


def by_name(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Values by name; those of one name that is there several times are a list."""
    found: dict[str, list[Any]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def in_order(names: Iterable[str], fields: dict[str, Any]) -> Iterator[Any]:
    """The value of each pair again; one in place of a list stands for each of its values."""
    left = {name: iter(v) if isinstance(v, list) else repeat(v) for name, v in fields.items()}
    return (next(left[name]) for name in names)


def rewritten(body: bytes, values: Iterable[str]) -> bytes:
    """The form with these values, one a pair; the pairs that keep theirs stay byte for byte."""
    new, pieces = iter(values), []
    for name, sign, value in _pairs(body):
        kept = not (name or sign) or (text := next(new)) == unescaped(value).decode()
        pieces.append(name + (sign + value if kept else b"=" + quote_plus(text).encode("ascii")))
    return b"&".join(pieces)


def with_field(body: bytes, name: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The form with the decoded value of this field changed, and every other byte as it is."""
    pieces = []
    for piece in body.split(b"&"):
        key, sign, value = piece.partition(b"=")
        if key == name and sign:
            value = quote_plus(change(unescaped(value))).encode("ascii")
        pieces.append(key + sign + value)
    return b"&".join(pieces)


def has_field(body: bytes, name: bytes) -> bool:
    """Is there a field of this name?"""
    return body.startswith(name + b"=") or b"&" + name + b"=" in body


def field_of(body: bytes, name: bytes) -> bytes:
    """
    The decoded value of the one field `name`.

    Raises:
        FormError: the field is missing or there twice, or an escape is broken.
        FormTooLargeError: too many fields.
    """
    values = [value for key, _, value in _pairs(body) if key == name]
    if len(values) != 1:
        text = name.decode("ascii")
        raise FormError(f"{len(values)} form fields are named {text!r}, one was expected")
    return unescaped(values[0])


def pairs_of(body: bytes) -> list[tuple[bytes, bytes]]:
    """
    The names and values of a form, decoded, in their order.

    Raises:
        FormError: an escape is broken.
        FormTooLargeError: too many fields.
    """
    return [
        (unescaped(name), unescaped(value)) for name, sign, value in _pairs(body) if name or sign
    ]


def _pairs(body: bytes) -> list[tuple[bytes, bytes, bytes]]:
    if body.count(b"&") >= FIELDS_MAX:
        raise FormTooLargeError(f"over {FIELDS_MAX} form fields")
    return [field.partition(b"=") for field in body.split(b"&")]


def unescaped(value: bytes) -> bytes:
    """
    `+` and %XX decoded, at memory speed.

    With `=` for `%` it is quoted-printable, which the standard library decodes in C, where
    urllib's splitting would hold the loop for a second. Each of its escapes shortens the text by
    two; quoted-printable's own liberties (a broken escape kept, a soft line break) are refused.
    """
    if b"%\r" in value or b"%\n" in value:
        raise FormError("a form field holds a broken escape")
    quoted = value.replace(b"+", b" ").replace(b"=", b"%3D").replace(b"%", b"=")
    plain = binascii.a2b_qp(quoted)
    if len(quoted) - len(plain) != 2 * quoted.count(b"="):
        raise FormError("a form field holds a broken escape")
    return plain
