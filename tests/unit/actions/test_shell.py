"""The shell action with real processes."""

import asyncio
import json
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

from router.actions.child import KEEP
from router.actions.shell import ShellAction
from router.kinds.log import LogCall
from router.kinds.shell import ShellCall
from router.log import Redactor
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from tests.begun import as_dispatched
from tests.children import children
from tests.sim.makers import a_job, a_shell_call
from tests.waiting import until

CANARY = "s3cr3t-canary-9f2e"


async def _run(call: ShellCall) -> Outcome:
    return await as_dispatched(ShellAction(), call, a_job(kind="shell"))


def _sh(script: str, **changes: object) -> ShellCall:
    return a_shell_call("sh", "-eu", "-c", script, **changes)


@pytest.mark.parametrize(
    ("code", "expected"),
    [(0, Done), (75, "temporary"), (78, FailOutcome), (1, "error"), (2, "error"), (127, "error")],
)
async def test_exit_codes(code: int, expected: object) -> None:
    outcome = await _run(_sh(f"exit {code}"))
    assert (outcome.failure if isinstance(outcome, RetryOutcome) else type(outcome)) == expected
    assert outcome.result["exit"] == code


async def test_a_signal_is_an_error_with_its_name() -> None:
    outcome = await _run(_sh("kill -9 $$"))
    assert isinstance(outcome, RetryOutcome)
    assert (outcome.failure, outcome.reason) == ("error", "killed by SIGKILL")


async def test_streams_are_kept_apart_and_json_is_read() -> None:
    outcome = await _run(_sh("""echo '{"a": 1.50}'; echo problem >&2"""))
    assert outcome.result["stderr"] == "problem\n"
    assert str(outcome.result["json"]["a"]) == "1.50"


async def test_deep_json_is_left_as_text() -> None:
    deep = "[" * 500 + "]" * 500
    outcome = await _run(_sh(f"echo '{deep}'"))
    assert "json" not in outcome.result


async def test_the_tail_is_kept() -> None:
    outcome = await _run(_sh("seq 1 100000; echo end"))
    assert outcome.result["stdout"].endswith("99999\n100000\nend\n")
    assert len(outcome.result["stdout"]) == KEEP
    assert outcome.result["truncated"] is True


async def test_large_input_and_output_do_not_block_each_other() -> None:
    data = b"0123456789" * 100_000
    outcome = await _run(_sh("cat; cat /dev/null >&2", stdin=data))
    assert outcome.result["stdout"] == data[-KEEP:].decode()


async def test_input_that_nobody_reads_is_no_fault() -> None:
    assert isinstance(await _run(_sh("exec <&-; exit 0", stdin=b"x" * 1_000_000)), Done)


async def test_only_the_given_environment() -> None:
    call = a_shell_call(
        sys.executable,
        "-c",
        "import os, json; print(json.dumps(dict(os.environ)))",
        env={"WEBHOOK_JOB": "job_1", "LC_ALL": "C.UTF-8"},
    )
    assert (await _run(call)).result["json"] == {"WEBHOOK_JOB": "job_1", "LC_ALL": "C.UTF-8"}


async def test_arguments_arrive_byte_for_byte() -> None:
    hostile = ("$(id)", "`id`", "; rm -rf /", "--help", "a'b\"c", "*", "\n", "ü😀", "%s", "\\", "")
    call = a_shell_call(
        sys.executable,
        "-c",
        "import sys, json; print(json.dumps(sys.argv[1:]))",
        *hostile,
        env={"LC_ALL": "C.UTF-8"},
    )
    assert tuple((await _run(call)).result["json"]) == hostile


async def test_the_folder(tmp_path: Path) -> None:
    assert (await _run(_sh("pwd", cwd=str(tmp_path)))).result["stdout"].strip() == str(tmp_path)


@pytest.mark.long
async def test_a_time_limit_ends_even_the_stubborn() -> None:
    began = time.monotonic()
    outcome = await _run(
        _sh("trap '' TERM; echo on; for i in $(seq 60); do sleep 1; done", timeout_s=0.2)
    )
    assert isinstance(outcome, RetryOutcome)
    assert outcome.failure == "timeout"
    assert outcome.result["stdout"] == "on\n"
    assert time.monotonic() - began < 20, "a third of what it would have taken by itself"


