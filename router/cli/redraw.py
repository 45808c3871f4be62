"""`--watch`: a list that is drawn again every two seconds, until Ctrl-C."""

import functools
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from os import terminal_size
from typing import Any

import click

from router.cli.main import explained
from router.cli.paging import Collected
from router.errors import RouterError, UsageError

EVERY_S = 2.0
_OPEN, _CLOSE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""A screen of its own without a cursor, and back to what was there before."""
_HOME, _LINE_END, _REST = "\x1b[H", "\x1b[K\n", "\x1b[J"

Command = Callable[..., None]


def watched(command: Command) -> Command:
    """
    Gives a command `--watch`. It stands above all other options, `paged` too, for they are read
    again each time: `--since 2h` goes along.
    """

    @functools.wraps(command)
    def with_watch(*args: Any, watch: bool, **given: Any) -> None:
        if not watch:
            command(*args, **given)
            return
        if click.get_current_context().invoked_subcommand is not None:
            raise UsageError("--watch is for the list alone")
        if given.get("as_json") or not sys.stdout.isatty():
            raise UsageError("--watch draws on a terminal, without --json; else ask again")
        once = functools.partial(command, *args, **given)
        redraw(once, title=click.get_current_context().command_path)

    option = click.option("--watch", is_flag=True, help="Draw it again every 2 s until Ctrl-C.")
    return option(with_watch)


def redraw(
    once: Callable[[], None],
    *,
    title: str,
    size: Callable[[], terminal_size] = shutil.get_terminal_size,
    pause: Callable[[], object] = lambda: time.sleep(EVERY_S),
) -> None:
    """
    Draw what `once` prints again and again until Ctrl-C; the last of it stays on the terminal.

    Raises:
        click.ClickException, RouterError: it fails at the first time. Later failures are drawn.
    """
    drawn = _printed(once)
    click.echo(_OPEN, nl=False)
    try:
        while True:
            whole = f"{title}, every {EVERY_S:g} s until Ctrl-C\n{drawn}"
            click.echo(framed(whole, size()), nl=False)
            pause()
            try:
                drawn = _printed(once)
            except (click.ClickException, RouterError) as error:
                drawn = _printed(functools.partial(explained, error))
    except KeyboardInterrupt:
        return
    finally:
        click.echo(f"{_CLOSE}{drawn}", nl=False)


def framed(text: str, size: terminal_size) -> str:
    """So much of it as the terminal has room for, drawn over what stood there."""
    lines = text.splitlines()
    if len(lines) > size.lines - 1:
        left = len(lines) - (size.lines - 2)
        lines = [*lines[: size.lines - 2], f"… {left} more"]
    return _HOME + "".join(_cut(line, size.columns) + _LINE_END for line in lines) + _REST


def _cut(line: str, columns: int) -> str:
    plain = click.unstyle(line)
    return line if len(plain) <= columns else plain[: columns - 1] + "…"


def _printed(once: Callable[[], object]) -> str:
    """Notes among it: a word beside the answer must not tear the drawing."""
    collected = Collected()
    with redirect_stdout(collected), redirect_stderr(collected):
        once()
    return collected.getvalue()
