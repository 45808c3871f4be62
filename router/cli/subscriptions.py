"""`router subscriptions`: have a sender notify an endpoint, by its own API."""

from collections.abc import Callable
from typing import Any

import click

from router.cli.completion_values import endpoint_names
from router.cli.endpoint_argument import endpoint_argument
from router.cli.options import Options, place_options

TIMEOUT_S = 30.0


@click.group()
def subscriptions() -> None:
    """Subscriptions at a sender that takes them by calls of its API."""


def api_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that replace an endpoint's `api:`."""
    for option in reversed(_API_OPTIONS):
        command = option(command)
    return command


_API_OPTIONS = (
    click.option("--shop-base", metavar="URL", help="The shop's own address."),
    click.option("--api-version", metavar="YYYY-MM", help="The API's version (2024-01)."),
    click.option("--token", metavar="SECRET", help="A secret of the rules file: the access token."),
    click.option("--token-env", metavar="NAME", help="The variable that holds the access token."),
    click.option(
        "--spelling", metavar="NAME", help="The provider's name whose token header is sent."
    ),
    click.option(
        "--timeout",
        metavar="SECONDS",
        type=click.FloatRange(0, 600, min_open=True),
        default=TIMEOUT_S,
        help="The longest wait for one answer (30).",
    ),
)


@subscriptions.command()
@click.argument("endpoint", shell_complete=endpoint_names)
@place_options("dev", "store", "admin")
@click.option(
    "--topic", "topics", metavar="TOPIC", multiple=True, help="orders/create; repeatable."
)
@click.option("--from-rules", is_flag=True, help="The events that this endpoint's rules name.")
@click.option("--all", "everything", is_flag=True, help="Every topic of the catalogue.")
@api_options
@click.option("--graphql/--rest", default=None, help="Which of the two interfaces is called.")
@click.option(
    "--graphql-path", metavar="PATH", help="Where GraphQL is, if not where it usually is."
)
@click.option("--again", is_flag=True, help="Also what was requested before.")
@click.option("--dry-run", is_flag=True, help="Show the plan, change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.pass_context
def create(ctx: click.Context, /, *, place: Options, endpoint: str, **given: Any) -> None:
    """
    Subscribe ENDPOINT's address to topics, after showing the plan.

    What was made before stays. Exit code 1 if anything was refused or is unsure.
    """
    from router.cli.subscription_run import create

    if not create(place, endpoint, given):
        ctx.exit(1)


@subscriptions.command(name="test")
@click.argument("endpoint", shell_complete=endpoint_names)
@click.argument("what", metavar="TOPIC|ID")
@place_options("dev", "store")
@api_options
@click.pass_context
def send_test(ctx: click.Context, /, *, place: Options, **given: Any) -> None:
    """Have the sender send a test notification for one subscription of ENDPOINT."""
    from router.cli.subscription_run import send_test

    if not send_test(place, **given):
        ctx.exit(1)


@subscriptions.command(name="list")
@endpoint_argument()
@place_options("dev", "store")
def list_made(*, place: Options, endpoint: str | None) -> None:
    """What was subscribed from here, newest first."""
    from router.cli.subscription_run import list_made

    list_made(place, endpoint)
