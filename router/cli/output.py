"""How answers look: tables on a terminal, plain text in a pipe, JSON when asked."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import click
import msgspec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = frozenset({"received", "ended", "at", "delivery", "job", "endpoint", "rule", "url"})
_SHORT_MIN = 16  # `dlv_` and twelve characters

# Text from strangers must not steer a terminal: C0, DEL, C1, and what reorders or hides letters.
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
    """A body for reading: JSON indented with its numbers as sent, other text escaped."""
    try:
        return visible_block(msgspec.json.format(body, indent=2).decode("utf-8"))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return visible_block(body.decode("utf-8", "backslashreplace"))


def moment(unix_ms: int | None) -> str:
    """`2026-03-01 12:30:00Z`, or `-`."""
    if unix_ms is None:
        return "-"
    return (_EPOCH + timedelta(milliseconds=unix_ms)).strftime("%Y-%m-%d %H:%M:%SZ")


def when(unix_ms: int | None, now_ms: int) -> str:
    """For lists: `12:30:00Z` of today (UTC), `2026-03-01 12:30Z` of other days, or `-`."""
    whole = moment(unix_ms)
    if whole[:10] == moment(now_ms)[:10]:
        return whole[11:]
    return whole if unix_ms is None else f"{whole[:16]}Z"


def span(milliseconds: int) -> str:
    """A length of time for reading: `850 ms`, `12.3 s`, `4 m 10 s`."""
    if milliseconds < 1000:
        return f"{milliseconds} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1000:.1f} s"
    minutes, rest = divmod(milliseconds // 1000, 60)
    return f"{minutes} m {rest} s"


def states(counts: Mapping[str, int]) -> str:
    """`2 succeeded, 1 dead`, or `-`."""
    return ", ".join(f"{n} {state}" for state, n in sorted(counts.items()) if n) or "-"


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """Each id cut to the shortest length at which all of these differ."""
    whole = list(dict.fromkeys(ids))
    for length in range(_SHORT_MIN, 30):
        if len({i[:length] for i in whole}) == len(whole):
            return {i: i[:length] for i in whole}
    return {i: i for i in whole}


def print_json(value: Any) -> None:
    """One JSON document, indented."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(text.decode("utf-8"))


def note(text: str) -> None:
    """A word beside the answer: on stderr, so that it never spoils a pipe."""
    click.echo(text, err=True)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table: with rich on a terminal, aligned plain text elsewhere. Cells are escaped."""
    shown = [[visible(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich_table(columns, shown)
    else:
        _plain_table(columns, shown)


def _rich_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        # What people copy stays whole as long as it can; long words at the end give way first.
        table.add_column(column, overflow="fold", no_wrap=column in _WHOLE)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def _plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [[c.upper() for c in columns], *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())
