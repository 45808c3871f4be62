"""Forms: one field out of a body, with bounded work."""

import random
from urllib.parse import quote_plus, unquote_to_bytes

import pytest

from router.providers.forms import FormError, FormTooLargeError, field_of, is_form, unescaped


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        (b"application/x-www-form-urlencoded", True),
        (b"Application/X-WWW-Form-Urlencoded ; charset=utf-8", True),
        (b"application/json", False),
        (b"", False),
        (b";" * 5000, False),
        (b"multipart/form-data", False),
    ],
)
def test_what_a_form_is(content_type: bytes, expected: bool) -> None:
    assert is_form(content_type) is expected


def test_one_field_among_others() -> None:
    text = '{"a b": "é+%"}'
    body = f"a=1&payload={quote_plus(text)}&b".encode()
    assert field_of(body, b"payload") == text.encode()


@pytest.mark.parametrize("body", [b"", b"payload", b"a=1", b"&&&", b"payload2=1"])
def test_no_value(body: bytes) -> None:
    if body == b"payload":
        assert field_of(body, b"payload") == b""
    else:
        with pytest.raises(FormError, match="0 form fields"):
            field_of(body, b"payload")


def test_the_field_twice_is_refused() -> None:
    with pytest.raises(FormError, match="2 form fields"):
        field_of(b"payload=1&payload=2", b"payload")


def test_many_fields_are_refused() -> None:
    with pytest.raises(FormTooLargeError):
        field_of(b"a=1&" * 10_000 + b"payload=1", b"payload")


@pytest.mark.parametrize("value", [b"%", b"%2", b"%zz", b"%%41", b"a%\r\nb", b"%=3D", b"%\n"])
def test_broken_escapes_are_refused(value: bytes) -> None:
    with pytest.raises(FormError, match="broken escape"):
        unescaped(value)


def test_all_bytes_are_decoded_as_the_standard_library_does() -> None:
    rng = random.Random(3)
    for _ in range(500):
        raw = bytes(rng.randrange(256) for _ in range(rng.randrange(40)))
        escaped = "".join(
            chr(b) if rng.random() < 0.3 and b not in b"%+" else f"%{b:02{rng.choice('xX')}}"
            for b in raw
        ).encode("latin-1")
        assert unescaped(escaped) == unquote_to_bytes(escaped) == raw
