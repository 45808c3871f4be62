"""A plan first and then a yes, where a selector may change more than was meant."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import click
import msgspec

from router.cli.place import Place
from router.errors import UsageError
from router.store.protocol import Selector

Command = Callable[..., None]


class Consent(msgspec.Struct, frozen=True):
    """What `--dry-run` and `--yes` say."""

    dry_run: bool
    yes: bool


def consent_options(command: Command) -> Command:
    """Gives a command `--dry-run` and `--yes` as one `consent` argument."""

    @functools.wraps(command)
    def with_consent(*, dry_run: bool, yes: bool, **given: Any) -> None:
        command(consent=Consent(dry_run, yes), **given)

    decorated = click.option("--yes", "-y", is_flag=True, help="Do not ask.")(with_consent)
    about = "Show the plan, change nothing."
    return click.option("--dry-run", is_flag=True, help=about)(decorated)


def agreed(
    place: Place, selector: Selector, show_plan: Callable[[], dict[str, Any]], question: str
) -> Selector:
    """
    The selection as its plan saw it, after a yes; an empty plan ends the command.

    Raises:
        UsageError: nobody can be asked.
    """
    if place.as_json or not sys.stdin.isatty():
        raise UsageError("nobody can be asked here: say --yes, or --dry-run for the plan")
    plan = show_plan()
    if not plan["jobs"]:
        raise click.exceptions.Exit(0)
    click.confirm(question, abort=True)
    return msgspec.structs.replace(selector, until=plan["until"])
