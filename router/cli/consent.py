"""`--dry-run` and `--yes`, of the commands that ask before they change anything."""

import functools
import sys
from collections.abc import Callable
from typing import Any

import click
import msgspec

from router.errors import UsageError

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

    decorated = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")(
        with_consent
    )
    about = "Show the plan, change nothing."
    return click.option("--dry-run", is_flag=True, help=about)(decorated)


def refuse_silence(*, quiet: bool) -> None:
    """Raises UsageError: nobody can be asked, for this is no terminal or the answer is `quiet`."""
    if quiet or not sys.stdin.isatty():
        raise UsageError("Not a terminal: pass --yes or --dry-run.")
