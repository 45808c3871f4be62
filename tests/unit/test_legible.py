"""Text, times and sizes for reading."""

import pytest

from router.legible import INDENTS_MAX, ago, exact, pretty, size_text


def test_sizes() -> None:
    assert [size_text(n) for n in (0, 1023, 1024, 5 << 20)] == [
        "0 B", "1023 B", "1.0 KiB", "5.0 MiB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "now"),
        (0.999, "now"),
        (1, "1 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3_599, "59 min ago"),
        (3_600, "1 h ago"),
        (172_799, "47 h ago"),
        (172_800, "2 days ago"),
        (30 * 86_400 - 1, "29 days ago"),
        (30 * 86_400, "2026-08-22"),
        (-0.5, "now"),
        (-90, "in 1 min"),
        (-86_400, "in 24 h"),
        (-40 * 86_400, "2026-10-31"),
    ],
)
def test_how_long_ago(seconds: float, text: str) -> None:
    now = 1_790_000_000_000
    assert ago(now - int(seconds * 1000), now) == text


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" * 50_000 + b"]" * 50_000,
        b"[" * 65 + b"]" * 65,
        b"[" * 100_000 + b'"' * 3_000_000,
    ],
    ids=["begun", "objects", "whole", "one too deep", "behind quotes"],
)
def test_what_nests_too_deep_stays_as_it_came(body: bytes) -> None:
    assert pretty(body) == body.decode()


def test_indents_do_not_make_a_body_many_times_as_long() -> None:
    """Half a million values 60 deep, each on a line of its own, were 60 MB of blanks."""
    body = b"[" * 60 + b",".join([b"1"] * 450_000) + b"]" * 60
    assert pretty(body) == body.decode()
    usual = b'{"lines":[' + b",".join([b'{"id":1}'] * 100_000) + b"]}"
    assert len(usual) < len(pretty(usual)) < len(usual) + INDENTS_MAX


def test_json_is_indented_as_deep_as_it_is_read() -> None:
    assert pretty(b"[" * 64 + b"]" * 64).count("\n") == 126


@pytest.mark.parametrize(
    ("unix_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (1_772_368_200_250, "2026-03-01T12:30:00.250Z"),
        (1_772_368_200_007, "2026-03-01T12:30:00.007Z"),
        (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_a_time_to_the_millisecond(unix_ms: int, text: str) -> None:
    assert exact(unix_ms) == text
