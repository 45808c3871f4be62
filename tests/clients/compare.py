"""Asks both sides about many cases and keeps every difference."""

import random
from collections import Counter

import msgspec

from tests.clients.cases import Case, a_case, ours
from tests.clients.libraries import Library


class Comparison(msgspec.Struct, frozen=True):
    """How one library and the router judged: verdicts by (how, genuine), and differences."""

    library: Library
    verdicts: Counter[tuple[str, bool]]
    differences: list[Case]

    @property
    def genuine(self) -> int:
        """How many cases both call genuine."""
        return sum(count for (_, verdict), count in self.verdicts.items() if verdict)


def compared(library: Library, cases: int, *, seed: int, now_s: int) -> Comparison:
    """Ask about so many cases."""
    rng = random.Random(f"{seed}/{library.provider}")
    verdicts: Counter[tuple[str, bool]] = Counter()
    differences = []
    for _ in range(cases):
        case = a_case(library, rng, now_s)
        here, there = ours(library, case), library.judge(*_asked(case))
        verdicts[case.how, here] += 1
        if here != there:
            differences.append(case)
    return Comparison(library, verdicts, differences)


def _asked(case: Case) -> tuple[dict[str, str], bytes, bytes, int]:
    return case.headers, case.body, case.secret, case.now_s
