"""A plan first and then a yes, where a selector may change more than was meant."""

from collections.abc import Callable

import click
import msgspec

from router.cli.consent import Consent, refuse_silence
from router.cli.options import Options
from router.cli.output import counted, print_table, printed, timestamp
from router.cli.selection import is_narrowed
from router.errors import UsageError
from router.model.selector import Criteria
from router.operator.answers import OperatorPlan

_PARTS = 20


def check_chosen(verb: str, ids: tuple[str, ...], selector: Criteria) -> None:
    """Raises UsageError: nothing is named or selected."""
    if not ids and not is_narrowed(selector):
        raise UsageError(
            f"name what to {verb} by ID, or select some with --rule, --endpoint, --state, --since …"
        )


def agreed(
    place: Options,
    selector: Criteria,
    consent: Consent,
    planned: Callable[[], OperatorPlan],
    question: str,
) -> Criteria:
    """
    The selection, as its plan saw it after a yes; what is named by ID needs none. `--dry-run` and
    an empty plan end the command.

    Raises:
        UsageError: not a terminal, and no `--yes`.
    """
    if consent.dry_run:
        planned()
        raise click.exceptions.Exit(0)
    if consent.yes or not is_narrowed(selector):
        return selector
    refuse_silence(quiet=place.as_json)
    plan = planned()
    if not plan.jobs and selector.replay is None:  # one that has made none yet shall make none
        raise click.exceptions.Exit(0)
    click.confirm(question, abort=True)
    return msgspec.structs.replace(selector, until=plan.until)


def show_plan(place: Options, plan: OperatorPlan, word: str) -> None:
    """How many jobs, of which actions, of deliveries from when to when; or the plan in JSON."""
    if printed(plan, as_json=place.as_json):
        return
    more = "" if plan.whole else "at least "
    jobs, deliveries = counted(plan.jobs, "job"), counted(plan.deliveries, "delivery")
    click.echo(f"{more}{jobs} of {deliveries} would be {word}")
    if not plan.jobs:
        return
    print_table(
        ("rule/action", "target", "jobs"),
        [[f"{p.rule}/{p.action}", p.target, str(p.jobs)] for p in plan.parts[:_PARTS]],
    )
    if len(plan.parts) > _PARTS:
        click.echo(f"and {len(plan.parts) - _PARTS} more actions")
    click.echo(f"received from {timestamp(plan.first_at)} to {timestamp(plan.last_at)}")
