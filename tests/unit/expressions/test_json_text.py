"""JSON in and out, exactly."""

from decimal import Decimal

import pytest

from router.expressions import NotJson, decode_json, encode_json, is_json


def test_numbers_are_exact_and_keep_their_digits() -> None:
    text = b'{"a":1.50,"b":123456789012345678901234567890,"c":-0.0,"d":1,"e":0.1}'
    value = decode_json(text)
    assert value["a"] == Decimal("1.50")
    assert isinstance(value["b"], int)
    assert encode_json(value) == text
    assert decode_json(b"1.5e3") == Decimal(1500)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xef\xbb\xbf1",
        b"NaN",
        b"[Infinity]",
        b'"\\ud800"',
        b'"\xff"',
        b"01",
        b"1.",
        b"{'a':1}",
        b"[" * 100_000,
        b"9" * 401,
        b"-" + b"9" * 401,
        b"9" * 5000,
        b'{"a":[' + b"9" * 401 + b"]}",
        b"0." + b"1" * 401,
        b"1e401",
        b"1e-401",
        b"1e" + b"9" * 50,
        b"1 2",
    ],
)
def test_refused(text: bytes) -> None:
    with pytest.raises(NotJson):
        decode_json(text)
    assert not is_json(text)


@pytest.mark.parametrize(
    "text",
    [
        b"9" * 400,
        b"0." + b"1" * 399,
        b"1e400",
        b"1e-400",
        b'"' + b"9" * 5000 + b'"',
        b'[{"a":"\xc3\xa9"}]',
    ],
)
def test_taken(text: bytes) -> None:
    decode_json(text)
    assert is_json(text)


@pytest.mark.parametrize("before", range(205))
def test_a_long_integer_is_found_wherever_it_stands(before: int) -> None:
    with pytest.raises(NotJson):
        decode_json(b'["' + b"x" * before + b'",' + b"7" * 401 + b"]")


def test_numbers_beside_each_other_are_not_one_long_number() -> None:
    """However many there are: what is no digit parts them, or their 400 digits are allowed."""
    for each in (b"1", b"12345678", b"1" * 400, b"1" * 19, b"1" * 18):
        assert len(decode_json(b"[" + b",".join([each] * 500) + b"]")) == 500
