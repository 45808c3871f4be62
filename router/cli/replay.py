"""`router replay`: the plan first, then the jobs."""

import time
from typing import Any

import click

from router.cli.admin import AdminClient
from router.cli.confirm import Consent, agreed, consent_options, print_answer, show_plan
from router.cli.operate import IDS, PLACE, ask, say_waits
from router.cli.options import Options
from router.cli.output import counted, moment, note, span, when
from router.cli.selection import DELIVERY_STATES, JOB_STATES, is_narrowed, selector_options
from router.clock import SystemClock
from router.errors import UsageError
from router.store.values import Selector

POLL_S = 1.0
RATE = "10/s"


@click.command()
@IDS
@PLACE
@selector_options(states=(*DELIVERY_STATES, *JOB_STATES), limit=None)
@click.option("--recorded", is_flag=True, help="The jobs it had then, not what rules want now.")
@click.option("--rate", default=RATE, show_default=True, help="Jobs to one target: 5/s, or none.")
@click.option("--as", "name", metavar="NAME", help="Its id: the same again makes nothing twice.")
@click.option("--again", is_flag=True, help="Also what was replayed already.")
@consent_options
def replay(
    *,
    place: Options,
    ids: tuple[str, ...],
    selector: Selector,
    recorded: bool,
    rate: str,
    name: str | None,
    again: bool,
    consent: Consent,
) -> None:
    """
    Run stored deliveries or jobs again, as new jobs with new keys; dedupe does not stop them.

    A delivery is routed anew by today's rules. A job, or a selection with --rule, a job's
    --state, --cause or --replay, is made again alone. A selection shows its plan first, and asks.

    What was replayed already is not made again without --again; replays themselves are selected
    by --replay alone.
    """
    body: dict[str, Any] = {"ids": list(ids), "recorded": recorded, "rate": per_second(rate)}
    body |= {"name": name, "again": again}

    def planned() -> dict[str, Any]:
        plan, _ = ask("replay", place, {**body, "dry_run": True}, selector)
        _show(place, plan)
        return plan

    if consent.dry_run:
        planned()
        return
    if is_narrowed(selector) and not ids and not consent.yes:
        selector = agreed(place, selector, planned, "Replay them?")
    answer, waits = ask("replay", place, body, selector)
    answer = _finished(place, answer)
    if place.as_json:
        print_answer(answer)
    else:
        _report(answer)
    say_waits(waits and not place.as_json and answer["jobs"] > 0)


def per_second(text: str) -> float | None:
    """
    Jobs a second of `5/s`, `30/m` or `none`.

    Raises:
        UsageError: it is none of these.
    """
    if text == "none":
        return None
    number, _, unit = text.partition("/")
    seconds = {"s": 1, "m": 60, "h": 3600}.get(unit)
    if seconds is None or not (number.isascii() and number.isdigit()) or not int(number):
        raise UsageError(f"--rate takes 5/s, 30/m or none, not {text!r}")
    return int(number) / seconds


def _finished(place: Options, answer: dict[str, Any]) -> dict[str, Any]:
    """The replay when its jobs are made, however long the server takes."""
    if answer["state"] != "making":
        return answer
    identity = answer["id"]
    try:
        with AdminClient.of(place.working()[0] if place.server is None else place) as door:
            while answer["state"] == "making":
                note(f"replay {identity}: {counted(answer['jobs'], 'job')} made so far")
                time.sleep(POLL_S)
                answer = door.replayed(identity)
    except KeyboardInterrupt:
        note(f"it goes on in the server; `router cancel --replay {identity}` ends it")
        raise
    return answer


def _report(answer: dict[str, Any]) -> None:
    jobs, deliveries = answer["jobs"], answer["deliveries"]
    if _say_passed(answer):
        return
    word = "replayed, then cancelled" if answer["state"] == "cancelled" else "replayed"
    click.echo(f"{counted(jobs, 'job')} of {counted(deliveries, 'delivery')} {word}")
    _say_skipped(answer["skipped"])
    if not jobs:
        return
    ends = answer["last_due_at"]
    pace = f", the last due by {moment(ends)}" if ends and jobs > 1 else ""
    click.echo(f"replay {answer['id']}{pace}")


def _show(place: Options, plan: dict[str, Any]) -> None:
    if not place.as_json and _say_passed(plan):
        return
    show_plan(place, plan, "replayed")
    if place.as_json:
        return
    _say_skipped(plan["skipped"])
    if plan["seconds"] >= 1:
        more = "" if plan["whole"] else "at least "
        click.echo(f"at this pace it takes {more}{span(int(plan['seconds'] * 1000))}")


def _say_passed(told: dict[str, Any]) -> bool:
    """Say what was replayed already; whether that is all there is to say."""
    passed, earlier = told["passed"], told["earlier"]
    if not passed:
        return False
    by = f" at {when(earlier['at'], SystemClock().now())} by {earlier['id']}" if earlier else ""
    if told["jobs"] or told["skipped"]:
        note(f"{passed} passed over: replayed already, the last{by}; `--again` is also of these")
        return False
    all_of_it = "it was" if passed == 1 else f"all {passed} were"
    click.echo(f"{all_of_it} replayed{by or ' already'}; `--again` does it once more")
    return True


def _say_skipped(skipped: int) -> None:
    if skipped:
        verb = "cannot be read by today's rules, or is gone"
        note(f"{counted(skipped, 'delivery')} {verb}: left out")
