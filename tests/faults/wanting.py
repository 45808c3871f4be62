"""What a router that is given too little may answer, how it may end, and the count of both."""

import signal
from collections import Counter
from dataclasses import dataclass, field

from tests.acceptance.process import RouterProcess
from tests.faults.life import ANSWER_S, Answer

ROOM_S = 2.0
"""So long a large body may wait for room before it is read at all."""


@dataclass
class Tally:
    """What it came to."""

    answers: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    started: int = 0
    ended: int = 0
    cut_off: int = 0
    slowest: float = 0.0
    figures: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        said = ", ".join(f"{n} x {word}" for word, n in sorted(self.answers.items()))
        return (
            f"starts: {self.started} with enough, {self.refused} refused; answers: {said or 'none'}"
            f" (the slowest after {self.slowest:.1f} s); ended {self.ended} times, "
            f"{self.cut_off} of them by a library in C; "
            f"{'; '.join([*self.figures, ''])}{len(self.problems)} problems"
        )


def pid(router: RouterProcess) -> int:
    assert router.process is not None
    return router.process.pid


def wrong_end(router: RouterProcess, tally: Tally) -> list[str]:
    """
    How a process may not end for want of anything.

    Libraries written in C end the process where it stands when they get no memory: libuv by
    `abort`, a JSON reader by a null pointer. That is a kill, and counted as one.
    """
    assert router.process is not None
    status = router.process.returncode
    if status in (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS):
        tally.cut_off += 1
        return tracebacks(router)
    words = router.log.read_text("utf-8", "replace").strip()
    if status is None or status <= 0 or not words:
        return [f"ended with {status}:\n{words[-1500:]}"]
    return tracebacks(router)


def tracebacks(router: RouterProcess) -> list[str]:
    """Those that are not about memory, and any that is no line of the log."""
    lines = router.log.read_text("utf-8", "replace").splitlines()
    found = [one for one in lines if "Traceback" in one]
    return [one for one in found if one.startswith("Traceback") or "MemoryError" not in one]


def note(answer: Answer, tally: Tally, where: str) -> None:
    """
    An answer is a promise, a refusal, or the connection's end; and it comes soon. 500 is what the
    web server says when there is no memory even for our 503.
    """
    said = {0: "none", 200: "200", 500: "500", 503: "503"}
    word = said.get(answer.status, f"odd {answer.status}")
    tally.answers[word] += 1
    tally.slowest = max(tally.slowest, answer.seconds)
    if word.startswith("odd"):
        tally.problems.append(f"{where}: {answer}")
    if answer.seconds > ANSWER_S + ROOM_S:
        tally.problems.append(f"{where}: answered after {answer.seconds:.1f} s")
