"""`router status`: everything at one glance."""

import shutil
import sys
from os import terminal_size

import click
import msgspec

from router.cli.operator_access import ask_running
from router.cli.options import Options, place_options
from router.cli.output import print_json, when
from router.cli.redraw import watched
from router.cli.status_text import StatusText
from router.operator.overview_answer import Attention

PIPED = terminal_size((10_000, 24))


@click.command()
@watched
@place_options("dev", "store", "admin", "server")
@click.option("--check", is_flag=True, help="Exit with 1 if something needs attention.")
def status(*, place: Options, check: bool) -> None:
    """
    What came and failed within the last hour and day, what waits, and what needs attention: that
    stands first, with the command that looks closer.

    Asks the running server; without one it tells what the store remembers.
    """
    found, absent = ask_running(place, lambda questions: questions.overview())
    if absent is not None:
        away = Attention("server", f"no server runs at {absent}", "router serve")
        found = msgspec.structs.replace(found, attention=(away, *found.attention))
    if place.as_json:
        print_json(found)
    else:
        size = shutil.get_terminal_size() if sys.stdout.isatty() else PIPED
        click.echo("\n".join(StatusText(found, size, when).lines()))
    if check and any(one.kind != "check" for one in found.attention):
        raise click.exceptions.Exit(1)
