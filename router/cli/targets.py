"""`router targets`: how they stand; pause one, resume it."""

import asyncio
from typing import TYPE_CHECKING

import click

from router.cli.admin import AdminClient
from router.cli.generations import rules_to_read
from router.cli.operator_access import act, ask, ask_store
from router.cli.options import Options, place_options
from router.cli.output import moment, note, print_json, print_table, when
from router.cli.remote import Questions, RemoteOperator
from router.clock import SystemClock
from router.model.target import TargetRow
from router.operator.requests import TargetRequest

if TYPE_CHECKING:
    from router.operator.answers import TargetList

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
    "--reason", default="", metavar="TEXT", help="Why, for those who look later."
)


@click.group(invoke_without_command=True)
@PLACE
@click.pass_context
def targets(ctx: click.Context, *, place: Options) -> None:
    """
    Where work goes: whether it is called, how much waits, and what it answered lately.

    Asks the running server; without one it tells what the store remembers.
    """
    if ctx.invoked_subcommand is None:
        _list(place)


@targets.command()
@_NAME
@_REASON
@PLACE
def pause(*, place: Options, name: str, reason: str) -> None:
    """Call a target no more until it is resumed; its jobs wait."""
    answer, _ = act(place, lambda verbs: verbs.pause(TargetRequest(name, reason)))
    if place.as_json:
        print_json(answer)
        return
    word = "paused" if answer.changed else "was paused already"
    click.echo(f"{name} {word}; {answer.jobs} job(s) wait, `router targets resume {name}` ends it")


@targets.command()
@_NAME
@_REASON
@PLACE
def resume(*, place: Options, name: str, reason: str) -> None:
    """Call a paused or failing target again, gently at first."""
    answer, _ = act(place, lambda verbs: verbs.resume(TargetRequest(name, reason)))
    if place.as_json:
        print_json(answer)
        return
    word = "resumed" if answer.changed else "was called anyway"
    click.echo(f"{name} {word}; {answer.jobs} job(s) go on")


def _list(place: Options) -> None:
    rows = _rows(place)
    if place.as_json:
        print_json(rows)
        return
    now = SystemClock().now()
    print_table(_COLUMNS, [_cells(row, now) for row in rows])


def _rows(place: Options) -> tuple[TargetRow, ...]:
    """As a running server sees them, else as the last one left them."""
    if place.server is not None:
        return ask(place, _targets).targets
    place, ruleset = rules_to_read(place)
    with AdminClient.of(place, ruleset) as client:
        if client.is_there():
            return asyncio.run(_targets(RemoteOperator(client))).targets
    note("no server runs: this is what the store remembers")
    return ask_store(ruleset, _targets).targets


async def _targets(questions: Questions) -> "TargetList":
    return await questions.targets()


def _cells(row: TargetRow, now: int) -> list[str]:
    of = "" if row.concurrency is None else f"/{row.concurrency}"
    waiting = row.available + row.retryable + row.waiting
    rate = row.pace if row.pace is not None else row.rate
    answered = "-" if row.success is None else f"{row.success:.0%} of {row.attempts}"
    return [
        row.name,
        row.state,
        f"{row.in_use}{of}",
        "-" if rate is None else f"{rate:g}/s",
        str(waiting),
        str(row.dead),
        when(row.due_at, now),
        answered,
        note_of(row, now),
    ]


def note_of(row: TargetRow, now: int) -> str:
    """What a person would want to know of it: why it is not called, or its last error."""
    if row.state == "paused":
        return f"by {row.by} since {moment(row.since)}: {row.reason}"
    if row.state == "failing":
        return f"{row.reason}; next call {when(row.next_probe, now)}"
    if row.state == "recovering":
        return row.reason
    if row.last_error is not None:
        return f"last error {when(row.last_error_at, now)}: {row.last_error}"
    return ""
