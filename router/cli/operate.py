"""`router cancel`, `revive` and `resume`, at the running server."""

import click

from router.cli.confirm import agreed, check_chosen, show_plan
from router.cli.consent import Consent, consent_options
from router.cli.operator_access import act
from router.cli.options import Options, place_options
from router.cli.output import counted, note, print_answer
from router.cli.selection import JOB_STATES, is_narrowed, selector_options
from router.model.operations import Change
from router.model.selector import Criteria
from router.operator.answers import OperatorPlan, Revived
from router.operator.requests import ChangeRequest

_DONE: dict[Change, str] = {"cancel": "cancelled", "revive": "revived"}
IDS = click.argument("ids", nargs=-1, metavar="[ID]…")
PLACE = place_options("dev", "store", "admin", "server")


@click.command()
@IDS
@PLACE
@selector_options(states=JOB_STATES, limit=None)
@consent_options
def cancel(*, place: Options, ids: tuple[str, ...], selector: Criteria, consent: Consent) -> None:
    """
    End jobs that are available, waiting or between retries. What runs now runs on.

    With --replay, that replay also makes no more jobs. A selection shows its plan first, and asks.
    """
    request = _agreed("cancel", place, ids, selector, consent)
    answer = act(place, lambda verbs: verbs.cancel(request))
    text = f"{counted(answer.cancelled, 'job')} cancelled"
    print_answer(answer, text, as_json=place.as_json)
    _note_limit(selector, answer.cancelled)


@click.command()
@IDS
@PLACE
@selector_options(states=("dead",), limit=None)
@consent_options
def revive(*, place: Options, ids: tuple[str, ...], selector: Criteria, consent: Consent) -> None:
    """
    Make dead jobs available again, with a fresh retry schedule and the same key.

    A selection shows its plan first, and asks.
    """
    request = _agreed("revive", place, ids, selector, consent)
    answer = act(place, lambda verbs: verbs.revive(request))
    print_answer(answer, f"{counted(answer.revived, 'job')} revived", as_json=place.as_json)
    if not place.as_json:
        _note_newer(place, answer)
    _note_limit(selector, answer.revived)


@click.command()
@PLACE
def resume(*, place: Options) -> None:
    """
    Run jobs at a router that `serve --hold` holds: those that are due, at once.

    A paused target is resumed by `router targets resume NAME`.
    """
    answer = act(place, lambda verbs: verbs.run())
    text = "resumed: jobs run" if answer.changed else "not held: jobs run anyway"
    print_answer(answer, text, as_json=place.as_json)


def _agreed(
    verb: Change, place: Options, ids: tuple[str, ...], selector: Criteria, consent: Consent
) -> ChangeRequest:
    """What is selected, after its plan and a yes; what is named needs none."""
    check_chosen(verb, ids, selector)
    request = ChangeRequest(ids, selector if is_narrowed(selector) else None)

    def planned() -> OperatorPlan:
        plan = act(place, lambda verbs: verbs.plan_change(verb, request))
        show_plan(place, plan, _DONE[verb])
        _note_newer(place, plan)
        return plan

    chosen = agreed(place, selector, consent, planned, f"{verb.capitalize()} them?")
    return ChangeRequest(ids, chosen if is_narrowed(chosen) else None)


def _note_newer(place: Options, found: OperatorPlan | Revived) -> None:
    """Note which dead jobs a replay has made again: those passed over, and those named."""
    if found.passed and not place.as_json:
        by = f", the last by {found.earlier.id}" if found.earlier else ""
        jobs = counted(found.passed, "dead job")
        note(f"{jobs} skipped: already replayed{by}; name the ID to revive it anyway")
    for job, (run, state) in found.newer.items():
        note(f"{job} has a newer run, {run} ({state}): its work may be done twice")


def _note_limit(selector: Criteria, count: int) -> None:
    if selector.limit is not None and count >= selector.limit:
        note(f"that is --limit {selector.limit}; run it again for the rest")
