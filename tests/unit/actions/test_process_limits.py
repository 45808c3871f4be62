"""What a command stands on: limits, files; with real processes."""

import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from router.actions.process_limits import bounded
from router.actions.shell import ShellAction
from router.kinds.shell import ShellCall
from router.model.job import Outcome, RetryOutcome
from router.model.settings import ShellLimits
from tests.begun import as_dispatched
from tests.sim.makers import a_job, a_shell_call

HOSTILE = ("$(id)", "`id`", "; rm -rf /", "--help", "a'b\"c", "*", "\n", "ü😀", "%s", "\\", "")


async def _run(call: ShellCall) -> Outcome:
    return await as_dispatched(ShellAction(), call, a_job(kind="shell"))


def _sh(script: str, **changes: object) -> ShellCall:
    return a_shell_call("sh", "-eu", "-c", script, **changes)


def _python(script: str, *words: str, **changes: object) -> ShellCall:
    return a_shell_call(sys.executable, "-S", "-c", script, *words, **changes)


async def test_limits_hold_from_the_first_instruction() -> None:
    limits = ShellLimits(cpu_s=7, memory=512 * 1024**2, files=99)
    outcome = await _run(_sh("ulimit -t; ulimit -v; ulimit -n", limits=limits))
    assert outcome.result["stdout"].split() == ["7", "524288", "99"]


async def test_a_limit_cannot_be_raised_again() -> None:
    outcome = await _run(
        _python(
            "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))",
            limits=ShellLimits(memory=256 * 1024**2),
        )
    )
    if os.geteuid() != 0:  # root may
        assert isinstance(outcome, RetryOutcome)


async def test_too_much_memory_fails_the_command_alone() -> None:
    outcome = await _run(_python("bytearray(10**9)", limits=ShellLimits(memory=256 * 1024**2)))
    assert isinstance(outcome, RetryOutcome)
    assert "MemoryError" in outcome.result["stderr"]


@pytest.mark.long
async def test_too_much_processor_time_is_said() -> None:
    outcome = await _run(_sh("while :; do :; done", limits=ShellLimits(cpu_s=1)))
    assert isinstance(outcome, RetryOutcome)
    assert outcome.failure == "error"
    assert outcome.reason == "killed by SIGXCPU: over its limit of processor time"


async def test_arguments_pass_the_limits_byte_for_byte() -> None:
    call = _python(
        "import sys, json; print(json.dumps(sys.argv[1:]))",
        *HOSTILE,
        env={"LC_ALL": "C.UTF-8"},
        limits=ShellLimits(files=64),
    )
    assert tuple((await _run(call)).result["json"]) == HOSTILE


def test_no_limits_no_shell_in_between() -> None:
    assert bounded(("true",), None) == ("true",)
    assert bounded(("true",), ShellLimits()) == ("true",)


async def test_files_hold_what_they_are_given_and_go_with_the_command(tmp_path: Path) -> None:
    body = b"\x00\xff{}" * 100_000
    script = (
        "import os, json, stat; p = os.environ['PAYLOAD_FILE'];"
        "print(json.dumps([p, oct(stat.S_IMODE(os.stat(p).st_mode)), os.path.getsize(p),"
        "open(os.environ['ORDER']).read()]))"
    )
    call = _python(script, files=(("PAYLOAD_FILE", body), ("ORDER", b'{"id": 1}')))
    path, mode, size, order = (await _run(call)).result["json"]
    assert (mode, size, order) == ("0o600", len(body), '{"id": 1}')
    assert not Path(path).parent.exists()


@pytest.mark.long
async def test_files_go_after_a_time_limit_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    outcome = await _run(_sh("sleep 60", files=(("A", b"x"),), timeout_s=0.1))
    assert isinstance(outcome, RetryOutcome)
    assert list(tmp_path.iterdir()) == []


async def test_json_on_stdout_is_a_result_only_when_all_of_it_is_json() -> None:
    good = await _run(_sh("""printf '  {"id": 7}\\n'"""))
    assert good.result["json"] == {"id": 7}
    bad = await _run(_sh("""echo note; echo '{"id": 7}'"""))
    assert "json" not in bad.result
    assert json.dumps(good.result)
