"""How answers look: tables on a terminal, plain text in a pipe, JSON with `--json`."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from shutil import get_terminal_size
from typing import Any

import click
import msgspec

from router.cli.table import table_lines
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


def print_answer(answer: Any, text: str, *, as_json: bool) -> None:
    """One answer: in JSON, or as this text."""
    if as_json:
        print_json(answer)
    else:
        click.echo(text)


def print_list(
    found: Any, columns: Sequence[str], rows: Iterable[Sequence[str]], *, as_json: bool
) -> None:
    """What was found: in JSON, or as a table of these rows."""
    if as_json:
        print_json(found)
    else:
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
