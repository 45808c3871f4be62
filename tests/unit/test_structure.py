"""Counting before decoding: right about depth, quick about size."""

import json
import random

import pytest

from router.structure import DEPTH_MAX, STRUCTURE_MAX, depth, too_complex


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("levels", [1, 64, 65, 1000, 100_000])
def test_depth_is_exact(levels: int) -> None:
    assert depth(nested(levels)) == levels
    assert (too_complex(nested(levels)) is None) == (levels <= DEPTH_MAX)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100,
        "]" * 100,
        '"' * 3 + "[" * 100,
        "\\" * 3 + "[" * 100,
        '\\"[[[',
        '\n"[\t[\u20ac[' * 40,
        "\\n\\" + "{" * 90,
    ],
)
def test_brackets_in_texts_do_not_count(text: str) -> None:
    for body in (json.dumps([text]), json.dumps({text: [text, {"a": text}]})):
        assert depth(body.encode()) == (1 if body.startswith("[") else 3)
        assert too_complex(body.encode()) is None


def test_texts_do_not_hide_depth() -> None:
    deep = '["]]]]","\\"]","\\\\",' * 70 + "0" + "]" * 70
    assert json.loads(deep)
    assert depth(deep.encode()) == 70
    assert too_complex(deep.encode()) == "nested deeper than 64"


def test_depth_agrees_with_the_decoded_value() -> None:
    rng = random.Random(7)
    for _ in range(300):
        value = made(rng, 0)
        assert depth(json.dumps(value).encode()) == measured(value)


def made(rng: random.Random, level: int) -> object:
    kind = rng.randrange(5 if level < 6 else 2)
    if kind < 2:
        return "".join(rng.choice('[]{}",\\\n a') for _ in range(rng.randrange(9)))
    if kind == 2:
        return {f"k{i}[": made(rng, level + 1) for i in range(rng.randrange(4))}
    return [made(rng, level + 1) for _ in range(rng.randrange(4))]


def measured(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(measured, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(measured, value), default=0)
    return 0


def test_the_structure_limit_is_exact() -> None:
    at = b"[" + b"0," * (STRUCTURE_MAX - 1) + b"0]"
    assert too_complex(at) is None
    assert too_complex(at[:-1] + b",0]") == "over 500,000 structure characters"


def test_what_cannot_be_json_is_not_walked() -> None:
    assert depth(b"[" * 70 + b"]" * 1_100_000) == 0
    assert depth(b"[" * 70 + b'"a' * 2_100_000) == 0


@pytest.mark.parametrize("body", [b"", b'"', b'\\"', b"]]]", b"\xff\xfe[", b"{" * 70 + b'"'])
def test_any_bytes_have_a_depth(body: bytes) -> None:
    assert depth(body) >= -3


@pytest.mark.parametrize("padding", [0, 700_000, 1_500_000])
def test_depth_counts_wherever_it_stands_in_a_large_body(padding: int) -> None:
    """Half of the brackets open long after the others, some on the border of two pieces."""
    for levels in (DEPTH_MAX, DEPTH_MAX + 1):
        half = levels // 2
        body = b"[" * half + b" " * padding + b"[" * (levels - half) + b"]" * levels
        assert (too_complex(body) is None) == (levels == DEPTH_MAX)
        assert json.loads(body) is not None
