"""How answers look: tables on a terminal, plain text in a pipe, JSON with `--json`."""

import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import Any
from unicodedata import combining, east_asian_width

import click
import msgspec

from router.legible import ago, exact, visible
from router.operator.times import dated

COPIED = frozenset({"url", "address", "what"})
"""Columns of what people copy, a command in the audit among it."""

_SHORT_MIN = 16  # `dlv_` and twelve characters


def states(counts: Mapping[str, int]) -> str:
    """`2 succeeded, 1 dead`, or `-`."""
    return ", ".join(f"{n} {state}" for state, n in sorted(counts.items()) if n) or "-"


def counted(n: int, noun: str) -> str:
    """`1 job`, `2 deliveries`."""
    many = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{n} {noun if n == 1 else many}"


def event_names(names: Iterable[str], count: int) -> str:
    """The first of these names, each once, and how many events there are."""
    once = list(dict.fromkeys(names))
    shown = ", ".join(once[:3]) + (" …" if len(once) > 3 else "")
    return f"{shown} ({count})" if count > 1 else shown


def shortened(ids: Iterable[str]) -> dict[str, str]:
    """Each id cut to the shortest length at which all of these differ."""
    whole = list(dict.fromkeys(ids))
    for length in range(_SHORT_MIN, 30):
        if len({i[:length] for i in whole}) == len(whole):
            return {i: i[:length] for i in whole}
    return {i: i for i in whole}


def when(at: int | None) -> str:
    """For lists: `3 min ago` on a terminal, elsewhere as `timestamp`."""
    if at is None or not sys.stdout.isatty():
        return timestamp(at)
    from router.clock import SystemClock  # asyncio comes with it, and few commands show times

    return ago(at, SystemClock().now())


def aged(at: int | None) -> str:
    """For one record: `timestamp`, and on a terminal how long ago that is."""
    apart = when(at)
    return apart if apart == timestamp(at) else f"{timestamp(at)} ({apart})"


def timestamp(at: int | None) -> str:
    """RFC 3339, as every `--since` takes it, or `-`."""
    return "-" if at is None else exact(at).replace(".000Z", "Z")


def print_json(value: Any) -> None:
    """One JSON document, indented. Times of our own records are RFC 3339, payloads as they are."""
    text = msgspec.json.format(msgspec.json.encode(dated(value)), indent=2)
    click.echo(text.decode("utf-8"))


def print_exact(value: Any) -> None:
    """One JSON document, indented, its numbers digit for digit and its times as they are."""
    from router.expressions import encode_json

    click.echo(msgspec.json.format(encode_json(value), indent=2).decode("utf-8"))


def note(text: str) -> None:
    """A word beside the answer: on stderr, so that it never spoils a pipe."""
    click.echo(text, err=True)


def printed(answer: Any, *, as_json: bool) -> bool:
    """Whether this was printed: in JSON, if that is asked for; else words are still to be found."""
    if as_json:
        print_json(answer)
    return as_json


def print_answer(answer: Any, text: str, *, as_json: bool) -> None:
    """One answer: in JSON, or as this text."""
    if not printed(answer, as_json=as_json):
        click.echo(text)


def print_list(
    found: Any, columns: Sequence[str], rows: Iterable[Sequence[str]], *, as_json: bool
) -> None:
    """What was found: in JSON, or as a table of these rows."""
    if not printed(found, as_json=as_json):
        print_table(columns, rows)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table: as wide as the terminal, in a pipe as wide as it must be. Cells are escaped."""
    shown = [[visible(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        header, *lines = table_lines(columns, shown, get_terminal_size().columns, COPIED)
        click.echo("\n".join((click.style(header, bold=True), *lines)))
    else:
        loud = [column.upper() for column in columns]
        click.echo("\n".join(table_lines(loud, shown, None)))


Cells = Sequence[str]

_GAP = "  "
_INDENT = "    "


def table_lines(
    columns: Cells, rows: Sequence[Cells], width: int | None, whole: Collection[str] = ()
) -> list[str]:
    """
    The header, then the rows, at most `width` cells of a terminal wide, if words are not longer.

    Words never break inside. The last column may take two lines; what else is too much for a line
    stands below it with its column's name, unless there is nothing to say of it (`-`). Columns
    named in `whole` are never wrapped: they are copied, and the terminal knows where it wraps.
    """
    widths = [max(map(cells, column)) for column in zip(columns, *rows, strict=True)]
    most = _fitting(widths, width)
    if most == len(columns):
        return [_line(row, widths) for row in (columns, *rows)]
    width = width or 0
    if most == len(columns) - 1 and columns[-1] not in whole:
        found = _with_last_wrapped(columns, rows, widths, width)
        if found is not None:
            return found
    lines = [_line(columns[:most], widths)]
    for row in rows:
        lines.append(_line(row[:most], widths))
        lines += [_INDENT + line for line in _below(columns[most:], row[most:], width, whole)]
    return lines


def cells(text: str) -> int:
    """How many cells of a terminal a line of text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def _fitting(widths: Sequence[int], width: int | None) -> int:
    """How many of the columns fit; one at least."""
    taken = 0
    for index, column in enumerate(widths):
        taken += column + (len(_GAP) if index else 0)
        if width is not None and taken > width and index:
            return index
    return len(widths)


def _line(row: Cells, widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cells(cell)) for cell, width in zip(row, widths, strict=False))
    return _GAP.join(padded).rstrip()


def _with_last_wrapped(
    columns: Cells, rows: Sequence[Cells], widths: Sequence[int], width: int
) -> list[str] | None:
    """None: its words are too long for that, or it would take more than two lines."""
    blank = [""] * (len(columns) - 1)
    left = width - sum(widths[:-1]) - len(_GAP) * len(blank)
    if cells(columns[-1]) > left:
        return None
    lines = [_line(columns, widths)]
    for row in rows:
        words = _words(row[-1], left) or [""]
        if len(words) > 2 or any(cells(one) > left for one in words):
            return None
        lines += [_line((*row[:-1], words[0]), widths)]
        lines += [_line((*blank, one), widths) for one in words[1:]]
    return lines


def _below(columns: Cells, row: Cells, width: int, whole: Collection[str]) -> list[str]:
    """`name: cell` of each that says something, as many to a line as it holds."""
    lines: list[str] = []
    for name, cell in zip(columns, row, strict=True):
        said = f"{name}: {cell}"
        if cell in ("", "-"):
            continue
        if lines and cells(lines[-1] + _GAP + said) <= width - len(_INDENT):
            lines[-1] += _GAP + said
        else:
            lines += [said] if name in whole else _words(said, width - len(_INDENT))
    return lines


def _words(text: str, width: int) -> list[str]:
    return wrap(text, max(width, 1), break_long_words=False, break_on_hyphens=False)


WORDS = {
    "blanked": "its whole body was taken out, as the values could not be cut out of it",
    "api_version": "made by another API version than the endpoint expects",
    "no_id": "the sender's id is missing",
    "no_key": "the dedupe key is missing",
    "redacted": "values were taken out of it",
    "recovered": "fetched from its sender's API, which could not deliver it",
}


def flags_text(flags: Iterable[str]) -> str:
    """`api_version: made by another …; no_id: …`, or nothing."""
    return "; ".join(f"{flag}: {WORDS[flag]}" if flag in WORDS else flag for flag in flags)
