"""
Hostile process trees: whatever a command starts is gone a second after its end, and reaped.

    python -m tests.faults.trees --count 1000

This process adopts every orphan below it (a subreaper), so the witness needs no mark: whatever
still has it for an ancestor has survived. Beside the trees runs an innocent command, which must
end well.
"""

import argparse
import asyncio
import contextlib
import gc
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from router.actions.process_tree import adopt_orphans
from router.actions.python import PythonAction
from router.actions.shell import ShellAction
from router.kinds.kind import ActionCall
from router.model.job import Done, RetryOutcome
from tests.plugin_rig import a_python_call
from tests.sim.makers import a_job, a_shell_call

GONE_S = 1.0
AT_ONCE = 6
ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}

SHELL = {
    "deaf": "trap '' TERM INT HUP; for i in $(seq 60); do sleep 1; done",
    "own session": "setsid sleep 600 & sleep 600",
    "no hangup": "nohup sleep 600 >/dev/null 2>&1 & sleep 600",
    "double fork": "(setsid sh -c 'sleep 600 & sleep 600' &) ; sleep 600",
    "bare environment": "env -i setsid /bin/sh -c 'trap \"\" TERM; sleep 600 & wait; sleep 600' &"
    " wait",
    "silent": "exec >&- 2>&- <&-; sleep 600 & sleep 600",
    "flood": "setsid timeout 60 yes & timeout 60 yes >&2 & timeout 60 yes",
    "leader gone": "setsid sh -c 'trap \"\" TERM; for i in $(seq 60); do sleep 1; done' &"
    " trap 'exit 0' TERM; wait",
    "wide": "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do setsid sleep 600 & done; wait",
    "stopped": "setsid sh -c 'kill -STOP $$' & sh -c 'kill -STOP $$' & wait",
    "deep": 'f() { if [ $1 -gt 0 ]; then setsid sh -c "$2" sh $(($1 - 1)) "$2" & fi; sleep 600; };'
    ' f 8 \'if [ $1 -gt 0 ]; then setsid sh -c "$2" sh $(($1 - 1)) "$2" & fi; sleep 600\'',
    "stubborn chain": "trap 'setsid sleep 600 & sleep 600' TERM;"
    " for i in $(seq 60); do sleep 1; done",
    "comes again": "trap '' TERM; for i in $(seq 3000); do setsid sleep 60 & sleep 0.02; done",
}

# Each ends by itself before long, should nobody end it: a tree left behind would run for ever.
_START = "import os, signal, sys, time\n"
PYTHON = {
    "daemon": """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.chdir("/"); os.closerange(0, 100); signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execve("/bin/sh", ["kworker/0:1", "-c", "for i in $(seq 60); do sleep 1; done"], {})
    os._exit(0)
time.sleep(600)""",
    "runner": """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork():
    time.sleep(600)
end = time.monotonic() + 60
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    os.setsid()
    time.sleep(0.002)""",
    "unreaped": """
for _ in range(8):
    if os.fork() == 0:
        if os.fork() == 0: time.sleep(600)
        os._exit(0)
time.sleep(600)""",
    "pair": """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
end = time.monotonic() + 60
def watch(pid):
    while time.monotonic() < end:
        try: os.kill(pid, 0)
        except OSError:
            mine = os.getpid()
            pid = os.fork()
            if pid == 0: os.setsid(); pid = mine
        time.sleep(0.001)
me = os.getpid()
pid = os.fork()
if pid == 0: os.setsid()
watch(pid or me)""",
    "burst": """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(6):
    if os.fork() == 0:
        os.setpgid(0, 0)
time.sleep(600)""",
    "changes itself": """
if os.fork() == 0: os.setsid()
again = "import os, sys; os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])"
os.execv(sys.executable, [sys.executable, "-S", "-E", "-c", again])""",
}

PLUGIN = '''
import os, subprocess, time
def leaves(event, context):
    """A daemon in a session of its own, then no end."""
    subprocess.Popen(["setsid", "sleep", "600"], env={"PATH": os.environ["PATH"]})
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(600)
    time.sleep(600)
'''


@dataclass
class Tally:
    """What came of the trees; `slowest` is seconds from the end asked for to the last death."""

    trees: Counter[str] = field(default_factory=Counter)
    survivors: Counter[str] = field(default_factory=Counter)
    zombies: int = 0
    wrong: list[str] = field(default_factory=list)
    slowest: float = 0.0
    slowest_kind: str = ""
    descriptors: tuple[int, int] = (0, 0)

    def good(self, within_s: float) -> bool:
        """Whether every promise held, the last death in time."""
        flat = self.descriptors[1] <= self.descriptors[0]
        return (
            not (self.survivors or self.zombies or self.wrong) and flat and self.slowest <= within_s
        )


