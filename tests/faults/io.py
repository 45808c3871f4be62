"""
Disk errors at every system call of one delivery's life, short writes, and a full disk.

    python -m tests.faults.io                     every call x EIO, ENOSPC, EINTR; some minutes
    python -m tests.faults.io --count 30          so many of them, spread evenly

Each time one call of the thread that writes fails once (strace), while a delivery is taken, run
and settled. No 200 without a stored row; an answer within 5 s, 503 with Retry-After or the
connection's end with the process's, whose exit is not 0 and not a traceback; a sync that failed
ends the process; otherwise the next delivery is taken without help. In the end the ledger holds
all, once.

Short writes: the file size limit of the process is lowered to some byte within the next frames, so
that the kernel itself writes a part. Full disk: every write fails for a while (`ENOSPC`), then not.
"""

import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.process import RouterDied, RouterProcess, TookTooLong
from tests.faults.life import (
    ANSWER_S,
    WRITER,
    Answer,
    Life,
    Point,
    a_life,
    attached,
    chosen,
    points,
    threads,
    wait_for,
)
from tests.faults.telling import by_count, reported

FILES = ("pwrite64", "fdatasync", "ftruncate", "pread64")
ERRORS = ("EIO", "ENOSPC", "EINTR")
SIZES = (600, 1_300_000)
"""Bytes of a body: a usual one, and one whose life holds a checkpoint."""
LARGE_POINTS = 60
SHORT_WRITES = 60
FRAMES = 60_000
"""Bytes of journal that one life writes, about: a limit within them cuts a write short."""
FULL_S = 1.5
RECOVERY_S = 5.0
END_S = 10.0
LIFE_S = 2.0


@dataclass(frozen=True)
class Fault:
    """A call that fails with an error, or a file size limit so many bytes past the journal."""

    point: Point | None
    error: str
    room: int = 0

    def __str__(self) -> str:
        return f"{self.point} {self.error}" if self.point else f"short write at +{self.room}"

    @property
    def fatal(self) -> bool:
        """The process must end: what the disk keeps is unknown."""
        return self.point is not None and self.point.call == "fdatasync" and self.error == "EIO"


@dataclass
class Tally:
    """What all faults came to."""

    faults: int = 0
    hit: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    ended: int = 0
    recovered: int = 0
    slowest: float = 0.0
    slowest_end: float = 0.0
    slowest_recovery: float = 0.0
    full: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        said = ", ".join(f"{n} x {s or 'no answer'}" for s, n in sorted(self.answers.items()))
        full = f"; full disk: 503 within {self.full[0]:.2f} s, back in {self.full[1]:.2f} s"
        return (
            f"{self.faults} faults, {self.hit} hit: {said}; {self.ended} ended the process (the "
            f"slowest in {self.slowest_end:.1f} s), {self.recovered} did not; slowest answer "
            f"{self.slowest:.2f} s, slowest recovery {self.slowest_recovery:.2f} s"
            f"{full if self.full else ''}; {len(self.problems)} problems"
        )


@contextmanager
def failing(
    life: Life, router: RouterProcess, fault: Fault, log: Path
) -> Iterator[Callable[[], bool]]:
    """While the block runs; gives a question: has it happened?"""
    if fault.point is None:
        with limited(life, router, fault.room):
            yield lambda: True
        return
    call, number = fault.point.call, fault.point.number
    inject = f"inject={call}:error={fault.error}:when={number}"
    log.unlink(missing_ok=True)
    thread = threads(router)[fault.point.thread]
    with attached(thread, "-e", f"trace={call}", "-e", inject, log=log):
        yield lambda: b"(INJECTED)" in log.read_bytes()


@contextmanager
def limited(life: Life, router: RouterProcess, room: int) -> Iterator[None]:
    """No file of the router may grow past its journal's size and `room` bytes."""
    assert router.process is not None
    router.log.write_bytes(b"")  # it would be the larger one
    journal = Path(f"{life.rig.store}-wal")
    pid, without = router.process.pid, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    size = max(journal.stat().st_size, life.rig.store.stat().st_size)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        if router.running:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, without)


def at(fault: Fault, life: Life, router: RouterProcess, tally: Tally) -> RouterProcess:
    """A life with one fault; the router that runs afterwards."""
    with failing(life, router, fault, life.rig.folder / "fault.log") as happened:
        answer = life.send()
        wait_for(lambda: not router.running or life.all_done(), LIFE_S)
        hit = happened()
    tally.faults += 1
    tally.hit += hit
    tally.answers[answer.status] += 1
    began = time.monotonic()
    life.problems += [f"{fault}: {p}" for p in wrong(answer, router)]
    if hit and fault.fatal and not wait_for(lambda: not router.running, END_S):
        life.problems.append(f"{fault}: the process goes on")
    if ends(router):
        tally.slowest_end = max(tally.slowest_end, time.monotonic() - began)
        router = ended(fault, life, router, tally)
    else:
        recovers(fault, life, tally)
    if not life.problems:
        life.settle(router, str(fault))
    return router


