"""`router targets`: how they stand; pause one, resume it."""

import click

from router.cli.operator_access import act, ask_running
from router.cli.options import Options, place_options, same_place
from router.cli.output import note, print_answer, print_list, timestamp, when
from router.cli.paging import paged
from router.cli.redraw import watched
from router.clock import SystemClock
from router.model.target import TargetRow
from router.operator.requests import TargetRequest

PLACE = place_options("dev", "store", "admin", "server")
_COLUMNS = (
    "target",
    "state",
    "in use",
    "rate",
    "waiting",
    "dead",
    "oldest due",
    "answered",
    "note",
)
_NAME = click.argument("name", metavar="NAME")
_REASON = click.option(
    "--reason", default="", metavar="TEXT", help="The reason; `router targets` shows it."
)


@click.group(invoke_without_command=True)
@watched
@paged
@PLACE
@click.pass_context
def targets(ctx: click.Context, *, place: Options) -> None:
    """
    Where work goes: whether it is called, how much waits, and what it answered lately.

    Asks the running server; without one it tells what the store remembers.
    """
    if ctx.invoked_subcommand is None:
        rows = _rows(place)
        print_list(rows, _COLUMNS, map(_cells, rows), as_json=place.as_json)


@targets.command()
@_NAME
@_REASON
@PLACE
def pause(*, place: Options, name: str, reason: str) -> None:
    """Call a target no more until it is resumed; its jobs wait."""
    answer = act(place, lambda verbs: verbs.pause(TargetRequest(name, reason)))
    word = "paused" if answer.changed else "was paused already"
    resume = f"router targets resume {name}{same_place()}"
    print_answer(
        answer,
        f"{name} {word}; {answer.jobs} job(s) wait, `{resume}` ends it",
        as_json=place.as_json,
    )


@targets.command()
@_NAME
@_REASON
@PLACE
def resume(*, place: Options, name: str, reason: str) -> None:
    """Call a paused or failing target again, gently at first."""
    answer = act(place, lambda verbs: verbs.resume(TargetRequest(name, reason)))
    word = "resumed" if answer.changed else "was called anyway"
    print_answer(answer, f"{name} {word}; {answer.jobs} job(s) go on", as_json=place.as_json)


def _rows(place: Options) -> tuple[TargetRow, ...]:
    """As a running server sees them, else as the last one left them."""
    found, absent = ask_running(place, lambda questions: questions.targets())
    if absent is not None:
        note(f"no server runs at {absent}: this is what the store remembers")
    return found.targets


def _cells(row: TargetRow) -> list[str]:
    of = "" if row.concurrency is None else f"/{row.concurrency}"
    rate = row.pace if row.pace is not None else row.rate
    return [
        row.name,
        row.state,
        f"{row.in_use}{of}",
        "-" if rate is None else f"{rate:g}/s",
        str(row.queued),
        str(row.dead),
        when(row.due_at),
        "-" if row.success is None else f"{row.success:.0%} of {row.attempts}",
        _note_of(row),
    ]


def _note_of(row: TargetRow) -> str:
    """What a person would want to know of it: why it is not called, or its last error."""
    if row.state == "paused":
        return f"by {row.by} since {timestamp(row.since)}: {row.reason}"
    if row.state == "failing":
        late = row.next_probe is not None and row.next_probe <= SystemClock().now()
        nxt = "the next job tries it" if late else f"next call {when(row.next_probe)}"
        return f"{row.reason}; {nxt if row.next_probe is not None else 'it is called all the same'}"
    if row.state == "recovering":
        return row.reason
    if row.last_error is not None:
        return f"last error {when(row.last_error_at)}: {row.last_error}"
    return ""
