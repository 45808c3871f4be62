"""`router new`: a fresh endpoint id, a first rules file, a plugin."""

import secrets
from typing import Any

import click

from router.cli.completing import provider_names
from router.cli.output import print_json
from router.cli.place import Place, place_options
from router.errors import UsageError

_NOT_BUILT = ("provider",)


class _New(click.Group):
    """Answers what cannot be made yet, or at all, in our own words."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        what = args[0]
        known = self.list_commands(ctx)
        if what in _NOT_BUILT and what not in known:
            raise UsageError(
                f"`router new {what}` is not built in this version; "
                f"`router new {' and `router new '.join(f'{n}`' for n in known)} are"
            )
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
    if as_json:
        print_json({"id": identity, "path": f"/wh_{identity}"})
    else:
        click.echo(f"id: {identity}")


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
@click.argument("name")
@place_options()
def plugin(*, name: str, place: Place) -> None:
    """Write plugins/NAME.py and its test, tests/test_NAME.py, beside the rules file."""
    from router.cli.new_plugin import make

    make(name, place.rules.parent, as_json=place.as_json)
