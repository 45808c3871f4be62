"""`router doctor`: why deliveries do not come, or are refused."""

from pathlib import Path
from typing import Any

import click

from router.cli.endpoint_argument import endpoint_argument
from router.cli.options import Options, place_options
from router.errors import UsageError


@click.command()
@endpoint_argument()
@place_options("dev", "store", "listen", "admin", "server")
@click.option("--refused", metavar="ID|last", help="A request that the running server refused.")
@click.option(
    "--request",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A captured request: its HTTP text, or JSON with headers and body.",
)
@click.option("--secret-env", metavar="NAME", help="A variable with another secret to try.")
@click.option(
    "--secret-file", type=click.Path(path_type=Path), help="A file with another secret to try."
)
@click.option("--offline", is_flag=True, help="Check only the file and its secrets; make no calls.")
@click.pass_context
def doctor(ctx: click.Context, /, *, place: Options, endpoint: str | None, **given: Any) -> None:
    """
    Look for the usual causes of deliveries that do not come to ENDPOINT (all), or are refused.

    With --refused or --request: why that one request is refused, by proof where there is one.
    Nothing is changed and no secret is shown. Exit code 0: no problem found; 1: problems.
    """
    if given["refused"] and given["file"]:
        raise UsageError("--refused and --request both name a request; give one")
    one = given["refused"] or given["file"]
    if given["offline"] and one:
        raise UsageError("--offline is for the check-up; leave it out")
    if not one and (given["secret_env"] or given["secret_file"]):
        raise UsageError("a secret to try needs a request: --refused last, or --request FILE")
    from router.cli import doctor_checkup, doctor_request

    if one:
        bad = doctor_request.has_cause(place, endpoint, given)
    else:
        bad = doctor_checkup.has_problems(place, endpoint, offline=given["offline"])
    if bad:
        ctx.exit(1)
