"""`router new`."""

import secrets

import click

from router.cli.output import print_json
from router.errors import UsageError

_NOT_BUILT = ("rules", "plugin", "provider")


@click.command()
@click.argument("what", metavar="endpoint")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def new(*, what: str, as_json: bool) -> None:
    """A fresh endpoint id of 128 random bits, to paste into the rules file."""
    if what in _NOT_BUILT:
        raise UsageError(
            f"`router new {what}` is not built in this version; `router new endpoint` is"
        )
    if what != "endpoint":
        raise UsageError(f"cannot make a new {what!r}; `router new endpoint` makes an endpoint id")
    identity = secrets.token_hex(16)
    if as_json:
        print_json({"id": identity, "path": f"/wh_{identity}"})
    else:
        click.echo(f"id: {identity}")
