"""
Write lower numbers into tests/house/budget.json, or show what tests know of the router's inside.

    python -m tests.house                    # every number that fell; ends with 1 if one is above
    python -m tests.house --raise PACKAGE    # this one may rise to what it is
    python -m tests.house --reach            # lines of each folder of tests/ that depend on router/
"""

import argparse
import sys

from tests.house import budget
from tests.house.measuring import Share, Sources, measured, shares


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--raise", dest="raised", action="append", default=[], metavar="PACKAGE")
    parser.add_argument("--reach", action="store_true", help="show, write nothing")
    options = parser.parse_args()
    return reach() if options.reach else write(options.raised)


def write(raised: list[str]) -> int:
    """Keep what fell, and what may rise."""
    numbers = measured(Sources())
    if unknown := set(raised) - numbers.keys():
        sys.stderr.write(f"there is no {', '.join(unknown)}; there are {', '.join(numbers)}\n")
        return 2
    kept = budget.lowered(numbers, budget.read(), raised)
    budget.PATH.write_text(budget.written(kept), "utf-8")
    problems = budget.above(numbers, kept)
    sys.stdout.write("".join(f"{line}\n" for line in problems))
    return 1 if problems else 0


def reach() -> int:
    """A row for each folder, and their sum."""
    found = shares(Sources())
    total = Share(*map(sum, zip(*found.values(), strict=True)))
    sys.stdout.write(f"{'folder':<14}{'lines':>9}{'direct':>9}{'through':>9}{'outside':>9}\n")
    for folder, share in [*found.items(), ("sum", total)]:
        sys.stdout.write(
            f"{folder:<14}{share.lines:>9,}{share.direct:>9,}{share.through:>9,}"
            f"{share.outside:>9,}\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
