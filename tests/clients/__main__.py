"""`python -m tests.clients --cases 10000`: so many random cases for each library installed."""

import argparse
import sys
import time

import click

from tests.clients.compare import compared
from tests.clients.libraries import LIBRARIES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="cases for each library")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    differing = 0
    for library in LIBRARIES:
        if not library.installed:
            click.echo(f"{library.package}: SKIPPED, not installed (extra `clients`)")
            continue
        began = time.perf_counter()
        found = compared(library, given.cases, seed=given.seed, now_s=int(time.time()))
        took_s = time.perf_counter() - began
        click.echo(
            f"{library.package}: {given.cases} cases, {found.genuine} genuine by both, "
            f"{len(found.differences)} differences, {took_s:.1f} s"
        )
        for case in found.differences[:5]:
            click.echo(f"  differs: {case}")
        differing += len(found.differences)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
