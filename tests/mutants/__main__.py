"""
Change the modules that decide, one place at a time, and see whether their tests notice.

    python -m tests.mutants                       60 changes of each group
    python -m tests.mutants verify --count 200    more of one
    python -m tests.mutants rules/plan.py --all   every change of one module

Ends with 1 when fewer than 90 % of a group's changes are noticed. The working tree is never
changed. A change that makes the tests hang counts as noticed; one that nobody can notice, as
listed with its reason in alike.py, does not count.
"""

import argparse
import sys
import time
from collections.abc import Sequence

from rich.progress import Progress

from tests.defects.proving import Copy, copies
from tests.mutants.groups import GROUPS, Group
from tests.mutants.running import SPARE_S, Verdict, drawn, proven, run

GOAL = 0.9


def chosen(names: Sequence[str]) -> list[Group]:
    """The groups of these names, or of these modules alone; all without a name."""
    if not names:
        return list(GROUPS)
    found = []
    for group in GROUPS:
        some = {m: t for m, t in group.modules.items() if group.name in names or m in names}
        if some:
            found.append(Group(group.name, some))
    known = {g.name for g in found} | {m for g in found for m in g.modules}
    if set(names) - known:
        raise SystemExit(f"no such group or module: {', '.join(sorted(set(names) - known))}")
    return found


def faultless(copy: Copy, group: Group) -> float | None:
    """Seconds that a group's tests take without a change; None: they fail anyway."""
    began = time.monotonic()
    code, output = run(copy.root, group.tests, 600)
    if code == 0:
        return time.monotonic() - began
    sys.stdout.write(f"{group.name}: without a change these tests fail\n{output[-3000:]}\n")
    return None


def score(verdicts: Sequence[Verdict]) -> float:
    """The part that was noticed, of those that can be."""
    caught = sum(one.state in ("caught", "late") for one in verdicts)
    return caught / max(1, sum(one.state != "alike" for one in verdicts))


def reported(group: Group, verdicts: Sequence[Verdict], seconds: float) -> str:
    """One line for a group."""
    states = [one.state for one in verdicts]
    counts = ", ".join(f"{states.count(s)} {s}" for s in dict.fromkeys(sorted(states)))
    return f"{group.name}: {len(states)} changes: {counts}: {score(verdicts):.1%}; {seconds:.0f} s"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="MODULE", help="a group, or a module of one")
    parser.add_argument("--count", type=int, default=60, help="changes of each group")
    parser.add_argument("--all", action="store_true", help="every change")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2, help="copies at a time")
    options = parser.parse_args()
    groups = chosen(options.names)
    sys.stdout.write(f"seed {options.seed}\n")
    good = True
    with copies(max(1, options.jobs)) as free:
        for group in groups:
            good &= _proved(group, None if options.all else options.count, options.seed, free)
    return 0 if good else 1


def _proved(group: Group, count: int | None, seed: int, free: Sequence[Copy]) -> bool:
    began = time.monotonic()
    usual_s = faultless(free[0], group)
    if usual_s is None:
        return False
    wanted = [
        (one, group.modules[one.file.removeprefix("router/")]) for one in drawn(group, count, seed)
    ]
    verdicts: list[Verdict] = []
    with Progress(disable=not sys.stdout.isatty()) as progress:
        task = progress.add_task(group.name, total=len(wanted))
        for verdict in proven(wanted, free, 3 * usual_s + SPARE_S):
            verdicts.append(verdict)
            if verdict.state in ("survived", "broken"):
                progress.console.out(str(verdict), highlight=False)
                sys.stdout.flush()
            progress.advance(task)
    sys.stdout.write(reported(group, verdicts, time.monotonic() - began) + "\n")
    sys.stdout.flush()
    return score(verdicts) >= GOAL


if __name__ == "__main__":
    sys.exit(main())
