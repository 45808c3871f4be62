"""`router replay`, `cancel`, `revive`: through the running server, else under the store's lock."""

import asyncio
from pathlib import Path
from typing import Any

import click
import msgspec

from router.cli.admin import Door, NoServer
from router.cli.output import note, print_json
from router.cli.place import Place, place_options
from router.cli.selection import JOB_STATES, is_narrowed, selector_options
from router.errors import NotFound, UsageError
from router.rules.ruleset import Ruleset
from router.store.protocol import Selector

_ALL = 10_000
_IDS = click.argument("ids", nargs=-1, metavar="[ID]…")
_PLACE = place_options("dev", "store", "admin", "server")


@click.command()
@_IDS
@_PLACE
@selector_options(states=JOB_STATES, limit=_ALL)
@click.option("--recorded", is_flag=True, help="The jobs it had then, not what rules want now.")
@click.option("--dry-run", is_flag=True, help="Count, change nothing.")
def replay(
    *, place: Place, ids: tuple[str, ...], selector: Selector, recorded: bool, dry_run: bool
) -> None:
    """
    Run stored deliveries or jobs again, as new jobs with new keys; dedupe does not stop them.

    A delivery is routed anew by today's rules. A job, or a selection with --rule or --state,
    is made again alone.
    """
    body = {"ids": list(ids), "recorded": recorded, "dry_run": dry_run}
    answer, waits = _run("replay", place, body, selector)
    if place.as_json:
        print_json(answer)
        return
    verb = "would be replayed" if dry_run else "replayed"
    jobs, deliveries = answer["jobs"], answer["deliveries"]
    click.echo(f"{_count(jobs, 'job')} of {_count(deliveries, 'delivery')} {verb}")
    _say_waits(waits and not dry_run and jobs > 0)


@click.command()
@_IDS
@_PLACE
@selector_options(states=JOB_STATES, limit=_ALL)
def cancel(*, place: Place, ids: tuple[str, ...], selector: Selector) -> None:
    """End jobs that are available, waiting or between retries. What runs now runs on."""
    answer, _ = _run("cancel", place, {"ids": list(ids)}, selector)
    _report(place, answer, "cancelled", selector.limit)


@click.command()
@_IDS
@_PLACE
@selector_options(states=("dead",), limit=_ALL)
def revive(*, place: Place, ids: tuple[str, ...], selector: Selector) -> None:
    """Make dead jobs available again, with a fresh retry schedule and the same key."""
    answer, waits = _run("revive", place, {"ids": list(ids)}, selector)
    _report(place, answer, "revived", selector.limit)
    _say_waits(waits and not place.as_json and answer["revived"] > 0)


def _report(place: Place, answer: dict[str, Any], word: str, limit: int | None) -> None:
    if place.as_json:
        print_json(answer)
    else:
        click.echo(f"{_count(answer[word], 'job')} {word}")
    if limit is not None and answer[word] >= limit:
        note(f"that is --limit {limit}; run it again for the rest")


def _say_waits(waits: bool) -> None:
    if waits:
        note("no server runs: the jobs wait for the next `router serve`")


def _run(
    verb: str, place: Place, body: dict[str, Any], selector: Selector
) -> tuple[dict[str, Any], bool]:
    """The verb's answer, and whether it was done without a server."""
    chosen = selector if is_narrowed(selector) else None
    ids = body["ids"]
    if chosen is None and not ids:
        raise UsageError(
            f"name what to {verb} by ID, or select some with --rule, --endpoint, --state, --since …"
        )
    if chosen is not None and ids and verb == "replay":
        raise UsageError("name ids or select some, not both")
    body["selector"] = None if chosen is None else _wire(chosen)
    if place.server is not None:
        with Door.of(place) as door:
            return door.verb(verb, body), False
    place, ruleset = place.working()
    try:
        with Door.of(place, ruleset) as door:
            return door.verb(verb, body), False
    except NoServer:
        store = ruleset.server.store
        if not Path(store).exists():
            raise NotFound(f"nothing has been received yet: there is no store {store}") from None
        return asyncio.run(_offline(verb, ruleset, body)), True


async def _offline(verb: str, ruleset: Ruleset, body: dict[str, Any]) -> dict[str, Any]:
    """Under the store's lock, by the same verbs as behind the admin door."""
    from router.wiring.offline import open_ledger

    async with open_ledger(ruleset) as verbs:
        match verb:
            case "replay":
                return await verbs.replay(body)
            case "cancel":
                return await verbs.cancel(body)
            case _:
                return await verbs.revive(body)


def _wire(selector: Selector) -> dict[str, Any]:
    named: dict[str, Any] = msgspec.structs.asdict(selector)
    del named["ids"]
    return named


def _count(n: int, noun: str) -> str:
    many = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{n} {noun if n == 1 else many}"
