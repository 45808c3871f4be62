"""What was acknowledged against what was done: nothing lost, nothing twice. No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass, field

KEPT_S = 900.0
"""After so long a job that is done is only a name: whoever does it again has done it twice."""


@dataclass
class Doing:
    """One thing that is done for a delivery: by which job, and when that was last done."""

    job: str
    began: float
    ended: float


@dataclass
class Expected:
    """
    What must be done, and was. Times are of one monotonic clock, in seconds.

    `deaths` are the times at which the router was killed or told to stop: what it did around one,
    it may do again, by the same job. `slow_s`: a call that took so long, the router gave up.
    """

    slow_s: float
    deaths: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    done: int = 0
    again: int = 0

    def __post_init__(self) -> None:
        self._open: dict[str, float] = {}
        self._recent: dict[str, Doing] = {}
        self._old: set[int] = set()

    @property
    def open(self) -> int:
        """How much is not done yet."""
        return len(self._open)

    def accepted(self, wanted: Iterable[str], at: float) -> None:
        """A delivery was acknowledged: all this must be done once."""
        for one in wanted:
            if one not in self._recent and hash(one) not in self._old:
                self._open[one] = at

    def did(self, what: str, job: str, began: float, ended: float) -> None:
        """It was done, by this job."""
        before = self._recent.get(what)
        self._recent[what] = Doing(job, began, ended)
        self._open.pop(what, None)
        if before is None and hash(what) not in self._old:
            self.done += 1
        elif before is None:
            self.problems.append(f"done again long after: {what}")
        elif before.job != job:
            self.problems.append(f"{what} was done by two jobs, {before.job} and {job}")
        elif self._excused(before, began):
            self.again += 1
        else:
            self.problems.append(f"{what} was done twice by {job}, {began - before.began:.1f} s on")

    def forget(self, now: float) -> None:
        """Keep less of what was done long ago."""
        for what in [w for w, doing in self._recent.items() if doing.ended < now - KEPT_S]:
            del self._recent[what]
            self._old.add(hash(what))

    def lost(self, before: float = float("inf")) -> list[str]:
        """What was acknowledged earlier than that and is not done."""
        return [f"never done: {what}" for what, at in self._open.items() if at < before]

    def _excused(self, first: Doing, again: float) -> bool:
        if first.ended - first.began >= self.slow_s:
            return True
        return any(first.began - 1 <= death <= again for death in self.deaths)
