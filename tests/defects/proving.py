"""A copy of the tree, a defect in it, and what the named tests say."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests.defects.defect import ROOT, Defect
from tests.defects.witness import REPORT

COPIED = (
    "router",
    "tests",
    "docs",
    "plugins",
    "pyproject.toml",
    "rules.example.yaml",
    "README.md",
    "CONTRIBUTING.md",
)
PATIENCE_S = 120
TEST_S = 45
"""A test that a defect makes wait for ever is ended, which is a way of being caught."""
SEED = 0
_TORN = ("tests/browser", "docs/pictures")
"""Left out of the copies: nothing named here needs them."""

State = Literal["caught", "survived", "not shown", "broken"]


@dataclass(frozen=True)
class Outcomes:
    """What pytest said of each test, by node id; `exit` is its exit status."""

    exit: int
    said: dict[str, set[str]]
    output: str

    def of(self, node: str) -> set[str]:
        """What was said of one test: of all its cases where the id names none."""
        found: set[str] = set()
        for id_, words in self.said.items():
            if id_ == node or id_.startswith(f"{node}["):
                found |= words
        return found


@dataclass(frozen=True)
class Verdict:
    """What became of a defect, which tests saw it and which of the named ones did not."""

    defect: Defect
    state: State
    saw: tuple[str, ...]
    blind: tuple[str, ...]
    seconds: float
    output: str = ""

    def __str__(self) -> str:
        reported = ", ".join(map(short, self.saw or self.blind))
        line = f"{self.defect.number:>3}  {self.state:<9}  {self.seconds:4.1f} s  "
        return f"{line}{self.defect.title}  [{reported}]"


class Copy:
    """A copy of the tree in which defects are planted, one after the other."""

    def __init__(self, folder: Path, source: Path = ROOT) -> None:
        self.root = folder / "tree"
        self.root.mkdir(parents=True)
        for name in COPIED:
            _copy(source / name, self.root / name)

    def prove(self, defect: Defect) -> Verdict:
        """Plant it, run what must notice, take it out again."""
        began = time.monotonic()
        with self.planted(defect):
            outcomes = self.run(defect.caught_by)
        return judged(defect, outcomes, time.monotonic() - began)

    @contextmanager
    def planted(self, defect: Defect) -> Iterator[None]:
        """The copy with this defect in it."""
        before = defect.plant(self.root)
        for path in before:
            _stamp(path, defect.number)
        try:
            yield
        finally:
            for path, content in before.items():
                path.write_bytes(content)
                _stamp(path, 0)

    def run(self, nodes: Iterable[str], *, patience_s: float = PATIENCE_S) -> Outcomes:
        """Run these tests on the copy's router."""
        report = self.root.parent / "report"
        report.write_text("")
        try:
            ended = subprocess.run(
                [*_PYTEST, *nodes],
                cwd=self.root,
                env=environment(self.root, report),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=patience_s,
                check=False,
                text=True,
                errors="replace",
            )
            code, output = ended.returncode, ended.stdout + ended.stderr
        except subprocess.TimeoutExpired:
            code, output = -1, f"not ended after {patience_s:g} s"
        said: dict[str, set[str]] = {}
        for line in report.read_text(encoding="utf-8").splitlines():
            word, _, node = line.partition(" ")
            said.setdefault(node, set()).add(word)
        return Outcomes(code, said, output)


@contextmanager
def copies(count: int) -> Iterator[list[Copy]]:
    """So many copies of the tree as it is now, all alike."""
    with tempfile.TemporaryDirectory(prefix="defects-") as name:
        first = Copy(Path(name) / "0")
        rest = [Copy(Path(name) / str(i), first.root) for i in range(1, count)]
        yield [first, *rest]


def judged(defect: Defect, outcomes: Outcomes, seconds: float) -> Verdict:
    """
    Caught when every named test failed that could run; not shown when none could.

    Tests that could not even be collected show a defect that was not planted as it was meant.
    """
    each = {node: outcomes.of(node) for node in defect.caught_by}
    saw = tuple(node for node, words in each.items() if "failed" in words)
    skipped = {node for node, words in each.items() if words == {"skipped"}}
    blind = tuple(node for node in each if node not in saw and node not in skipped)
    if outcomes.exit not in (0, 1) or any(not words for words in each.values()):
        state: State = "broken"
    elif blind:
        state = "survived"
    else:
        state = "caught" if saw else "not shown"
    return Verdict(defect, state, saw, blind, seconds, outcomes.output)


def short(node: str) -> str:
    """A test's name without its folder and its case."""
    file, _, name = node.partition("::")
    return f"{Path(file).stem}::{name.partition('[')[0]}"


_PYTEST: Sequence[str] = (
    *(sys.executable, "-m", "pytest", "-q", "-n0", "-m", "", "--tb=short", "--no-header"),
    *("-p", "no:cacheprovider", "-p", "tests.defects.witness"),
    *(f"--timeout={TEST_S}", f"--hypothesis-seed={SEED}"),
)


def environment(root: Path, report: Path) -> dict[str, str]:
    """The variables of a run on this copy; the witness writes what it saw to `report`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    return kept | {
        "PYTHONPATH": str(root),  # also for the processes that tests start
        REPORT: str(report),
    }


def _stamp(path: Path, number: int) -> None:
    """Compiled files are told apart by second and size, which a defect may well keep."""
    os.utime(path, (number, number))


def _copy(source: Path, target: Path) -> None:
    if not source.is_dir():
        shutil.copy2(source, target)
        return

    def left_out(folder: str, names: list[str]) -> list[str]:
        place = Path(folder).relative_to(source.parent).as_posix()
        return [name for name in names if f"{place}/{name}" in _TORN]

    shutil.copytree(source, target, symlinks=True, ignore=left_out)
