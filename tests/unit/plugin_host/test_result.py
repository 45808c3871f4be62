"""What a plugin may return."""

import datetime
import enum
from decimal import Decimal
from typing import Any

import pytest

from router.plugin_host.result import ResultNotJson, encode_result


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, b"null"),
        ({"a": [1, 2.5, True, "x"]}, b'{"a":[1,2.5,true,"x"]}'),
        (Decimal("1.50"), b"1.50"),
        ((1, 2), b"[1,2]"),
        (10**30, b"1" + b"0" * 30),
    ],
)
def test_json_values(value: Any, text: bytes) -> None:
    assert encode_result(value) == text


def _endless() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": {1, 2}}, "result.a is a set"),
        ([b"bytes"], r"result\[0\] is a bytes"),
        ({1: "a"}, "a key of the result is a int"),
        (float("nan"), "nan, which JSON does not have"),
        (Decimal("Infinity"), "which JSON does not have"),
        (datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), "is a datetime"),
        (Colour.RED, "is a Colour"),
        (object(), "is a object"),
        ("x" * 65_535, "65537 bytes"),
        ([0] * 100_000, "over 65536 bytes"),
        (_endless(), "nested deeper than 64"),
        ("\ud800", "cannot be written"),
        (10**5000, "cannot be written"),
    ],
    ids=lambda v: v if isinstance(v, str) and len(v) < 40 else type(v).__name__,
)
def test_everything_else_is_refused_by_place(value: Any, words: str) -> None:
    with pytest.raises(ResultNotJson, match=words):
        encode_result(value)


def test_64_kib_fit() -> None:
    assert len(encode_result("x" * 65_534)) == 65_536
