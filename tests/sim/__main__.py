"""
The simulations under many seeds, on every core.

    python -m tests.sim --seeds 2000 [--first 0] [--only whole]

`whole` is all of the router on the real store, `dispatch`, `runs` and `intake` are smaller worlds
that die more often, `shared` is several routers at once on one ledger. A seed that fails is
printed, and comes back with `--first SEED --seeds 1`.
"""

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from typing import NamedTuple

from rich.progress import Progress

from tests.sim import shared as several
from tests.sim import test_dispatch, test_intake, test_runs
from tests.sim.promises import broken
from tests.sim.whole import lived

CHUNK = 20
SHOWN = 5


class Part(NamedTuple):
    """What some seeds came to: how many were lived, and the words of those that failed."""

    seeds: int
    failed: dict[str, str]
    met: Counter[str]
    crashes: int


def whole(seed: int) -> tuple[Counter[str], int]:
    """One life of the whole: how often each promise was put to the test, and deaths."""
    world = lived(seed)
    found = broken(world)
    assert found == [], "\n".join(found[:SHOWN])
    return world.history.met, len(world.history.crashes)


def shared(seed: int) -> tuple[Counter[str], int]:
    """One life of several routers: the same."""
    world = several.lived(seed)
    found = several.broken(world)
    assert found == [], "\n".join(found[:SHOWN])
    return world.history.met, len(world.history.crashes)


def _other(check: Callable[[int], object]) -> Callable[[int], tuple[Counter[str], int]]:
    def checked(seed: int) -> tuple[Counter[str], int]:
        check(seed)
        return Counter(), 0

    return checked


WORLDS: dict[str, Callable[[int], tuple[Counter[str], int]]] = {
    "whole": whole,
    "dispatch": _other(test_dispatch.checked),
    "runs": _other(test_runs.checked),
    "intake": _other(test_intake.checked),
    "shared": shared,
}

SELDOM = {"dispatch": 4, "runs": 4, "intake": 4, "shared": 10}
"""Of so many seeds these worlds live one when all do: the whole has what the small ones have."""


def part(names: tuple[str, ...], first: int, end: int) -> Part:
    """The seeds from `first` to before `end` in these worlds."""
    failed: dict[str, str] = {}
    met: Counter[str] = Counter()
    crashes = 0
    for seed in range(first, end):
        for name in names:
            if len(names) > 1 and seed % SELDOM.get(name, 1):
                continue
            try:
                found, died = WORLDS[name](seed)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                failed[f"--only {name} --first {seed} --seeds 1"] = traceback.format_exc()
            else:
                met += found
                crashes += died
    return Part(end - first, failed, met, crashes)


def campaign(names: tuple[str, ...], first: int, count: int, processes: int) -> Iterator[Part]:
    """All parts, as they are done."""
    ends = [(at, min(at + CHUNK, first + count)) for at in range(first, first + count, CHUNK)]
    with ProcessPoolExecutor(processes) as pool:
        parts: list[Future[Part]] = [pool.submit(part, names, *one) for one in ends]
        for done in as_completed(parts):
            yield done.result()


def said(parts: Iterator[Part], count: int) -> Part:
    """All parts together, shown as they come: a bar on a terminal, else a line now and then."""
    seeds, crashes = 0, 0
    failed: dict[str, str] = {}
    met: Counter[str] = Counter()
    with Progress(disable=not sys.stdout.isatty(), transient=True) as bar:
        task = bar.add_task("seeds", total=count)
        for one in parts:
            seeds, crashes = seeds + one.seeds, crashes + one.crashes
            met += one.met
            failed |= one.failed
            for again in one.failed:
                print(f"FAILED {again}", flush=True)  # noqa: T201 - what brings it back
            bar.update(task, completed=seeds)
            if bar.disable and seeds % 500 == 0:
                print(f"{seeds} of {count} seeds", flush=True)  # noqa: T201
    return Part(seeds, failed, met, crashes)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=WORLDS)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    names = (options.only,) if options.only else tuple(WORLDS)
    began = time.monotonic()
    reported = said(campaign(names, options.first, options.seeds, options.processes), options.seeds)
    for words in list(reported.failed.values())[:SHOWN]:
        print(words)  # noqa: T201
    tests = ", ".join(f"{number} {reported.met[number]}" for number in sorted(reported.met))
    print(  # noqa: T201
        f"{reported.seeds} seeds of {', '.join(names)}: {len(reported.failed)} failed, "
        f"{reported.crashes} processes died, {time.monotonic() - began:.0f} s\n"
        f"put to the test: {tests}"
    )
    return 1 if reported.failed else 0


if __name__ == "__main__":
    sys.exit(main())
