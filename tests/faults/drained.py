"""What holds after any SIGTERM: how the process ended, what it left, how the next one starts."""

from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests import ledger
from tests.acceptance.process import RouterProcess
from tests.ledger import OUTCOME, STATE

TOTAL_S = 25.0
"""No stop may take longer, whatever is going on."""
QUICK_S = 5.0
"""Where nothing has to be waited for."""
AT_ONCE_S = 3.0

LEFT = "SELECT id, state, lease FROM jobs WHERE state = ? OR lease IS NOT NULL"
CHARGED = """
    SELECT id, charged FROM jobs WHERE charged !=
    (SELECT count(*) FROM attempts WHERE job = n AND outcome NOT IN (:interrupted, :skipped))
"""
FAILED = "SELECT count(*) FROM attempts WHERE outcome = ?"


@dataclass
class Tally:
    """What all stops came to."""

    stops: int = 0
    missed: int = 0
    acked: int = 0
    resent: int = 0
    slowest: float = 0.0
    slowest_of: str = ""
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.stops} stops, {self.missed} steps not reached, {self.acked} acknowledged, "
            f"{self.resent} without an answer and sent again; slowest stop {self.slowest:.2f} s "
            f"({self.slowest_of}); {len(self.problems)} problems"
        )

    def stopped(self, where: str, seconds: float, most: float) -> None:
        """Note how long a stop took."""
        self.stops += 1
        if seconds > self.slowest:
            self.slowest, self.slowest_of = seconds, where
        if seconds > most:
            self.problems.append(f"{where}: took {seconds:.1f} s to stop")


def wrong_end(router: RouterProcess) -> list[str]:
    """How a router ended that should have drained."""
    assert router.process is not None
    status, output = router.process.returncode, router.log.read_text("utf-8", "replace")
    found = [] if status == 0 else [f"ended with {status}:\n{output[-1500:]}"]
    if "Traceback" in output:
        found.append(f"a traceback:\n{output[-1500:]}")
    return found + [line for line in output.splitlines() if '"level":"error"' in line]


def wrong_rest(store: Path, *, failed: int) -> list[str]:
    """What a drained router may not leave: work that is held, charges for what it broke off."""
    with closing(ledger.connect(store, mend=True)) as db:
        found = [f"left: {row}" for row in db.execute(LEFT, (STATE["running"],))]
        free = {name: OUTCOME[name] for name in ("interrupted", "skipped")}
        found += [f"charged: {row}" for row in db.execute(CHARGED, free)]
        have = db.execute(FAILED, (OUTCOME["failed"],)).fetchone()[0]
    return found if have <= failed else [*found, f"{have} attempts failed, {failed} were made to"]


def recovered(router: RouterProcess) -> list[str]:
    """A start after a drain has nothing to mend."""
    return ["had to recover"] if '"event":"recovered"' in router.output() else []
