"""
YAML bombs: `router check` of each hostile rules file ends in words, within 10 s and 256 MiB.

    python -m tests.faults.bombs
    python -m tests.faults.bombs --only brackets

Each file is read by a process of its own, whose address space is capped and whose time is measured:
the processor's, for other work on the machine is no fault of the file; by the clock it may be three
times that. It must end by itself with 0 or 1 (as the file is right or wrong), say why in
diagnostics, and never with a traceback.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.faults.hostile_rules import BOMBS, Bomb
from tests.faults.telling import say, verdict

SECONDS = 10.0
MEMORY = 256 * 1024 * 1024
OUTPUT = 2 * 1024 * 1024
"""A check that prints more than this tells nobody anything."""
ROOT = Path(__file__).parents[2]
MEASURED = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, used = os.wait4(pid, 0)
found = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, used.ru_maxrss
os.write(int(sys.argv[1]), " ".join(map(str, found)).encode())
"""
"""A small process between: the peak that a child is charged with begins with its parent's."""


@dataclass(frozen=True)
class Ended:
    """What came of one check. `memory` in bytes, the most that was resident."""

    status: int
    seconds: float
    memory: int
    said: str

    def problems(self, bomb: Bomb) -> list[str]:
        """What is not as it must be."""
        found = []
        wanted = 0 if bomb.right else 1
        if self.status != wanted:
            found.append(f"ended with {self.status}, not {wanted}: {self.said[-300:]!r}")
        if "Traceback" in self.said or "MemoryError" in self.said or not self.said.strip():
            found.append(f"said {self.said[-300:]!r}")
        if self.seconds > SECONDS:
            found.append(f"took {self.seconds:.1f} s")
        if self.memory > MEMORY:
            found.append(f"took {self.memory >> 20} MiB")
        if len(self.said) >= OUTPUT:
            found.append("said more than anybody reads")
        return [f"{bomb.name}: {one}" for one in found]


def check(bomb: Bomb, folder: Path) -> Ended:
    """Lay the files out and have them checked."""
    for name, content in bomb.files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-IS", "-c", MEASURED, str(write), *_command(folder)],
        cwd=ROOT,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(write,),
        start_new_session=True,
        preexec_fn=_bounded,  # noqa: PLW1509 - one thread, and no lock is held
    )
    os.close(write)
    with os.fdopen(read, "rb") as found:
        said = _said(process)
        status, seconds, peak_kib = found.read().split() or (-signal.SIGKILL, 3 * SECONDS, 0)
    return Ended(int(status), float(seconds), int(peak_kib) * 1024, said)


def _command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "router", "check", str(folder / "rules.yaml")]


def _said(process: subprocess.Popen[bytes]) -> str:
    """What it prints until it ends, or is ended with all it started."""
    late = threading.Timer(3 * SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    late.start()
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read(OUTPUT)
    process.wait()
    late.cancel()
    return said.decode("utf-8", "replace")


def _bounded() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _environment() -> Mapping[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "SHOP": "a-secret-of-some-length"}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="bombs whose name holds this")
    options = parser.parse_args()
    chosen = [bomb for bomb in BOMBS if options.only in bomb.name]
    problems: list[str] = []
    slowest = largest = 0.0
    for bomb in chosen:
        with tempfile.TemporaryDirectory(prefix="bombs-") as name:
            ended = check(bomb, Path(name))
        problems += ended.problems(bomb)
        slowest, largest = max(slowest, ended.seconds), max(largest, ended.memory)
        mark = "!" if ended.problems(bomb) else " "
        say(f"{mark}{ended.seconds:5.1f} s {ended.memory >> 20:4d} MiB  {bomb.name}")
    most = f"at most {slowest:.1f} s and {int(largest) >> 20} MiB"
    return verdict(problems, f"{len(chosen)} files: {most}, {len(problems)} problems")


if __name__ == "__main__":
    sys.exit(main())
