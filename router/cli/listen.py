"""`router listen`: what arrives at a running router, on a developer's own machine."""

from pathlib import Path
from typing import Any

import click

from router.cli.bound_values import var_option
from router.cli.completion_values import endpoint_names, event_names
from router.cli.options import Options, place_options


@click.command()
@click.argument("endpoints", nargs=-1, shell_complete=endpoint_names)
@place_options("dev", "store", "admin", "server")
@click.option(
    "--to",
    required=True,
    metavar="URL",
    help="The target: 3000, localhost:3000/hook or http://localhost:3000/hook.",
)
@click.option(
    "--endpoint", "more_endpoints", metavar="NAME", multiple=True, help="As the argument ENDPOINTS."
)
@click.option(
    "--event",
    "events",
    metavar="NAME",
    multiple=True,
    shell_complete=event_names,
    help="Only deliveries with an event of this name; may be repeated.",
)
@click.option("--where", metavar="EXPR", help="Only where an event meets this condition.")
@var_option
@click.option(
    "--since",
    metavar="TIME",
    help="Where the first start begins: now (default), start, 2h (ago) or a time.",
)
@click.option(
    "--on-error",
    type=click.Choice(("continue", "stop", "retry")),
    default="continue",
    show_default=True,
    help="What an answer other than 2xx leads to. An unreachable target is always retried.",
)
@click.option("--once", is_flag=True, help="Forward what is stored, then exit.")
@click.option(
    "--save", type=click.Path(path_type=Path), metavar="DIR", help="Keep deliveries as files."
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Keep the checkpoint here, not under the user's state folder.",
)
@click.option(
    "--timeout", type=click.IntRange(1, 3600), default=30, show_default=True, help="In seconds."
)
@click.pass_context
def listen(
    ctx: click.Context, /, *, place: Options, more_endpoints: tuple[str, ...], **given: Any
) -> None:
    """
    Forward deliveries of a running router to --to: the same bytes and headers, in order.

    It continues where it ended, whatever ended it, and reconnects by itself. What the local target
    answers changes nothing in the router.
    """
    from router.cli.listening.run import ListenOptions, run

    given["endpoints"] = (*given["endpoints"], *more_endpoints)
    code = run(place, ListenOptions(**given))
    if code:
        ctx.exit(code)
