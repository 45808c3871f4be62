"""`router status`: what needs attention, charts, and the busiest places, at one glance."""

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import terminal_size

import click
import msgspec

from router.cli.operator_access import ask_running
from router.cli.options import Options, place_options
from router.cli.output import counted, printed, states, when
from router.cli.redraw import watched
from router.legible import size_text, span, visible
from router.operator.overview_answer import (
    Attention,
    EndpointActivity,
    Overview,
    RefusedSums,
    TargetActivity,
)

PIPED = terminal_size((10_000, 24))


@click.command()
@watched
@place_options("dev", "store", "admin", "server")
@click.option("--check", is_flag=True, help="Exit with 1 if something needs attention.")
def status(*, place: Options, check: bool) -> None:
    """
    What came and failed within the last hour and day, what waits, and what needs attention: that
    stands first, with the command that looks closer.

    Asks the running server; without one it tells what the store remembers.
    """
    found, absent = ask_running(place, lambda questions: questions.overview())
    if absent is not None:
        away = Attention("server", f"no server runs at {absent}", "router serve")
        found = msgspec.structs.replace(found, attention=(away, *found.attention))
    if not printed(found, as_json=place.as_json):
        size = shutil.get_terminal_size() if sys.stdout.isatty() else PIPED
        click.echo("\n".join(StatusText(found, size, when).lines()))
    if check and any(one.kind != "check" for one in found.attention):
        raise click.exceptions.Exit(1)


ATTENTION_MAX = 3
ROWS_MIN, ROWS_MAX = 2, 20
REASONS = 3
FIXED = 19
"""Lines beside those of endpoints and targets, with the prompt below."""
CELL_MAX = 28
BLOCKS = "▁▂▃▄▅▆▇█"
HOUR_BARS, DAY_BARS = 20, 24
ENDPOINT = ("endpoint", "last hour", "day", "refused", "newest")
TARGET = ("target", "last hour", "failed", "mean", "longest", "waiting", "state")


class StatusText:
    """An overview for a terminal of this size; `when` writes its times."""

    def __init__(
        self, found: Overview, size: terminal_size, when: Callable[[int | None], str]
    ) -> None:
        self._found, self._size, self._when = found, size, when

    def lines(self) -> Iterator[str]:
        """All of it, in the lines and columns that there are."""
        found, columns = self._found, self._size.columns
        rows = min(ROWS_MAX, max(ROWS_MIN, (self._size.lines - FIXED) // 2))
        yield from self._attention()
        for part in (
            self._charts(),
            _table(ENDPOINT, map(self._endpoint, found.endpoints[:rows])),
            _table(TARGET, map(_target, found.targets[:rows])),
            self._rest(),
        ):
            yield ""
            yield from (_cut(line, columns) for line in part)

    def _attention(self) -> Iterator[str]:
        needed, mark = self._found.attention, click.style("!", fg="red", bold=True)
        if not needed:
            yield "nothing needs attention"
        shown = needed if len(needed) <= ATTENTION_MAX else needed[: ATTENTION_MAX - 1]
        for one in shown:
            command = f"`{one.command}`"
            room = max(20, self._size.columns - len(command) - 4)
            yield f"{mark} {_cut(visible(one.text), room)}  {command}"
        if left := len(needed) - len(shown):
            yield f"{mark} {left} more: `router status --json` has all of them"

    def _charts(self) -> Iterator[str]:
        hour, day = self._found.hour, self._found.day
        yield f"{'':<11}{'last hour':<{HOUR_BARS + 9}}last 24 hours"
        for name in ("deliveries", "refused", "failed"):
            minutes, quarters = getattr(hour, name), getattr(day, name)
            yield (
                f"{name:<11}{bars(minutes, HOUR_BARS)} {sum(minutes):<7} "
                f"{bars(quarters, DAY_BARS)} {sum(quarters)}"
            )

    def _endpoint(self, one: EndpointActivity) -> Sequence[str]:
        counts = (one.deliveries.hour, one.deliveries.day, one.refused.day)
        newest = self._when(one.last_at) + (", silent" if one.silent else "")
        return (one.name, *map(str, counts), newest)

    def _rest(self) -> Iterator[str]:
        dead, rules = self._found.dead, self._found.rules
        newest = "" if dead.newest_at is None else f", the newest {self._when(dead.newest_at)}"
        if found := self._found.refusals:
            yield f"refused    {', '.join(map(_refused, found[:REASONS]))} in 24 hours"
        yield f"waiting    {self._waiting()}"
        yield f"dead       {counted(dead.count, 'job')}{newest}"
        yield f"store      {self._store()}"
        at = rules.in_force_at
        since = "" if at is None else f", came in force {self._when(at)}"
        yield (
            f"rules      {counted(rules.rules, 'rule')}, generation {rules.generation[:12]}{since}"
        )
        if nodes := [node for node in self._found.nodes if not node.gone]:
            ready = sum(node.unready is None for node in nodes)
            yield f"nodes      {ready} of {len(nodes)} ready"

    def _waiting(self) -> str:
        waiting = self._found.waiting
        if waiting.due_at is None:
            return states(waiting.states)
        target = visible(waiting.target or "")
        return f"{states(waiting.states)}; first due {self._when(waiting.due_at)} ({target})"

    def _store(self) -> str:
        store = self._found.store
        parts = [f"{size_text(store.bytes)} of {size_text(store.max_size)} ({store.percent} %)"]
        if store.grows_by is not None and store.grows_by > 0:
            parts.append(f"{size_text(store.grows_by)} more a day")
        if store.full_at is not None:
            parts.append(f"full {self._when(store.full_at)}")
        return ", ".join(parts)


def bars(counts: Sequence[int], number: int) -> str:
    """So many bars, the highest a whole line high; what happened at all stands above the ground."""
    step, top = len(counts) // number, len(BLOCKS) - 1
    sums = [sum(counts[start : start + step]) for start in range(0, step * number, step)]
    most = max(sums)
    return "".join([BLOCKS[-(-one * top // most) if most else 0] for one in sums])


def _target(one: TargetActivity) -> Sequence[str]:
    times = ("-" if ms is None else span(ms) for ms in (one.mean_ms, one.max_ms))
    counts = map(str, (one.attempts.hour, one.failed.hour))
    return (one.name, *counts, *times, str(one.waiting), one.state)


def _refused(one: RefusedSums) -> str:
    where = "" if one.endpoint is None else f" at {visible(one.endpoint)}"
    return f"{one.refused.day} {one.reason}{where}"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Aligned: names and the last column at the left, figures at the right."""
    lines = [columns, *([_cut(visible(cell), CELL_MAX) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    for name, *figures, last in lines:
        cells = [cell.rjust(width) for cell, width in zip(figures, widths[1:-1], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *cells, last])


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
