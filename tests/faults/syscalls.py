"""
SIGKILL at every system call of one delivery's life.

    python -m tests.faults.syscalls                    every one, some minutes
    python -m tests.faults.syscalls --count 40         so many, spread evenly

A life is recorded with strace first: accept, commit, answer, dispatch of a `log`, an `http`, a
`shell` and a `python` job (the last in its child process), settlement. Then, call by call, a new
delivery is sent to a router that is killed as it enters that call. Two seconds later nothing that
it had started may run. The next start must need no help, the file must be sound, what was
acknowledged must be there, no delivery and no job may be there twice, and what had no answer is
sent once more and must be taken.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.process import RouterDied, RouterProcess, TookTooLong
from tests.faults.life import Life, Point, a_life, attached, chosen, points, threads, wait_for
from tests.faults.telling import reported, say, verdict

STORE_POINTS = 60
"""After so many points a new store is begun, so that looking at all of it stays cheap."""
LIFE_S = 3.0


@dataclass
class Tally:
    """What all points came to. `missed` were not reached: no two lives are quite alike."""

    points: int = 0
    killed: int = 0
    missed: int = 0
    acked: int = 0
    resent: int = 0
    absorbed: int = 0
    slowest_start: float = 0.0
    slowest_gone: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.points} points: {self.killed} kills, {self.missed} not reached, {self.acked} "
            f"acknowledged, {self.resent} unanswered and sent again, of which {self.absorbed} had "
            f"been stored; slowest start {self.slowest_start:.2f} s; what they had "
            f"started was gone within {self.slowest_gone:.2f} s; {len(self.problems)} problems"
        )


SIZES = (600, 1_300_000)
"""Bytes of a body: a usual one, and one so large that its life holds a checkpoint."""
LARGE_POINTS = 150
"""Of the large one's thousand calls, which are much alike."""


def campaign(folder: Path, size: int, count: int | None, tally: Tally) -> Tally:
    """Record a life, then die at its calls one after another."""
    cold, todo = recorded(folder, size)
    todo = chosen(todo, count)
    batches = [todo[i : i + STORE_POINTS] for i in range(0, len(todo), STORE_POINTS)]
    shown = iter(reported(todo, f"kills, body of {size} bytes"))
    for number, batch in enumerate(batches):
        if not tally.problems:
            with a_life(folder / f"store-{number}", size=size, plugin=True) as life:
                one_store(life, batch, tally, shown, cold)
    return tally


def recorded(folder: Path, size: int) -> tuple[frozenset[Point], list[Point]]:
    """
    The calls of a life that only a router's first has, for it starts the plugin's process; and all.
    """
    with a_life(folder / "recorded", size=size, plugin=True) as life, life.rig.router() as router:
        first = points(life, router, folder, lives=1)
        later = points(life, router, folder)
    cold = frozenset(first) - frozenset(later)
    return cold, sorted(cold | frozenset(later))


def one_store(
    life: Life,
    batch: Sequence[Point],
    tally: Tally,
    shown: Iterator[Point],
    cold: frozenset[Point],
) -> None:
    """A store and the points that it lives through."""
    router = life.start()
    try:
        life.send()
        life.finish(router, "before the first")
        for point in batch:
            if point in cold:
                router.kill()
                router = life.start()
            router = at(point, life, router, tally)
            next(shown, None)
            if life.problems:
                break
    except (RouterDied, TookTooLong) as error:
        life.problems.append(str(error))
    finally:
        if router.running:
            router.kill()
    tally.acked += len(life.acked)
    tally.resent += life.resent
    tally.absorbed += life.absorbed
    tally.slowest_start = max(tally.slowest_start, life.slowest_start)
    tally.slowest_gone = max(tally.slowest_gone, life.slowest_gone)
    tally.problems += life.problems


def at(point: Point, life: Life, router: RouterProcess, tally: Tally) -> RouterProcess:
    """A life that is to end at `point`; the router that runs afterwards."""
    inject = f"inject={point.call}:signal=SIGKILL:when={point.number}"
    with attached(threads(router)[point.thread], "-e", f"trace={point.call}", "-e", inject):
        life.send()
        wait_for(lambda: not router.running or life.all_done(), LIFE_S)
        # A call made after the last job's end: closing, waiting for the next.
        wait_for(lambda: not router.running, 0.05)
    tally.points += 1
    if router.running:
        tally.missed += 1
        life.settle(router, str(point))
        return router
    tally.killed += 1
    life.gone(str(point))
    router = life.start()
    life.settle(router, str(point))
    return router


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, help="points of each body, spread evenly")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args()
    say(f"seed {options.seed} (nothing here is drawn: the points are all of them)")
    began, tally = time.monotonic(), Tally()
    with tempfile.TemporaryDirectory() as name:
        for size in SIZES:
            most = LARGE_POINTS if size > SIZES[0] and options.count is None else options.count
            campaign(Path(name) / str(size), size, most, tally)
    return verdict(tally.problems, f"{tally}; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
