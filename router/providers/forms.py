"""Form-encoded bodies that hold JSON in one field, read with bounded work."""

import binascii

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
    found: dict[str, list[str]] = {}
    try:
        for name, sign, value in _pairs(body):
            if name or sign:
                found.setdefault(unescaped(name).decode(), []).append(unescaped(value).decode())
    except UnicodeDecodeError:
        raise FormError("a form field is not UTF-8") from None
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


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
