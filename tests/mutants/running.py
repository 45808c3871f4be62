"""One change in a copy of the tree, and whether the tests of its module notice."""

import queue
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.defects.defect import ROOT
from tests.defects.proving import Copy, environment
from tests.mutants.alike import reason_of
from tests.mutants.groups import Group
from tests.mutants.sites import Mutant, mutants

SPARE_S = 15
"""A run may take three times as long as one without a change, and this."""
TEST_S = 45
SEED = 0

State = Literal["caught", "late", "survived", "alike", "broken"]
"""late: caught, as it did not end; alike: survived, and nobody could notice."""


@dataclass(frozen=True)
class Verdict:
    """What became of a change; `output` is the end of what the tests said."""

    mutant: Mutant
    state: State
    seconds: float
    output: str

    def __str__(self) -> str:
        return f"{self.state:<8} {self.seconds:5.1f} s  {self.mutant}"


def drawn(group: Group, count: int | None, seed: int) -> list[Mutant]:
    """Some of the changes of a group's modules, the same for the same seed; None: all."""
    every = [
        one
        for module in group.modules
        for one in mutants(f"router/{module}", (ROOT / "router" / module).read_bytes())
    ]
    if count is None or count >= len(every):
        return every
    return random.Random(f"{seed} {group.name}").sample(every, count)


def proven(
    wanted: Sequence[tuple[Mutant, Sequence[str]]], free: Sequence[Copy], patience_s: float
) -> Iterator[Verdict]:
    """Each change's verdict as it comes, as many at a time as there are copies."""
    idle: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for copy in free:
        idle.put(copy)

    def prove(one: tuple[Mutant, Sequence[str]]) -> Verdict:
        copy = idle.get()
        try:
            return judged(copy, *one, patience_s)
        finally:
            idle.put(copy)

    with ThreadPoolExecutor(len(free)) as pool:
        for done in as_completed([pool.submit(prove, one) for one in wanted]):
            yield done.result()


def judged(copy: Copy, mutant: Mutant, tests: Sequence[str], patience_s: float) -> Verdict:
    """Make the change, run the tests, take it back."""
    place = copy.root / mutant.file
    before = place.read_bytes()
    began = time.monotonic()
    try:
        place.write_bytes(mutant.applied(before))
        # Compiled files are told apart by second and size, which a change may well keep.
        for compiled in (place.parent / "__pycache__").glob(f"{place.stem}.*.pyc"):
            compiled.unlink()
        code, output = run(copy.root, tests, patience_s)
    finally:
        place.write_bytes(before)
    return Verdict(mutant, _state(mutant, code, output), time.monotonic() - began, output[-3000:])


def run(root: Path, tests: Sequence[str], patience_s: float) -> tuple[int | None, str]:
    """pytest's exit status (None: not ended in time) and what it said, up to the first failure."""
    try:
        ended = subprocess.run(
            [*_PYTEST, *tests],
            cwd=root,
            env=environment(root, root.parent / "report"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=patience_s,
            check=False,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return None, f"not ended after {patience_s:g} s"
    return ended.returncode, ended.stdout + ended.stderr


def _state(mutant: Mutant, code: int | None, output: str) -> State:
    if code is None:
        return "late"
    if code == 5 or any(words in output for words in _NOTHING_PROVED):
        return "broken"
    if code == 0:
        return "survived" if reason_of(mutant) is None else "alike"
    return "caught"  # a test failed, or the module could not even be imported


_NOTHING_PROVED = ("the router that is tested is", "file or directory not found")
_PYTEST: Sequence[str] = (
    *(sys.executable, "-m", "pytest", "-x", "-q", "-n0", "-m", "", "--tb=line", "--no-header"),
    *("-p", "no:cacheprovider", "-p", "tests.defects.witness"),
    *(f"--timeout={TEST_S}", f"--hypothesis-seed={SEED}"),
    *("-k", "not [model"),  # a store that is not the router's, which the same tests prove
)