def wrong(answer: Answer, router: RouterProcess) -> list[str]:
    """What an answer may not be."""
    found = []
    if answer.seconds > ANSWER_S:
        found.append(f"answered after {answer.seconds:.1f} s")
    if answer.status == 503 and answer.retry_after is None:
        found.append("503 without Retry-After")
    if answer.status not in (0, 200, 503):
        found.append(f"answered {answer.status}")
    if answer.status == 0 and not wait_for(lambda: not router.running, END_S):
        found.append("no answer, and the router runs on")
    return found


def ends(router: RouterProcess) -> bool:
    """Whether this router is gone, or going: one that cannot write answers nothing but 503."""
    return not router.running or (
        "writes no more" in router.output() and wait_for(lambda: not router.running, END_S)
    )


def ended(fault: Fault, life: Life, router: RouterProcess, tally: Tally) -> RouterProcess:
    """It has ended: not with 0 and not with a traceback; another begins where it was."""
    assert router.process is not None
    tally.ended += 1
    status, output = router.process.returncode, router.output()
    if status <= 0 or "Traceback" in output:
        life.problems.append(f"{fault}: ended with {status}:\n{output[-1500:]}")
    router.log.write_bytes(b"")
    return life.start()


def recovers(fault: Fault, life: Life, tally: Tally) -> None:
    """The router lives: it takes deliveries again, by itself."""
    began = time.monotonic()
    if wait_for(lambda: life.send().status == 200, RECOVERY_S):
        tally.recovered += 1
        tally.slowest_recovery = max(tally.slowest_recovery, time.monotonic() - began)
    else:
        life.problems.append(f"{fault}: takes nothing for {RECOVERY_S} s")


def full_disk(life: Life, router: RouterProcess, tally: Tally) -> None:
    """No room for a while: every answer 503 and soon; room again: 200 before long."""
    slowest = 0.0
    options = ("-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC")
    with attached(threads(router)[WRITER], *options):
        until = time.monotonic() + FULL_S
        while time.monotonic() < until:
            answer = life.send()
            slowest = max(slowest, answer.seconds)
            if (answer.status, answer.retry_after is None) != (503, False):
                life.problems.append(f"full disk: {answer}")
        if router.ready():
            life.problems.append("full disk: ready")
    began = time.monotonic()
    recovers(Fault(None, "ENOSPC"), life, tally)
    tally.full = [slowest, time.monotonic() - began]
    if slowest > 1.0:
        life.problems.append(f"full disk: 503 only after {slowest:.1f} s")
    life.settle(router, "after the full disk")


def planned(folder: Path, size: int, count: int | None) -> list[Fault]:
    """Record a life; its file calls, each with each error, or so many of them."""
    with a_life(folder / "recorded", size=size, plugin=True) as life, life.rig.router() as router:
        found = [p for p in points(life, router, folder) if p.thread == WRITER and p.call in FILES]
    every = [Fault(p, e) for p in found for e in ERRORS]
    return chosen(every, count) if size == SIZES[0] else large(every, count)


def large(every: Sequence[Fault], count: int | None) -> list[Fault]:
    """Of the thousand calls of a large life: syncs and cuts all, the like of each other a few."""
    few = [f for f in every if f.point and f.point.call not in ("fdatasync", "ftruncate")]
    rest = [f for f in every if f not in set(few)]
    return chosen([*chosen(few, LARGE_POINTS), *rest], count)


def short_writes(count: int, rng: random.Random) -> list[Fault]:
    return [Fault(None, "short", rng.randrange(FRAMES)) for _ in range(count)]


def run(
    life: Life, faults: Sequence[Fault], tally: Tally, what: str, *, full: bool = False
) -> None:
    """All these faults on one store."""
    router = life.start()
    try:
        life.send()
        life.finish(router, "before the first")
        for fault in reported(faults, what):
            if not life.problems:
                router = at(fault, life, router, tally)
        if full and not life.problems:
            full_disk(life, router, tally)
    except (RouterDied, TookTooLong) as error:
        life.problems.append(str(error))
    finally:
        if router.running:
            router.kill()
    tally.slowest = max(tally.slowest, life.slowest)
    tally.problems += life.problems


def campaign(folder: Path, count: int | None, rng: random.Random) -> Tally:
    """Everything, or `count` of each kind."""
    tally = Tally()
    for size in SIZES:
        faults = planned(folder / f"{size}", size, count)
        with a_life(folder / f"store-{size}", size=size, plugin=True) as life:
            run(life, faults, tally, f"errors, body of {size} bytes")
    with a_life(folder / "short") as life:
        run(life, short_writes(count or SHORT_WRITES, rng), tally, "short writes", full=True)
    return tally


def main() -> int:
    counts = {"count": (None, "faults of each kind, spread evenly")}
    return by_count(__doc__, counts, lambda at, given, rng: campaign(at, given.count, rng))


if __name__ == "__main__":
    sys.exit(main())
