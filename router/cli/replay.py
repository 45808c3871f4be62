"""`router replay`: the plan first, then the jobs."""

import asyncio
import re

import click

from router.cli.confirm import agreed, check_chosen, show_plan
from router.cli.consent import Consent, consent_options
from router.cli.operate import IDS, PLACE
from router.cli.operator_access import act
from router.cli.options import Options, same_place
from router.cli.output import counted, note, printed, timestamp
from router.cli.remote import RemoteOperator
from router.cli.selection import DELIVERY_STATES, JOB_STATES, is_narrowed, selector_options
from router.errors import UsageError
from router.legible import span
from router.model.selector import Criteria
from router.operator.answers import OperatorPlan, ReplayProgress
from router.operator.requests import ReplayRequest

POLL_S = 1.0
RATE = "10/s"
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{1,20})?(e-[0-9]{1,3})?", re.ASCII)
RECORDED = "Run the original jobs again instead of matching with today's rules."


@click.command()
@IDS
@PLACE
@selector_options(states=(*DELIVERY_STATES, *JOB_STATES), limit=None)
@click.option(
    "--recorded",
    is_flag=True,
    help=RECORDED,
)
@click.option("--rate", default=RATE, show_default=True, help="Jobs to one target: 5/s, or none.")
@click.option("--as", "name", metavar="NAME", help="Its ID: the same ID makes nothing twice.")
@click.option("--again", is_flag=True, help="Also what was replayed already.")
@consent_options
def replay(
    *,
    place: Options,
    ids: tuple[str, ...],
    selector: Criteria,
    recorded: bool,
    rate: str,
    name: str | None,
    again: bool,
    consent: Consent,
) -> None:
    """
    Run stored deliveries or jobs again, as new jobs with new keys; dedupe does not stop them.

    A delivery is routed again by today's rules. A job, or a selection with --rule, a job's
    --state, --cause or --replay, is made again alone. A selection shows its plan first, and asks.

    What was replayed already is not made again without --again; replays themselves are selected
    by --replay alone.
    """
    check_chosen("replay", ids, selector)

    def request() -> ReplayRequest:
        chosen = selector if is_narrowed(selector) else None
        return ReplayRequest(ids, chosen, recorded, per_second(rate), name, again)

    def planned() -> OperatorPlan:
        plan = act(place, lambda verbs: verbs.plan_replay(request()))
        _show(place, plan)
        return plan

    request().check()
    selector = agreed(place, selector, consent, planned, "Replay them?")
    answer = act(place, lambda verbs: _made(verbs, request()))
    if not printed(answer, as_json=place.as_json):
        _report(answer)


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
    if seconds is None or not _NUMBER.fullmatch(number) or not float(number):
        raise UsageError(f"--rate takes 5/s, 30/m or none, not {text!r}")
    return float(number) / seconds


async def _made(verbs: RemoteOperator, request: ReplayRequest) -> ReplayProgress:
    """The replay when its jobs are made, however long the server takes."""
    answer = await verbs.replay(request)
    try:
        while answer.state == "making":
            note(f"replay {answer.id}: {counted(answer.jobs, 'job')} made so far")
            await asyncio.sleep(POLL_S)
            answer = await verbs.replayed(answer.id)
    except KeyboardInterrupt:
        end = f"router cancel --replay {answer.id}{same_place()}"
        note(f"it goes on in the server; `{end}` ends it")
        raise
    return answer


def _report(answer: ReplayProgress) -> None:
    if _note_passed(answer):
        return
    word = "replayed, then cancelled" if answer.state == "cancelled" else "replayed"
    click.echo(f"{counted(answer.jobs, 'job')} of {counted(answer.deliveries, 'delivery')} {word}")
    _note_skipped(answer.skipped)
    ends = answer.last_due_at
    pace = f", the last due by {timestamp(ends)}" if ends and answer.jobs > 1 else ""
    if answer.jobs:
        click.echo(f"replay {answer.id}{pace}")


def _show(place: Options, plan: OperatorPlan) -> None:
    if not place.as_json and _note_passed(plan):
        return
    show_plan(place, plan, "replayed")
    if place.as_json:
        return
    _note_skipped(plan.skipped)
    if plan.redacted:
        which = counted(plan.redacted, "delivery")
        note(f"{which} redacted: matched and run without the values that were taken out")
    if plan.seconds >= 1:
        more = "" if plan.whole else "at least "
        click.echo(f"at this rate it takes {more}{span(int(plan.seconds * 1000))}")


def _note_passed(found: OperatorPlan | ReplayProgress) -> bool:
    """Note what was replayed already; whether that is all there is to say."""
    passed, earlier = found.passed, found.earlier
    if not passed:
        return False
    by = f" at {timestamp(earlier.at)} by {earlier.id}" if earlier else ""
    if found.jobs or found.skipped:
        note(f"{passed} skipped: already replayed, the last{by}; `--again` replays them too")
        return False
    all_of_it = "it was" if passed == 1 else f"all {passed} were"
    click.echo(f"{all_of_it} replayed{by or ' already'}; `--again` does it once more")
    return True


def _note_skipped(skipped: int) -> None:
    if skipped:
        which = counted(skipped, "delivery")
        note(f"{which} cannot be read by today's rules, or is gone: left out")
