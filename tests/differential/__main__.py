"""`python -m tests.differential --cases N [--seed S]`: every pair on N made-up cases each."""

import argparse
import random
import sys
import time

from tests.differential.readings import PAIRS, Left

CASES = 100_000
EVERY = 1_000
SHOWN = 20


def run(pair: str, cases: int, seed: int, *, only: int | None = None) -> tuple[int, list[str]]:
    """How many cases said something, and each disagreement with the way to it."""
    said, wrong = 0, list[str]()
    compare = PAIRS[pair]
    for case in range(cases) if only is None else (only,):
        rng = random.Random(f"{seed}/{pair}/{case}")
        try:
            found = compare(rng)
        except Left:
            continue
        said += 1
        if found is not None:
            wrong.append(f"--seed {seed} --pair '{pair}' --case {case}\n  {found}")
        if (case + 1) % EVERY == 0:
            _progress(pair, case + 1, cases, len(wrong))
    return said, wrong


def _progress(pair: str, done: int, cases: int, wrong: int) -> None:
    sys.stderr.write(f"\r{pair}: {done:,} of {cases:,}, {wrong} disagree ")
    sys.stderr.flush()


def main() -> int:
    """0 if all agree, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES, help="of each pair (100,000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pair", choices=list(PAIRS), help="only this one")
    parser.add_argument("--case", type=int, help="only this case, to see it again")
    given = parser.parse_args()
    disagreements = 0
    for pair in PAIRS if given.pair is None else (given.pair,):
        began = time.monotonic()
        said, wrong = run(pair, given.cases, given.seed, only=given.case)
        seconds = time.monotonic() - began
        sys.stderr.write("\r")
        sys.stdout.write(f"{pair}: {said:,} cases, {len(wrong)} disagree, {seconds:.0f} s\n")
        for one in wrong[:SHOWN]:
            sys.stdout.write(f"{one}\n")
        disagreements += len(wrong)
    return 1 if disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
