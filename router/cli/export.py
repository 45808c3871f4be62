"""`router export`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from router.cli.files import whole_file
from router.cli.operator_access import ask, note_unevaluated
from router.cli.options import Options, place_options
from router.cli.output import counted, note, timestamp
from router.cli.remote import Questions
from router.cli.selection import DELIVERY_STATES, JOB_STATES, is_narrowed, selector_options
from router.clock import SystemClock
from router.errors import UsageError, os_errors_refused
from router.model.selector import Criteria
from router.operator.replay_source import frozen
from router.store.values import Selector


@click.command()
@place_options("dev", "store", "admin", "server")
@selector_options(states=(*DELIVERY_STATES, *JOB_STATES), limit=None, limited=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write this file, which its owner alone may read.",
)
@click.option("--lines", is_flag=True, help="One delivery a line, and nothing around them.")
def export(*, place: Options, selector: Criteria, output: Path | None, lines: bool) -> None:
    """
    All that is stored about one person, as JSON: what to hand over.

    Deliveries with their payloads, jobs, attempts and outputs, oldest first; of a batch the events
    that meet the condition alone. Nothing is changed.

    \b
      router export --where 'payload.email == var.email' --var email=ann@example.com -o ann.json
    """
    if not is_narrowed(selector):
        raise UsageError("say whose data: --where EXPR, --endpoint NAME, --since TIME …")
    now = SystemClock().now()
    writer = _Writer(Selector.of(frozen(selector, now)), lines=lines, now=now)
    with _opened(output) as out:
        ask(place, lambda asked: writer.write(asked, out), counted="/api/deliveries?limit=1")
    writer.note()


@contextmanager
def _opened(output: Path | None) -> Iterator[BinaryIO]:
    if output is None:
        yield sys.stdout.buffer
        return
    with os_errors_refused(f"cannot write {output}"), whole_file(output) as file:
        yield file


class _Writer:
    """Writes a page after the other: no more than one is held at once."""

    def __init__(self, selector: Selector, *, lines: bool, now: int) -> None:
        self._selector, self._now = selector, now
        self._between = b"\n" if lines else b",\n"
        self._lines = lines
        self._found = self._failed = 0
        self._reason = ""

    async def write(self, questions: Questions, out: BinaryIO) -> None:
        page = await questions.export(self._selector)
        if not self._lines:
            out.write(b'{"exported_at":"%s","deliveries":[\n' % timestamp(self._now).encode())
        while True:
            for delivery in page.deliveries:
                out.write((self._between if self._found else b"") + bytes(delivery))
                self._found += 1
            self._failed += page.failed
            self._reason = self._reason or page.reason or ""
            if page.next is None:
                break
            page = await questions.export(self._selector, page.next)
        out.write(b"\n]}\n" if not self._lines else b"\n" * bool(self._found))

    def note(self) -> None:
        """Say how much that was, and what could not be looked at."""
        note(f"{counted(self._found, 'delivery')} exported")
        note_unevaluated(self._failed, self._reason)
