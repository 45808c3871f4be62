"""`--no-pager`: an answer longer than the terminal is high goes through a pager."""

import functools
import io
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any

import click

Command = Callable[..., None]


class Collected(io.StringIO):
    """What a command prints for a terminal, kept until it is whole."""

    def isatty(self) -> bool:
        """Tables and times are made as for the terminal itself."""
        return True


def paged(command: Command) -> Command:
    """
    Gives a command `--no-pager`. It stands above the command's other options.

    Never paged: JSON, what is followed, and what goes elsewhere than to a terminal.
    """

    @functools.wraps(command)
    def with_pager(*args: Any, no_pager: bool, **given: Any) -> None:
        flows = any(given.get(name) for name in ("as_json", "follow"))
        if no_pager or flows or not (_to_a_terminal() and may_page(os.environ)):
            command(*args, **given)
            return
        collected = Collected()
        try:
            with redirect_stdout(collected):
                command(*args, **given)
        finally:  # also when it says by its exit code that something differs
            show(collected.getvalue(), shutil.get_terminal_size())

    option = click.option("--no-pager", is_flag=True, help="Print a long answer without a pager.")
    return option(with_pager)


def _to_a_terminal() -> bool:
    """What `--watch` collects it draws itself."""
    return sys.stdout.isatty() and not isinstance(sys.stdout, Collected)


def may_page(environ: Mapping[str, str]) -> bool:
    """Not where NO_PAGER is set. PAGER names the program, `less` without it."""
    return not environ.get("NO_PAGER")


def show(text: str, size: os.terminal_size) -> None:
    """Print it; through the pager, if it does not leave room for a prompt."""
    if rows(text, size.columns) < size.lines:
        click.echo(text, nl=False)
    else:
        click.echo_via_pager(text.rstrip("\n"))


def rows(text: str, columns: int) -> int:
    """How many rows of a terminal this takes."""
    return sum(max(1, -(-len(click.unstyle(line)) // columns)) for line in text.splitlines())
