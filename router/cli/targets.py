"""`router targets`: how they stand; pause one, resume it."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.admin import AdminClient, NoServer
from router.cli.generations import rules_to_read
from router.cli.open_store import read_store
from router.cli.options import Options, place_options
from router.cli.output import moment, note, print_json, print_table, when
from router.clock import SystemClock
from router.errors import NotFound
from router.model.target import FACT, TargetCounts, TargetRow
from router.rules.ruleset import Ruleset

if TYPE_CHECKING:
    from router.store.sqlite.reader import SqliteReader

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
    answer = _run("pause", place, {"target": name, "reason": reason})
    if place.as_json:
        print_json(answer)
        return
    word = "paused" if answer["changed"] else "was paused already"
    click.echo(
        f"{name} {word}; {answer['jobs']} job(s) wait, `router targets resume {name}` ends it"
    )


@targets.command()
@_NAME
@_REASON
@PLACE
def resume(*, place: Options, name: str, reason: str) -> None:
    """Call a paused or failing target again, gently at first."""
    answer = _run("resume", place, {"target": name, "reason": reason})
    if place.as_json:
        print_json(answer)
        return
    word = "resumed" if answer["changed"] else "was called anyway"
    click.echo(f"{name} {word}; {answer['jobs']} job(s) go on")


def _list(place: Options) -> None:
    rows = _rows(place)
    if place.as_json:
        print_json(rows)
        return
    now = SystemClock().now()
    print_table(_COLUMNS, [_cells(row, now) for row in rows])


def _rows(place: Options) -> tuple[TargetRow, ...]:
    if place.server is None:
        place, ruleset = rules_to_read(place)
        try:
            with AdminClient.of(place, ruleset) as door:
                return msgspec.convert(door.targets(), tuple[TargetRow, ...])
        except NoServer:
            note("no server runs: this is what the store remembers")
            return _offline_rows(ruleset)
    with AdminClient.of(place) as door:
        return msgspec.convert(door.targets(), tuple[TargetRow, ...])


def _offline_rows(ruleset: Ruleset) -> tuple[TargetRow, ...]:
    from router.rules.live import LiveRef, LiveRuleset, SecretValues
    from router.rules.target_rows import target_rows
    from router.wiring.offline import remembered_targets

    async def read(reader: "SqliteReader") -> tuple[dict[str, Any], dict[str, TargetCounts]]:
        return dict(await reader.recall(FACT)), dict(await reader.target_counts())

    nothing: tuple[dict[str, Any], dict[str, TargetCounts]] = ({}, {})
    facts, counts = read_store(ruleset.server.store, read, absent=nothing)
    live = LiveRuleset(ruleset, SecretValues({}, {}))
    return target_rows(live, remembered_targets(LiveRef(live), facts), counts)


def _run(verb: str, place: Options, body: dict[str, Any]) -> dict[str, Any]:
    """At the running server, else on the store itself, under its lock."""
    if place.server is not None:
        with AdminClient.of(place) as door:
            return door.verb(verb, body)
    place, ruleset = place.working()
    try:
        with AdminClient.of(place, ruleset) as door:
            return door.verb(verb, body)
    except NoServer:
        store = ruleset.server.store
        if not Path(store).exists():
            raise NotFound(f"nothing has been received yet: there is no store {store}") from None
        return asyncio.run(_offline(verb, ruleset, body))


async def _offline(verb: str, ruleset: Ruleset, body: dict[str, Any]) -> dict[str, Any]:
    from router.wiring.offline import open_ledger

    async with open_ledger(ruleset) as verbs:
        return await (verbs.pause(body) if verb == "pause" else verbs.resume(body))


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
