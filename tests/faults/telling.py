"""How a harness tells what it does: a bar on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

LINES = 20
"""So many lines of progress where there is no terminal."""


def say(*lines: str) -> None:
    """Whole lines, at once."""
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def told(items: Sequence[T], what: str) -> Iterator[T]:
    """The items one by one, and how far we are."""
    if sys.stdout.isatty():
        yield from _bar(items, what)
        return
    every = max(1, len(items) // LINES)
    for number, item in enumerate(items, start=1):
        yield item
        if number % every == 0:
            say(f"{what}: {number} of {len(items)}")


def _bar(items: Sequence[T], what: str) -> Iterable[T]:
    from rich.progress import track  # noqa: PLC0415 - only a terminal needs it

    return track(items, description=what)


def verdict(problems: Sequence[str], figures: str) -> int:
    """Print figures and the first problems; the exit status."""
    say(figures, *[f"PROBLEM {problem}" for problem in problems[:20]])
    return 1 if problems else 0
