"""
A storm of duplicates: the same delivery, over and over, on many connections at once.

    python -m tests.faults.wire.storm --copies 100000

However many come: one delivery, one set of jobs, each run once; every answer is 200 (once
`accepted`, else `duplicate`, all naming the same delivery) or 503; and the copies are counted.
"""

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import pushes
from tests import ledger
from tests.acceptance.process import Rig
from tests.faults.telling import verdict
from tests.faults.wire.progress import progress
from tests.wire.sending import Answer, read_answer

CONNECTIONS = 64
TOGETHER = 8
"""So many copies go out in one write."""

RULES = pushes.HEAD + (
    "rules:\n"
    "  - id: first\n    from: code\n    actions:\n"
    "      - {id: a, log: a}\n      - {id: b, log: b}\n"
    "  - id: second\n    from: code\n    events: push\n    actions: {log: c}\n"
)
JOBS = 3


@dataclass
class Outcome:
    answers: Counter[str] = field(default_factory=Counter)
    named: set[str] = field(default_factory=set)
    seconds: float = 0.0
    slowest_ms: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        total = sum(self.answers.values())
        return (
            f"{total} answers in {self.seconds:.1f} s ({total / max(self.seconds, 0.001):,.0f}/s): "
            f"{dict(self.answers)}; slowest {self.slowest_ms:.0f} ms; {len(self.problems)} problems"
        )


class Storm:
    """`copies` of one request against one port."""

    def __init__(self, port: int, copies: int, reported: Callable[[int], None]) -> None:
        self.port = port
        self.left = copies
        self.reported = reported
        self.request = pushes.request(port)
        self.outcome = Outcome()

    async def run(self) -> Outcome:
        began = time.monotonic()
        await asyncio.gather(*(self._connection() for _ in range(CONNECTIONS)))
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    async def _connection(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            while self.left > 0:
                count = min(TOGETHER, self.left)
                self.left -= count
                began = time.monotonic()
                writer.write(self.request * count)
                for _ in range(count):
                    answer = await read_answer(reader)
                    if answer is None:  # a 503 closes; what was behind it had no answer
                        self.outcome.answers["closed"] += 1
                        writer.close()
                        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                        break
                    self._count(answer, (time.monotonic() - began) * 1000)
                self.reported(sum(self.outcome.answers.values()))
        finally:
            writer.close()

    def _count(self, answer: Answer, ms: float) -> None:
        outcome = self.outcome
        outcome.slowest_ms = max(outcome.slowest_ms, ms)
        if answer.status != 200:
            outcome.answers[str(answer.status)] += 1
            return
        said = json.loads(answer.body)
        outcome.answers[said["status"]] += 1
        outcome.named.add(said["delivery"])


def run(folder: Path, copies: int, reported: Callable[[int], None] = lambda _: None) -> Outcome:
    """One storm against a router of its own."""
    rig = Rig(folder / "router", RULES, pushes.ENVIRON)
    with rig.router() as router:
        outcome = asyncio.run(Storm(rig.listen, copies, reported).run())
        router.until(lambda: ledger.counts(rig.store).succeeded == JOBS, "the jobs to succeed")
        if router.stop() != 0:
            outcome.problems.append("the router did not end well")
    outcome.problems += judged(rig, outcome, copies)
    return outcome


def judged(rig: Rig, outcome: Outcome, copies: int) -> list[str]:
    """What contradicts the promise."""
    found = []
    odd = set(outcome.answers) - {"accepted", "duplicate", "503", "closed"}
    if odd or outcome.answers["accepted"] != 1 or len(outcome.named) != 1:
        found.append(f"answers {dict(outcome.answers)}, deliveries named: {len(outcome.named)}")
    if not outcome.answers["503"] and sum(outcome.answers.values()) != copies:
        found.append(f"{sum(outcome.answers.values())} answers to {copies} copies")
    count = ledger.counts(rig.store)
    if (count.deliveries, count.jobs, count.succeeded, count.attempts) != (1, JOBS, JOBS, JOBS):
        found.append(f"the ledger has {count}")
    with contextlib.closing(ledger.connect(rig.store, mend=True)) as db:
        found += ledger.corruption(db) + ledger.odd_jobs(db, JOBS)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--copies", type=int, default=100_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, progress("copies", options.copies) as reported:
        outcome = run(Path(name), options.copies, reported)
    return verdict(outcome.problems, str(outcome))


if __name__ == "__main__":
    sys.exit(main())