@pytest.mark.long
async def test_the_whole_group_is_gone(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"(trap '' TERM; echo $$ > {pids}; for i in $(seq 60); do sleep 1; done) & wait"
    outcome = await _run(_sh(script, timeout_s=0.3))
    assert isinstance(outcome, RetryOutcome)
    assert not _group_lives(int(pids.read_text()))


async def test_cancelling_kills_the_group_first(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    task = asyncio.create_task(_run(_sh(f"echo $$ > {pids}.new; mv {pids}.new {pids}; sleep 60")))
    await until(pids.exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not _group_lives(int(pids.read_text()))


async def test_a_background_process_does_not_hold_us_up() -> None:
    outcome = await _run(_sh("sleep 600 & echo hi"))
    assert isinstance(outcome, Done)
    assert outcome.result["stdout"] == "hi\n"


async def test_no_zombies_and_no_descriptors_are_left() -> None:
    await _run(_sh("true"))
    before, others = _open_descriptors(), children()
    for _ in range(5):
        await _run(_sh("exit 1", stdin=b"x"))
        await _run(a_shell_call("/nonexistent"))
    assert _open_descriptors() <= before
    assert children() <= others


@pytest.mark.parametrize(
    ("call", "expected", "words"),
    [
        (a_shell_call("/no/such"), RetryOutcome, "not found"),
        (a_shell_call("/etc/passwd"), RetryOutcome, "may not be executed"),
        (a_shell_call("true", cwd="/no/such"), RetryOutcome, "not found"),
        (a_shell_call("true", "x" * 140_000), FailOutcome, "too long"),
        (a_shell_call("true", f"{CANARY}\0"), FailOutcome, "NUL"),
        (a_shell_call("true", env={"A": f"{CANARY}\0"}), FailOutcome, "NUL"),
        (a_shell_call("true", f"{CANARY}\udce9\ud800"), FailOutcome, "Unicode"),
        (a_shell_call("true", env={"A=B": "x"}), FailOutcome, ""),
    ],
)
async def test_what_cannot_start(call: ShellCall, expected: type[Outcome], words: str) -> None:
    outcome = await _run(call)
    assert isinstance(outcome, expected)
    assert words in outcome.reason  # type: ignore[union-attr]
    assert CANARY not in repr(outcome)


async def test_secrets_of_the_environment_are_masked_in_the_output() -> None:
    call = _sh(
        'echo "$TOKEN"; echo "$TOKEN" >&2',
        env={"PATH": "/usr/bin:/bin", "TOKEN": CANARY},
        secret_names=frozenset({"TOKEN"}),
    )
    outcome = await _run(call)
    assert CANARY not in json.dumps(outcome.result)
    assert outcome.result["stdout"] == "***\n"


async def test_another_kind_of_call_is_dead() -> None:
    assert isinstance(await ShellAction().run(LogCall("x"), a_job()), FailOutcome)


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def _group_lives(group: int) -> bool:
    """Whether a process of the group still runs (a zombie of init's does not)."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, _, pgid = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(pgid) == group and state not in "ZX":
            return True
    return False


# -- secrets that the command was not given -------------------------------------------------------


def _knowing() -> ShellAction:
    redactor = Redactor(8, encoded=True)
    redactor.register([CANARY])
    return ShellAction(redactor=redactor)


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        (f"echo {CANARY}", "***\n"),
        (f"printf s3cr3t-; printf '' >&2; printf canary-9f2e; : {CANARY}", "***"),
        (f"printf '%s' {CANARY} | base64", "***=\n"),
        (f'printf \'{{"a": "%s"}}\' {CANARY}', '{"a": "***"}'),
    ],
)
async def test_no_output_brings_a_known_secret_into_the_record(script: str, kept: str) -> None:
    for turned in ("", " >&2"):
        outcome = await _knowing().run(_sh(f"({script}){turned}"), a_job(kind="shell"))
        assert outcome.result["stderr" if turned else "stdout"].replace("*=", "*") == (
            kept.replace("*=", "*")
        )
        assert CANARY not in str(outcome)


async def test_json_that_spells_a_secret_otherwise_is_masked_too() -> None:
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in CANARY)
    call = a_shell_call("printf", "%s", f'{{"a": ["{escaped}", 1.10]}}')
    outcome = await _knowing().run(call, a_job(kind="shell"))
    assert outcome.result["json"] == {"a": ["***", Decimal("1.10")]}


@pytest.mark.parametrize("left", range(4, len(CANARY)))
async def test_no_part_of_a_secret_stands_where_an_output_is_cut(left: int) -> None:
    script = f"printf {CANARY}{CANARY}; head -c {KEEP - left} /dev/zero | tr '\\0' x"
    outcome = await _knowing().run(_sh(f"{script}; {{ {script}; }} >&2"), a_job(kind="shell"))
    assert outcome.result["truncated"]
    for name in ("stdout", "stderr"):
        assert outcome.result[name] == "***" + "x" * (KEEP - left)
