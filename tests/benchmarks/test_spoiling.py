"""What spoils something on purpose: a disk that is slow, and what goes on meanwhile."""

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchmarks import start
from benchmarks.bench import Bench, WrongFigures
from benchmarks.meanwhile import meanwhile
from benchmarks.rows import spinning
from benchmarks.slow_sync import DELAY_MS, compiled, slow_sync
from tests.acceptance.process import ROOT

TIMED = """\
import os, sys, time
with open(sys.argv[1], "wb") as file:
    began = time.perf_counter()
    os.fdatasync(file.fileno())
    os.fsync(file.fileno())
    print(time.perf_counter() - began)
"""


def test_what_goes_on_ends_with_the_block() -> None:
    enough = threading.Event()

    def once(turn: int) -> int:
        if turn == 3:
            enough.set()
        return turn

    with meanwhile(once) as found:
        assert enough.wait(10)
    assert found == list(range(len(found)))
    assert len(found) >= 4


def test_what_goes_wrong_meanwhile_is_raised() -> None:
    def once(turn: int) -> int:
        raise OSError(f"turn {turn}")

    with pytest.raises(OSError, match="turn 0"), meanwhile(once):
        pass


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler: cc")
def test_both_syncs_are_late(tmp_path: Path) -> None:
    library = compiled(tmp_path)
    ran = subprocess.run(
        [sys.executable, "-c", TIMED, str(tmp_path / "file")],
        env={"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(ran.stdout) * 1000 >= 2 * DELAY_MS


def test_without_a_compiler_the_rows_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    rows = slow_sync(Bench(tmp_path))
    assert {row.unit for row in rows} == {"no C compiler here"}
    assert [row.figure for row in rows] == [None, None]


def test_a_busy_process_is_gone_with_its_block() -> None:
    with spinning() as process:
        assert process.poll() is None
    assert process.returncode == -signal.SIGKILL


@pytest.mark.long
def test_a_check_tells_what_it_used(tmp_path: Path) -> None:
    found = start.check(Bench(tmp_path), ROOT / "rules.example.yaml", {})
    assert found.processor_s > 0
    assert found.peak_mib > 10
    assert found.seconds > 0


def test_a_check_that_finds_a_fault_is_no_figure(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrulez: []\n")
    with pytest.raises(WrongFigures, match="rulez"):
        start.check(Bench(tmp_path), rules, {})
