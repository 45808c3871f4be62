"""
No room for the store, as a process and as a disk run out of it.

    python -m tests.faults.room                both
    python -m tests.faults.room limit          one of them

    limit   no file may grow past 16 KiB any more (RLIMIT_FSIZE): writes fail with EFBIG
    small   the store lies on a file system of 2 MiB that runs full: writes fail with ENOSPC

Meanwhile each answer is 200 or, soon, 503 with Retry-After; `/readyz` says no as soon as
not even its own small write has room, the process lives.
Once there is room again deliveries are taken without help, and then everything that had a 200 is
stored, once, and all jobs end. `small` needs a mount of its own (`unshare`, Linux).
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.process import PATIENCE_S, ROOT, Rig, RouterDied, RouterProcess, TookTooLong
from tests.faults.life import Life, a_life, wait_for
from tests.faults.telling import reported, say, verdict

PARTS = ("limit", "small")
LIMIT = 16 * 1024
DISK = 2 * 1024 * 1024
BALLAST = 1024 * 1024
"""What is taken off the small disk to make room again."""
SIZE = 9_000
FULL_S = 1.5
SOON_S = 1.0
RECOVERY_S = 5.0
MOST = 400
"""So many deliveries at most until the small disk is full."""
MOUNTED = f'mount -t tmpfs -o size={DISK} none "$1" && shift && exec "$@"'
NAMESPACES = (("unshare", "-rm"), ("unshare", "-m"))
"""As an ordinary user where that is allowed, else as root."""


@dataclass
class Tally:
    """What a part came to; `back` and `slowest` are seconds."""

    part: str
    answers: Counter[int] = field(default_factory=Counter)
    slowest: float = 0.0
    back: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        said = ", ".join(f"{n} x {s or 'no answer'}" for s, n in sorted(self.answers.items()))
        return (
            f"{self.part}: {said}; slowest {self.slowest:.2f} s, deliveries again after "
            f"{self.back:.2f} s; {len(self.problems)} problems"
        )


class OnSmallDisk(Rig):
    """The store in a folder of its own, on which something small is mounted."""

    @property
    def store(self) -> Path:
        return self.folder / "small" / "router.db"

    def head(self) -> str:
        return super().head().replace("sqlite:router.db", "sqlite:small/router.db")


def namespace(folder: Path) -> list[str] | None:
    """What runs a command with a small disk mounted at `folder`; None: not here."""
    for way in NAMESPACES:
        command = [*way, "sh", "-c", MOUNTED, "sh", str(folder)]
        try:
            ran = subprocess.run([*command, "true"], capture_output=True, check=False)
        except FileNotFoundError:
            return None
        if ran.returncode == 0:
            return command
    return None


@contextmanager
def limited(router: RouterProcess) -> Iterator[None]:
    """No file of the router may grow past the limit."""
    assert router.process is not None
    router.log.write_bytes(b"")
    pid, without = router.process.pid, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (LIMIT, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        if router.running:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, without)


@contextmanager
def filled(life: Life, tally: Tally) -> Iterator[None]:
    """The small disk is full; afterwards some of it is not."""
    ballast = life.rig.store.parent / "ballast"
    ballast.write_bytes(bytes(BALLAST))
    for _ in range(MOST):
        if one(life, tally) != 200:
            break
    else:
        life.problems.append("the disk does not run full")
    try:
        yield
    finally:
        ballast.unlink()


def one(life: Life, tally: Tally) -> int:
    """A delivery, answered as it may be; the status."""
    answer = life.send()
    tally.answers[answer.status] += 1
    tally.slowest = max(tally.slowest, answer.seconds)
    fine = answer.status == 200 or (answer.status == 503 and answer.retry_after is not None)
    if not fine or answer.seconds > SOON_S:
        life.problems.append(f"{tally.part}: {answer}")
    return answer.status


def starve(life: Life, router: RouterProcess, tally: Tally) -> None:
    """A while without room, and until more was refused than went well before."""
    began = time.monotonic()
    while not life.problems and (since := time.monotonic() - began) < PATIENCE_S:
        if since > FULL_S and tally.answers[503] >= tally.answers[200]:
            break
        one(life, tally)
    if not router.running:
        life.problems.append(f"{tally.part}: the router ended:\n{router.output()}")
    elif not wait_for(lambda: not router.ready(), FULL_S):  # each asking writes, and so takes room
        life.problems.append(f"{tally.part}: ready")
    if tally.answers[503] < tally.answers[200]:
        life.problems.append(f"{tally.part}: nothing was short")


def back(life: Life, router: RouterProcess, tally: Tally) -> None:
    """There is room: deliveries are taken by itself, what was refused too, and all jobs end."""
    began = time.monotonic()
    if not wait_for(lambda: life.send().status == 200, RECOVERY_S):
        life.problems.append(f"{tally.part}: takes nothing for {RECOVERY_S} s")
    tally.back = time.monotonic() - began
    life.unknown = set(sorted(life.unknown)[:3])  # a few of those that heard 503, not all
    life.settle(router, tally.part)
    router.until(router.ready, "ready again")
    if "Traceback" in router.output():
        life.problems.append(f"{tally.part}: a traceback:\n{router.output()}")


def run(life: Life, tally: Tally) -> None:
    with life.rig.router() as router:
        life.send()
        life.finish(router, "before")
        with limited(router) if tally.part == "limit" else filled(life, tally):
            starve(life, router, tally)
        if not life.problems:
            back(life, router, tally)


def part(name: str, folder: Path) -> Tally:
    """One of them; for `small` a small disk is mounted at `folder`/small."""
    tally = Tally(name)
    with a_life(folder, size=SIZE) as life:
        if name == "small":
            life.rig = OnSmallDisk(folder, life.rig.rules, life.rig.environ)
        try:
            run(life, tally)
        except (RouterDied, TookTooLong) as error:
            life.problems.append(str(error))
        tally.problems += life.problems
    return tally


def on_small_disk(folder: Path) -> tuple[str, list[str]]:
    """`small`, in a process that has it mounted; figures and problems, in words."""
    disk = folder / "small"
    disk.mkdir(parents=True)
    mounted = namespace(disk)
    if mounted is None:
        return "small: passed over, nothing can be mounted here", []
    command = [*mounted, sys.executable, "-m", "tests.faults.room", "--inside", str(folder)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    figures, *problems = ran.stdout.replace("PROBLEM ", "").splitlines() or ["small: no word"]
    return figures, problems or ([ran.stderr[-1500:]] if ran.returncode else [])


def campaign(folder: Path, parts: Sequence[str] = PARTS) -> tuple[list[str], list[str]]:
    """Figures and problems."""
    figures, problems = [], []
    for name in reported(parts, "parts"):
        if name == "small":
            line, found = on_small_disk(folder / name)
        else:
            tally = part(name, folder / name)
            line, found = str(tally), tally.problems
        figures.append(line)
        problems += found
    return figures, problems


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="some of it")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        tally = part("small", options.inside)
        return verdict(tally.problems, str(tally))
    say("no seed: nothing here is drawn")
    with tempfile.TemporaryDirectory() as name:
        figures, problems = campaign(Path(name), options.parts or PARTS)
    return verdict(problems, "\n".join(figures))


if __name__ == "__main__":
    sys.exit(main())
