"""How far a long command is: a bar on a terminal, a line now and then in a pipe."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.faults.telling import say

EVERY_S = 5.0
Told = Callable[[int], None]
"""Told how many are done by now."""


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Told]:
    """A function to tell how many are done."""
    if sys.stdout.isatty():
        columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    last = time.monotonic()

    def reported(done: int) -> None:
        nonlocal last
        if time.monotonic() - last > EVERY_S:
            last = time.monotonic()
            say(f"{what}: {done} of {total}")

    yield reported
