"""How a harness tells what it does: a bar on a terminal, plain lines elsewhere."""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

T = TypeVar("T")

LINES = 20
"""So many lines of progress where there is no terminal."""


def say(*lines: str) -> None:
    """Whole lines, at once."""
    for line in lines:
        sys.stdout.write(line + "\n")
    sys.stdout.flush()


def reported(items: Sequence[T], what: str) -> Iterator[T]:
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


Campaign = Callable[[Path, Sequence[str]], tuple[list[str], list[str]]]
"""Does the named parts in a folder: problems, and a line for each part."""


def by_parts(text: str | None, parts: Sequence[str], campaign: Campaign) -> int:
    """The command of a harness of which parts can be named; the exit status."""
    parser = _parser(text)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="all if none is named")
    options = parser.parse_args()
    say(f"seed {options.seed} (nothing here is drawn)")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        problems, lines = campaign(Path(name), options.parts or parts)
    say(*lines)
    return verdict(problems, f"{len(problems)} problems; {time.monotonic() - began:.0f} s")


class Tallied(Protocol):
    """What came of a campaign; its text are the figures."""

    @property
    def problems(self) -> Sequence[str]:
        """What should not be, in words."""


Counted = Callable[[Path, argparse.Namespace, random.Random], Tallied]
"""Runs in a folder as often as the options say, drawing from the seed."""


def by_count(text: str | None, counts: Mapping[str, tuple[int | None, str]], run: Counted) -> int:
    """The command of a harness whose options are numbers: default and meaning; the exit status."""
    parser = _parser(text)
    for name, (default, meaning) in counts.items():
        parser.add_argument(f"--{name}", type=int, default=default, help=meaning)
    options = parser.parse_args()
    say(f"seed {options.seed}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        tally = run(Path(name), options, random.Random(options.seed))
    return verdict(tally.problems, f"{tally}; {time.monotonic() - began:.0f} s")


def _parser(text: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    return parser
