"""`router erase`: one person's data goes, after a plan and a yes."""

import asyncio

import click
import msgspec

from router.cli.confirm import check_chosen
from router.cli.consent import Consent, consent_options, refuse_silence
from router.cli.last_request import forget_naming
from router.cli.operate import IDS, PLACE
from router.cli.operator_access import act, note_unevaluated
from router.cli.options import Options
from router.cli.output import counted, note, print_table, printed, timestamp
from router.cli.remote import RemoteOperator
from router.cli.selection import DELIVERY_STATES, JOB_STATES, is_narrowed, selector_options
from router.errors import NotFound
from router.legible import size_text, visible
from router.model.selector import Criteria
from router.operator.erasing import texts_of
from router.operator.erasure_answers import ErasurePlan, ErasureProgress
from router.operator.requests import EraseRequest

POLL_S = 1.0
POLLS = 60
"""How often a command asks whether the journal is empty; then it says that this goes on."""


@click.command()
@IDS
@PLACE
@selector_options(states=(*DELIVERY_STATES, *JOB_STATES), limit=None, limited=False)
@click.option("--cancel", is_flag=True, help="Cancel jobs that have not run; else they run first.")
@click.option("--vacuum", is_flag=True, help="Then write the store's file anew; writes wait.")
@click.option("--status", is_flag=True, help="Show the erasures under way, and those of a day.")
@consent_options
def erase(
    *,
    place: Options,
    ids: tuple[str, ...],
    selector: Criteria,
    cancel: bool,
    vacuum: bool,
    status: bool,
    consent: Consent,
) -> None:
    """
    Erase one person's data: deliveries, with events, jobs, attempts and outputs.

    Of a batch the events that meet the condition go, the others stay. What has open jobs goes when
    these have ended. Dedupe keys stay: what is delivered again runs nothing.

    Afterwards it is in no row, index or journal, and in no backup made later. Unused parts of the
    store's file may hold it until they are used again, or until --vacuum: that needs twice the
    file's size of free disk, and deliveries wait until it is done.

    \b
      router erase --where 'payload.email == var.email' --var email=ann@example.com
    """
    if status:
        _show_status(place)
        return
    check_chosen("erase", ids, selector)
    chosen = selector if is_narrowed(selector) else None
    request = EraseRequest(ids, chosen, cancel=cancel, vacuum=vacuum)
    request = _agreed(place, request, consent)
    answer = act(place, lambda verbs: _erased(verbs, request))
    if place.server is None:
        _, ruleset = place.working()
        forget_naming(ruleset.server.state.parent, texts_of(request))
    if not printed(answer, as_json=place.as_json):
        _report(answer)


def _agreed(place: Options, request: EraseRequest, consent: Consent) -> EraseRequest:
    """The request as its plan saw it, after a yes."""
    if consent.yes and not consent.dry_run:
        return request
    if not consent.dry_run:
        refuse_silence(quiet=place.as_json)
    plan = act(place, lambda verbs: verbs.plan_erase(request))
    _show_plan(place, plan)
    if consent.dry_run or not (plan.deliveries or plan.vacuum):
        raise click.exceptions.Exit(0)
    click.confirm("Erase it for good?", abort=True)
    selector = request.selector and msgspec.structs.replace(request.selector, until=plan.until)
    return msgspec.structs.replace(request, selector=selector)


def _show_plan(place: Options, plan: ErasurePlan) -> None:
    if printed(plan, as_json=place.as_json):
        return
    more = "" if plan.whole else "at least "
    events, jobs = counted(plan.events, "event"), counted(plan.jobs, "job")
    deliveries = counted(plan.deliveries, "delivery")
    click.echo(f"{more}{events} of {deliveries} would be erased, with {jobs}")
    if plan.parts:
        rows = [[visible(p.endpoint), p.state, str(p.deliveries)] for p in plan.parts]
        print_table(("endpoint", "state", "deliveries"), rows)
    if plan.open:
        note(f"{counted(plan.open, 'delivery')} would go as soon as all jobs have ended")
    note_unevaluated(plan.failed, plan.reason)
    if plan.vacuum:
        held, needed, free = map(size_text, msgspec.structs.astuple(plan.vacuum))
        note(
            f"then the store's file ({held}) would be written anew: deliveries wait meanwhile; it "
            f"takes {needed} of the disk for a while, {free} are free"
        )


async def _erased(verbs: RemoteOperator, request: EraseRequest) -> ErasureProgress:
    """The erasure when it is done, or waits for jobs or for readers of the store's file."""
    answer = await verbs.erase(request)
    polls = 0
    while answer.state == "searching" or (answer.state == "cleaning" and polls < POLLS):
        polls += answer.state == "cleaning" and answer.vacuum != "due"
        await asyncio.sleep(POLL_S)
        try:
            answer = await verbs.erasure(answer.id)
        except NotFound:  # done long ago
            return msgspec.structs.replace(answer, state="done")
    return answer


def _report(answer: ErasureProgress) -> None:
    events, jobs = counted(answer.events, "event"), counted(answer.jobs, "job")
    deliveries = counted(answer.deliveries + answer.parts, "delivery")
    click.echo(f"{events} of {deliveries} erased, with {jobs} ({answer.id})")
    if answer.waiting:
        waiting = counted(answer.waiting, "delivery")
        note(f"{waiting} will go as soon as all jobs have ended; `router erase --status` tells")
    if answer.state == "cleaning":
        note("the journal is emptied as soon as no other program reads the store")
    if answer.vacuum == "done":
        note("the store's file was written anew")
    elif answer.vacuum == "due":
        note("the store's file will be written anew; `router erase --status` tells")
    elif answer.vacuum:
        note(answer.vacuum)
    if answer.failed:
        note(f"the condition could not be evaluated on {answer.failed} events: they stay")
    note(answer.unreachable)


def _show_status(place: Options) -> None:
    found = act(place, lambda verbs: verbs.known_erasures())
    if printed(found, as_json=place.as_json):
        return
    if not found.erasures:
        click.echo("no erasure is under way")
        return
    rows = [
        [e.id, timestamp(e.created_at), e.state, str(e.deliveries), str(e.parts), str(e.waiting)]
        for e in found.erasures
    ]
    print_table(("erasure", "asked", "state", "erased", "in part", "waiting"), rows)
