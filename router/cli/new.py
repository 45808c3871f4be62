"""`router new`: an endpoint id, rules files, a plugin, a test, a sender's definition."""

import secrets
from pathlib import Path
from typing import Any

import click

from router.cli.completion_values import provider_names
from router.cli.options import Options, place_options
from router.cli.output import print_answer
from router.errors import UsageError

ALERT_WAYS = ("slack", "email", "discord", "teams", "pagerduty", "ntfy", "webhook")
"""Those of templates/alerts.yaml, which is read only when one is made."""


class _New(click.Group):
    """Answers what cannot be made in our own words."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        what = args[0]
        known = self.list_commands(ctx)
        if what not in known and not what.startswith("-"):
            raise UsageError(f"cannot make a new {what!r}; `router new -h` lists what can be made")
        return super().resolve_command(ctx, args)


@click.group(cls=_New)
def new() -> None:
    """Make a rules file, a plugin, or something to paste into a rules file."""


@new.command()
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def endpoint(*, as_json: bool) -> None:
    """A fresh endpoint id of 128 random bits, to paste into the rules file."""
    identity = secrets.token_hex(16)
    answer = {"id": identity, "path": f"/wh_{identity}"}
    print_answer(answer, f"id: {identity}", as_json=as_json)


@new.command()
@click.argument("file", default="rules.yaml", type=click.Path())
@click.option(
    "--provider",
    "providers",
    metavar="NAME",
    multiple=True,
    shell_complete=provider_names,
    help="A sender, like shopify; may be given several times.",
)
@click.option("--forward", metavar="URL", help="Where the rules send events: else `router sink`.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def rules(**given: Any) -> None:
    """
    Write a first rules FILE (rules.yaml): an endpoint, a secret and a rule for each sender.

    On a terminal it asks for what is not given. A file that is there already is left alone.
    """
    from router.cli.new_rules import make

    make(**given)


@new.command()
@click.argument("file", required=False, type=click.Path())
@click.option("--to", required=True, type=click.Choice(ALERT_WAYS), help="Who is told, and how.")
@click.option("--address", metavar="ADDRESS", help="Of the e-mail.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def alert(**given: Any) -> None:
    """
    Print a rules file that tells somebody of dead letters, failing targets and the like, with its
    test; or write it into FILE, which your rules file then names under `include`.
    """
    from router.cli.new_alert import make

    make(**given)


@new.command()
@click.argument("name")
@place_options()
def plugin(*, name: str, place: Options) -> None:
    """Write plugins/NAME.py and its test, tests/test_NAME.py, beside the rules file."""
    from router.cli.new_plugin import make

    make(name, place.rules.parent, as_json=place.as_json)


@new.command("test")
@click.argument("identity", metavar="DELIVERY")
@place_options("dev", "store", "admin", "server")
def test_of(*, identity: str, place: Options) -> None:
    """
    Print a test that sends a stored DELIVERY, and expects what the rules make of it now.

    DELIVERY may be its first 4 characters or more. A large payload goes into a file in payloads/
    beside the rules file. Nothing that proves requests is in either.
    """
    from router.cli.new_test import make

    make(place, identity)


@new.command()
@click.argument("name", default="acme")
@click.option(
    "--from",
    "file",
    metavar="FILE",
    required=True,
    type=click.Path(path_type=Path),
    help="A captured request: raw HTTP text, or JSON with headers and body.",
)
@click.option("--secret-env", metavar="VAR", help="The variable that holds the sender's secret.")
@click.option(
    "--secret-file", type=click.Path(path_type=Path), help="The file that holds it, or its key."
)
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_context
def provider(
    ctx: click.Context,
    /,
    *,
    name: str,
    file: Path,
    secret_env: str | None,
    secret_file: Path | None,
    as_json: bool,
) -> None:
    """
    Print a definition of the sender NAME, made from a captured request, for `providers:`.

    With its secret every scheme is tried, and the one that verifies the request is written down;
    exit code 1 if none does. The secret is never printed.
    """
    from router.cli.new_provider import given_secret, make

    secret = given_secret(secret_env, secret_file)
    if not make(name, file, secret, as_json=as_json) and secret is not None:
        ctx.exit(1)