class Grove:
    """Grows trees, fells them, and counts what is left."""

    def __init__(self, folder: Path, seed: int) -> None:
        (folder / "plugins").mkdir()
        (folder / "plugins" / "grove.py").write_text(PLUGIN)
        self._folder = folder
        self._rng = random.Random(seed)
        self._shell, self._python = ShellAction(), PythonAction()
        self.tally = Tally()

    async def grow(self, count: int) -> Tally:
        """Fell `count` trees, a few at a time; the kinds take turns."""
        kinds = [*SHELL, *PYTHON, "plugin"]
        await self._batch([kinds[0]])  # what is opened once is open now
        self.tally = Tally()
        before = _descriptors()
        for start in range(0, count, AT_ONCE):
            wanted = range(start, min(count, start + AT_ONCE))
            await self._batch([kinds[i % len(kinds)] for i in wanted])
        gc.collect()
        self.tally.descriptors = before, _descriptors()
        await self._python.close()
        return self.tally

    async def _batch(self, kinds: list[str]) -> None:
        innocent = asyncio.create_task(self._innocent())
        await asyncio.gather(*(self._fell(kind) for kind in kinds))
        await innocent
        alive, zombies = below(_me())
        self.tally.zombies += zombies
        if alive:
            self.tally.survivors[f"{kinds}: {_command(alive[0])!r}"] += len(alive)
            self._clear(alive)

    def _clear(self, alive: list[int]) -> None:
        """End our own descendants, by their numbers, so that nothing outlives the harness."""
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            for pid in alive:
                os.waitpid(pid, 0)

    async def _fell(self, kind: str) -> None:
        """One tree, ended by its time limit or by a stop."""
        self.tally.trees[kind] += 1
        grown_s = self._rng.uniform(0.05, 0.5)
        stopped = self._rng.random() < 0.5
        action = self._python if kind == "plugin" else self._shell
        call = self._call(kind, 60.0 if stopped else grown_s)
        began = time.monotonic()
        task = asyncio.create_task(action.run(call, a_job()))
        if stopped:
            await asyncio.sleep(grown_s)
            began = time.monotonic() - grown_s
            task.cancel()
        outcome = (await asyncio.gather(task, return_exceptions=True))[0]
        took = time.monotonic() - began - grown_s
        timed = kind != "plugin" or stopped  # a plugin's time begins when its process listens
        if timed and took > self.tally.slowest:
            self.tally.slowest, self.tally.slowest_kind = took, kind
        ended = isinstance(outcome, asyncio.CancelledError) or (
            isinstance(outcome, RetryOutcome) and outcome.failure == "timeout"
        )
        if not ended:
            self.tally.wrong.append(f"{kind}: {outcome!r}"[:300])

    def _call(self, kind: str, limit: float) -> ActionCall:
        if kind == "plugin":
            return a_python_call(self._folder, "grove:leaves", timeout_s=limit)
        if kind in PYTHON:
            argv = [sys.executable, "-S", "-E", "-c", _START + PYTHON[kind]]
        else:
            argv = ["sh", "-c", SHELL[kind]]
        return a_shell_call(*argv, timeout_s=limit, env=ENV)

    async def _innocent(self) -> None:
        call = a_shell_call("sh", "-c", "sleep 0.3 & wait; echo well", env=ENV)
        outcome = await self._shell.run(call, a_job())
        if not (isinstance(outcome, Done) and outcome.result["stdout"] == "well\n"):
            self.tally.wrong.append(f"the innocent: {outcome!r}"[:300])


def below(ancestor: int) -> tuple[list[int], int]:
    """The living processes below one, and how many have ended but were not reaped."""
    parents, states = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, parent, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)], states[int(entry.name)] = int(parent), state
    found = [pid for pid in parents if _descends(pid, ancestor, parents)]
    alive = [pid for pid in found if states[pid] not in "ZX"]
    return alive, len(found) - len(alive)


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while (pid := parents.get(pid, 0)) > 1:
        if pid == ancestor:
            return True
    return False


def _me() -> int:
    return int(Path("/proc/self").resolve().name)


def _descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:80]
    except OSError:
        return "?"


async def _run(count: int, seed: int) -> Tally:
    with tempfile.TemporaryDirectory() as folder:
        return await Grove(Path(folder), seed).grow(count)


def main() -> int:
    """Fell them and tell."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().partition("\n")[0])
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=float, default=GONE_S, help="seconds")
    options = parser.parse_args()
    adopt_orphans()
    began = time.monotonic()
    tally = asyncio.run(_run(options.count, options.seed))
    reported = (
        f"{sum(tally.trees.values())} trees of {len(tally.trees)} kinds in "
        f"{time.monotonic() - began:.0f} s: {sum(tally.survivors.values())} survivors, "
        f"{tally.zombies} zombies, descriptors {tally.descriptors}, "
        f"slowest end {tally.slowest:.2f} s ({tally.slowest_kind})"
    )
    sys.stdout.write("\n  ".join((reported, *tally.survivors, *tally.wrong)) + "\n")
    return 0 if tally.good(options.within) else 1


if __name__ == "__main__":
    raise SystemExit(main())
