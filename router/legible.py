"""
Text from strangers made legible, for terminals and pages alike; times, spans and sizes for reading.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec

from router.structure import indents, too_complex

INDENT = 2
INDENTS_MAX = 8 * 1024 * 1024
"""JSON is indented for reading if that adds no more bytes."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# It must not steer a terminal, nor lie on a page: C0, DEL, C1, what reorders or hides letters.
_HAZARDS = (
    *range(0x20),
    *range(0x7F, 0xA0),
    0x061C,
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
)
_ESCAPES = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _HAZARDS} | {
    code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)
}
_BLOCK_ESCAPES = {code: text for code, text in _ESCAPES.items() if code not in (0x09, 0x0A)}


def visible(text: str) -> str:
    """One line of text, its control characters written as escapes."""
    return text.translate(_ESCAPES)


def visible_block(text: str) -> str:
    """Text that may have lines and tabs; other control characters are written as escapes."""
    return text.replace("\r\n", "\n").translate(_BLOCK_ESCAPES)


def pretty(body: bytes) -> str:
    """
    A body for reading: JSON indented with its numbers as sent, other text escaped. JSON that is too
    complex stays as it came: its indents could be many times as long.
    """
    if too_complex(body) is None and INDENT * indents(body) <= INDENTS_MAX:
        try:
            return visible_block(msgspec.json.format(body, indent=INDENT).decode("utf-8"))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # it is no JSON, or only begins like some that is nested without end
    return visible_block(body.decode("utf-8", "backslashreplace"))


def moment(unix_ms: int | None) -> str:
    """`2026-03-01 12:30:00Z`, or `-`."""
    if unix_ms is None:
        return "-"
    return (_EPOCH + timedelta(milliseconds=unix_ms)).strftime("%Y-%m-%d %H:%M:%SZ")


@lru_cache(maxsize=64)  # every event of a batch, and every job of a delivery, asks for the same
def exact(unix_ms: int) -> str:
    """RFC 3339 to the millisecond, as every `--since` takes it: `2026-03-01T12:30:00.250Z`."""
    seconds, rest = divmod(unix_ms, 1000)
    return f"{_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=64)  # what is shown together happened within few seconds
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat().removesuffix("+00:00")


def ago(unix_ms: int, now_ms: int) -> str:
    """`now`, `12 s ago`, `3 min ago`, `in 5 h`, `2 days ago`; past 30 days the date."""
    apart = abs(now_ms - unix_ms) // 1000
    if apart >= _DATED_S:
        return moment(unix_ms)[:10]
    for size, unit in ((172_800, "days"), (3_600, "h"), (60, "min"), (1, "s")):
        if apart >= size:
            text = f"{apart // _AGO_S[unit]} {unit}"
            return f"in {text}" if unix_ms > now_ms else f"{text} ago"
    return "now"


_DATED_S = 30 * 86_400
_AGO_S = {"s": 1, "min": 60, "h": 3_600, "days": 86_400}


def span(milliseconds: int) -> str:
    """A length of time for reading: `850 ms`, `12.3 s`, `4 m 10 s`, `5 h 2 m`, `3 d 4 h`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    seconds = milliseconds // 1000
    for unit, size, smaller, part in _UNITS:
        if seconds >= size:
            return f"{seconds // size} {unit} {seconds % size // part} {smaller}"
    return f"{milliseconds // 100 / 10:g} s"


_UNITS = (("d", 86_400, "h", 3_600), ("h", 3_600, "m", 60), ("m", 60, "s", 1))


def size_text(count: int) -> str:
    """Bytes for reading: `812 B`, `3.4 KiB`, `12.0 MiB`."""
    for unit, least in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= least:
            return f"{count / least:.1f} {unit}"
    return f"{count} B"


def cut(text: str, most: int) -> str:
    """At most so many characters, and a mark where more would follow."""
    return text if len(text) <= most else f"{text[:most]}…"
