"""`router test --watch`: the tests again whenever a file changes that they depend on."""

import time
from collections.abc import Callable, Iterable
from pathlib import Path

import click

from router.cli.main import explained
from router.errors import RouterError
from router.wiring.rules import content_hash, test_files

EVERY_S = 0.5

Once = Callable[[], tuple[int, Iterable[str]]]
"""Runs the tests; gives the exit code, and the further files that they need."""


def watch(
    rules: Path, once: Once, *, pause: Callable[[], object] = lambda: time.sleep(EVERY_S)
) -> int:
    """
    Run the tests, and again when the content changes of the rules file, what it includes, files
    of tests, `plugins/`, or what the tests need, until Ctrl-C; gives the last exit code.
    """
    code, needed = 1, tuple[str, ...]()
    try:
        while True:
            before = _content(rules, needed)
            try:
                code, found = once()
                if set(found) != set(needed):
                    needed = tuple(found)
                    before = _content(rules, needed)
            except (click.ClickException, RouterError) as error:
                code = explained(error)
            click.echo("waiting for a change; Ctrl-C ends", err=True)
            while _content(rules, needed) in (before, None):
                pause()
            click.clear()
    except KeyboardInterrupt:
        return code


def _content(rules: Path, needed: Iterable[str]) -> str | None:
    """A hash of all that matters; None: it cannot be told just now."""
    try:
        more = (*test_files(rules), *map(Path, needed))
        return content_hash(rules, str(rules.absolute().parent), more)
    except OSError:
        return None
