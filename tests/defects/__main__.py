"""
Plant defects in copies of the router, one at a time, and see the named tests catch each.

    python -m tests.defects            all of them
    python -m tests.defects 7 25       these
    python -m tests.defects --published    those that the reliability goals name
    python -m tests.defects --third 2      these, and every third of the others: 0, 1 or 2

Ends with 1 when one survives. The working tree is never changed.
"""

import argparse
import os
import queue
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

from rich.progress import Progress

from tests.defects import ALL, PUBLISHED
from tests.defects.defect import Defect, Rotten
from tests.defects.proving import SEED, Copy, Verdict, copies

JOBS = (os.cpu_count() or 1) + 1
"""One more than cores: some of what is planted makes a test wait."""


def proven(defects: Sequence[Defect], free: Sequence[Copy]) -> Iterator[Verdict]:
    """Each defect's verdict as it comes, as many at a time as there are copies."""
    idle: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for copy in free:
        idle.put(copy)

    def prove(defect: Defect) -> Verdict:
        copy = idle.get()
        try:
            return copy.prove(defect)
        finally:
            idle.put(copy)

    with ThreadPoolExecutor(len(free)) as pool:
        for done in as_completed([pool.submit(prove, defect) for defect in defects]):
            yield done.result()


def faultless(free: Sequence[Copy], defects: Sequence[Defect]) -> str | None:
    """What is wrong when nothing is planted: a test that fails anyway proves nothing."""
    nodes = sorted({node for one in defects for node in one.caught_by})
    size = -(-len(nodes) // len(free))
    shares = [nodes[at : at + size] for at in range(0, len(nodes), size)]
    with ThreadPoolExecutor(len(free)) as pool:
        wrong = [words for words in pool.map(passing, free, shares) if words is not None]
    if not wrong:
        sys.stdout.write(f"without a defect {len(nodes)} named tests pass\n")
        return None
    return "\n".join(wrong)


def passing(copy: Copy, nodes: Sequence[str]) -> str | None:
    """What is wrong with these tests."""
    outcomes = copy.run(nodes, patience_s=300)
    wrong = [node for node in nodes if not outcomes.of(node) <= {"passed", "skipped"}]
    lost = [node for node in nodes if not outcomes.of(node)]
    if outcomes.exit == 0 and not wrong and not lost:
        return None
    return f"without a defect these fail or are not there: {wrong + lost}\n{outcomes.output}"


def report(verdicts: Sequence[Verdict], seconds: float) -> int:
    """The sum, and what is to be said of those that were not caught."""
    count = dict.fromkeys(("caught", "survived", "not shown", "broken"), 0)
    for verdict in verdicts:
        count[verdict.state] += 1
    for verdict in verdicts:
        if verdict.state in ("survived", "broken"):
            sys.stdout.write(f"\n{verdict}\n  not by {', '.join(verdict.blind)}\n")
            sys.stdout.write(verdict.output[-3000:])
    reported = ", ".join(f"{number} {state}" for state, number in count.items() if number)
    sys.stdout.write(f"{len(verdicts)} defects: {reported}; {seconds:.0f} s, seed {SEED}\n")
    return 1 if count["survived"] or count["broken"] else 0


def chosen(numbers: Sequence[int], published: bool, third: int | None = None) -> list[Defect]:
    """The defects asked for; all without a number."""
    others = [] if published else [one for one in ALL if one not in PUBLISHED]
    some = [*PUBLISHED, *(one for one in others if third is None or one.number % 3 == third)]
    unknown = set(numbers) - {one.number for one in some}
    if unknown:
        raise SystemExit(f"no such defect: {', '.join(map(str, sorted(unknown)))}")
    return [one for one in some if not numbers or one.number in numbers]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.defects",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("numbers", type=int, nargs="*", metavar="NUMBER")
    parser.add_argument("--published", action="store_true")
    parser.add_argument("--third", type=int, choices=range(3))
    parser.add_argument("--jobs", type=int, default=JOBS, help="copies at a time")
    options = parser.parse_args()
    defects = chosen(options.numbers, options.published, options.third)
    began = time.monotonic()
    verdicts: list[Verdict] = []
    with copies(max(1, min(options.jobs, len(defects)))) as free:
        try:
            for one in defects:
                one.check(free[0].root)
        except Rotten as rotten:
            sys.stdout.write(f"{rotten}\n")
            return 1
        wrong = faultless(free, defects)
        if wrong is not None:
            sys.stdout.write(wrong + "\n")
            return 1
        with Progress(disable=not sys.stdout.isatty()) as progress:
            task = progress.add_task("defects", total=len(defects))
            for verdict in proven(defects, free):
                verdicts.append(verdict)
                progress.console.out(str(verdict), highlight=False)
                progress.advance(task)
    return report(sorted(verdicts, key=lambda v: v.defect.number), time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
