"""
Bad inputs that are signed, B1 to B77, sent raw to a running router; what needs no signature to be
refused is a row of `tests.wire`; how each body is read and each proof judged is asked of the
providers themselves (`tests/unit/providers`, `tests/conformance`).

    python -m tests.faults.wire.corpus [--only 65,66]

After each case: the process lives, the next good request is answered 200, the log has at most one
line for it and no traceback, what was taken is stored byte for byte, and nothing else is.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.sink import Sink
from tests.faults.telling import say
from tests.faults.wire.bodies import BODIES
from tests.faults.wire.case import READ, REFUSED, Ask, Case
from tests.faults.wire.framing import FRAMING
from tests.faults.wire.link import Exchange, Steps, exchange
from tests.faults.wire.message import Message
from tests.faults.wire.progress import progress
from tests.faults.wire.proof import PROOF, TEXTS
from tests.faults.wire.site import Site, hostile_rule, odd_lines, site

CASES: tuple[Case, ...] = tuple(sorted((*FRAMING, *BODIES, *PROOF), key=lambda case: case.number))
GOOD_S = 5.0


@dataclass
class Result:
    """What became of one case at one endpoint."""

    case: Case
    place: str
    got: str
    seconds: float
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        mark = "ok" if not self.problems else "WRONG: " + "; ".join(self.problems)
        name = f"B{self.case.number} {self.case.name}"
        due = expected(self.case, None)
        return f"{name:48} {self.place:9} expected {due:14} got {self.got:14} {mark}"


def expected(case: Case, refused: int | None) -> str:
    """The answers in words."""
    return " ".join(str(refused or "401/403") if s == REFUSED else str(s) for s in case.statuses)


class Corpus:
    """
    Runs cases against one router; `results` gathers what they came to. Answers may be `slack`
    seconds later than their cases say.
    """

    def __init__(self, at: Site, slack: float) -> None:
        self.site = at
        self.slack = slack
        self.results: list[Result] = []

    async def in_turn(self, cases: Sequence[Case], reported: Callable[[int], None]) -> None:
        """One after the other, the router looked at after each."""
        for case in cases:
            for place in case.places:
                await self._alone(case, place)
            reported(len(self.results))

    async def _alone(self, case: Case, place: str) -> None:
        before = self.site.count()
        result = await self._tried(case, place)
        stored = self.site.count() - before
        due = _due(case)
        if stored != due:
            result.problems.append(f"{stored} deliveries stored, {due} expected")
        self.results.append(result)
        await self._after(result, lines=max(1, len(case.statuses)))

    async def _tried(self, case: Case, name: str) -> Result:
        """Send it and look at the answers."""
        ask = Ask(self.site.places[name], self.site.next())
        steps = _steps(case.make(ask))
        found = await exchange(
            self.site.rig.listen,
            steps,
            answers=len(case.statuses),
            within=case.within + self.slack + 1.0,
        )
        problems = [*self._judged(case, ask, found), *_worded(case, found)]
        return Result(case, name, str(found), found.seconds, problems)

    def _judged(self, case: Case, ask: Ask, found: Exchange) -> list[str]:
        statuses = tuple(answer.status for answer in found.answers)
        wanted = tuple(ask.place.refused if s == REFUSED else s for s in case.statuses)
        problems = []
        if statuses != wanted or found.garbled:
            problems.append(f"{found}, expected {expected(case, ask.place.refused)}")
        if found.closed:
            problems.append("the connection is closed")
        within = case.within + self.slack
        if found.seconds > within:
            problems.append(f"{found.seconds:.2f} s, at most {within}")
        for answer in found.answers:
            if answer.status == 200:
                problems += self._kept(case, ask, answer.body)
        return problems

    def _kept(self, case: Case, ask: Ask, answer: bytes) -> list[str]:
        """Whether what was acknowledged is stored as it was sent."""
        stored = self.site.stored(json.loads(answer)["delivery"])
        if stored is None:
            return ["acknowledged and not stored"]
        state = READ if stored.state in ("routed", "unmatched") else stored.state
        problems = [] if state == case.state else [f"stored as {state}, expected {case.state}"]
        return problems if stored.body in ask.bodies else [*problems, "another body is stored"]

    async def _after(self, result: Result, *, lines: int) -> None:
        """The router lives, serves the next good request, and has said little."""
        if not self.site.router.running:
            raise RuntimeError(f"the router died of {result}:\n{self.site.router.output()}")
        message = self.site.good("code" if result.place == "walled" else result.place)
        good = await exchange(self.site.rig.listen, [message.encode()], within=GOOD_S)
        if [a.status for a in good.answers] != [200]:
            result.problems.append(f"the next good request: {good}")
            return
        said = await self._said(json.loads(good.answers[0].body)["delivery"])
        result.problems += [f"log: {line}" for line in odd_lines(said)]
        if len(said) > lines + 1:
            result.problems.append(f"{len(said) - 1} log lines, at most {lines}")

    async def _said(self, id_: str) -> list[bytes]:
        """The log up to the line of this delivery, which is written a moment after its answer."""
        said: list[bytes] = []
        async with asyncio.timeout(GOOD_S):
            while not any(id_.encode() in line for line in said):
                said += self.site.new_lines()
                await asyncio.sleep(0)
        return said


def _steps(sent: Message | bytes | Steps) -> Steps:
    if isinstance(sent, Message):
        return [sent.encode()]
    return [sent] if isinstance(sent, bytes) else sent


def _due(case: Case) -> int:
    """How many new deliveries it makes."""
    return case.statuses.count(200) - case.words.count("duplicate")


def _worded(case: Case, found: Exchange) -> list[str]:
    """Accepted or duplicate, where the case says which."""
    if not case.words:
        return []
    words = tuple(json.loads(answer.body).get("status", "") for answer in found.answers)
    return [] if case.words == words else [f"said {words}"]


def unequal(sink: Sink) -> list[str]:
    """Hostile texts that did not arrive at their action as they were sent."""
    due = sorted(text.encode() for text in TEXTS for _ in range(3))
    got = sorted(one.body for one in sink.received)
    return [] if due == got else [f"hostile texts at the action: {len(got)} of {len(due)}"]


def run(
    folder: Path,
    cases: Sequence[Case] = CASES,
    reported: Callable[[int], None] = lambda _: None,
    slack: float = 0.0,
) -> tuple[list[Result], list[str]]:
    """
    All of them; the results, and what is wrong beside them.

    With `slack` an answer may come so much later, and the router is told so.
    """
    server = f"  limits: {{answer: {2_500 + 1_000 * slack:.0f}ms}}\n" if slack else ""
    with Sink() as sink, site(folder / "site", hostile_rule(sink.port), server) as at:
        corpus = Corpus(at, slack)
        asyncio.run(corpus.in_turn(cases, reported))
        if any(case.number == 77 for case in cases):
            count = 3 * len(TEXTS)
            at.router.until(lambda: len(sink.received) >= count, "the hostile texts")
        beside = unequal(sink) if sink.received else []
    return corpus.results, beside


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", help="numbers, separated by commas")
    only = {int(n) for n in parser.parse_args().only.split(",") if n}
    cases = [case for case in CASES if not only or case.number in only]
    began = time.monotonic()
    total = sum(len(case.places) for case in cases)
    with tempfile.TemporaryDirectory() as name, progress("cases", total) as reported:
        results, beside = run(Path(name), cases, reported)
    for result in results:
        say(str(result))
    wrong = [result for result in results if result.problems]
    for problem in beside:
        say(f"WRONG: {problem}")
    took = time.monotonic() - began
    numbers = len({case.number for case in cases})
    say(f"{numbers} numbers, {len(results)} cases, {len(wrong)} wrong; {took:.0f} s")
    return 1 if wrong or beside else 0


if __name__ == "__main__":
    sys.exit(main())
