"""`router cancel` and `revive`: through the running server, else under the store's lock."""

import asyncio
from pathlib import Path
from typing import Any

import click

from router.cli.admin import AdminClient, NoServer
from router.cli.confirm import Consent, agreed, consent_options, print_answer, show_plan
from router.cli.options import Options, place_options
from router.cli.output import counted, note
from router.cli.selection import JOB_STATES, is_narrowed, selector_options
from router.errors import NotFound, UsageError
from router.model.operations import Change
from router.operator.replay_request import said
from router.rules.ruleset import Ruleset
from router.store.values import Selector

_DONE: dict[Change, str] = {"cancel": "cancelled", "revive": "revived"}
IDS = click.argument("ids", nargs=-1, metavar="[ID]…")
PLACE = place_options("dev", "store", "admin", "server")


@click.command()
@IDS
@PLACE
@selector_options(states=JOB_STATES, limit=None)
@consent_options
def cancel(*, place: Options, ids: tuple[str, ...], selector: Selector, consent: Consent) -> None:
    """
    End jobs that are available, waiting or between retries. What runs now runs on.

    With --replay, that replay also makes no more jobs. A selection shows its plan first, and asks.
    """
    _change("cancel", place, ids, selector, consent)


@click.command()
@IDS
@PLACE
@selector_options(states=("dead",), limit=None)
@consent_options
def revive(*, place: Options, ids: tuple[str, ...], selector: Selector, consent: Consent) -> None:
    """
    Make dead jobs available again, with a fresh retry schedule and the same key.

    A selection shows its plan first, and asks.
    """
    _change("revive", place, ids, selector, consent)


def _change(
    verb: Change, place: Options, ids: tuple[str, ...], selector: Selector, consent: Consent
) -> None:
    """What is named at once, what is selected after its plan and a yes."""
    word = _DONE[verb]
    body: dict[str, Any] = {"ids": list(ids)}

    def planned() -> dict[str, Any]:
        plan, _ = ask(verb, place, {**body, "dry_run": True}, selector)
        show_plan(place, plan, word)
        _say_newer(place, plan)
        return plan

    if consent.dry_run:
        planned()
        return
    if is_narrowed(selector) and not consent.yes:
        selector = agreed(place, selector, planned, f"{verb.capitalize()} them?")
    answer, waits = ask(verb, place, body, selector)
    _report(place, answer, word, selector.limit)
    say_waits(waits and verb == "revive" and not place.as_json and answer[word] > 0)


def _report(place: Options, answer: dict[str, Any], word: str, limit: int | None) -> None:
    if place.as_json:
        print_answer(answer)
    else:
        click.echo(f"{counted(answer[word], 'job')} {word}")
        _say_newer(place, answer)
    if limit is not None and answer[word] >= limit:
        note(f"that is --limit {limit}; run it again for the rest")


def _say_newer(place: Options, told: dict[str, Any]) -> None:
    """Say which dead jobs a replay has made again: those passed over, and those opened by name."""
    passed, earlier = told.get("passed"), told.get("earlier")
    if passed and not place.as_json:
        by = f", the last by {earlier['id']}" if earlier else ""
        jobs = counted(passed, "dead job")
        note(f"{jobs} passed over: a newer run of the same was made{by}; by its ID it is revived")
    for job, (run, state) in told.get("newer", {}).items():
        note(f"{job} has a newer run, {run} ({state}): its work may be done twice")


def say_waits(waits: bool) -> None:
    """Say, if it is so, that nobody runs the jobs now."""
    if waits:
        note("no server runs: the jobs wait for the next `router serve`")


def ask(
    verb: str, place: Options, body: dict[str, Any], selector: Selector
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
    body["selector"] = None if chosen is None else said(chosen)
    if place.server is not None:
        with AdminClient.of(place) as door:
            return door.verb(verb, body), False
    place, ruleset = place.working()
    try:
        with AdminClient.of(place, ruleset) as door:
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
