"""The tests of a file in a process of their own: what they may answer, and that they end."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path

import pytest

from router.errors import UsageError
from router.wiring.reload_tests import prove
from router.wiring.rules import read_rules
from tests.waiting import until

pytestmark = pytest.mark.long

HEAD = """\
version: 1
endpoints:
  code: {id: code-0123456789abcdef, provider: github, verify: none}
rules:
  - {id: main, from: code, match: "payload.ref == 'refs/heads/main'", actions: {log: hi}}
"""
TRIAL = """\
  - name: %s
    send: {endpoint: code, event: push, set: {ref: %s}}
    expect: {matched: [main]}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rules.yaml"


def written(path: Path, *trials: tuple[str, str]) -> str:
    """Write a file with tests of pushes; its generation."""
    tests = "".join(TRIAL % trial for trial in trials)
    path.write_text(HEAD + (f"tests:\n{tests}" if tests else ""), "utf-8")
    ruleset = read_rules(path, environ=os.environ).ruleset
    assert ruleset is not None
    return ruleset.generation


async def proved(path: Path, generation: str, timeout_s: float = 60) -> int:
    return await prove(path, generation, environ=os.environ, dev=False, timeout_s=timeout_s)


async def test_tests_that_succeed_are_counted(path: Path) -> None:
    generation = written(path, ("one", "refs/heads/main"), ("two", "refs/heads/main"))
    assert await proved(path, generation) == 2


async def test_tests_that_fail_are_named_with_the_first_reason(path: Path) -> None:
    generation = written(path, ("good", "refs/heads/main"), ("bad push", "refs/heads/x"))
    with pytest.raises(UsageError, match=r"(?s)1 of 2 tests of .* failed:\n  bad push: .*main"):
        await proved(path, generation)


async def test_many_failures_are_cut(path: Path) -> None:
    generation = written(path, *[(f"t{n}", "x") for n in range(12)])
    with pytest.raises(UsageError, match=r"(?s)12 of 12 tests .* t9: (?!.* t10: )"):
        await proved(path, generation)


async def test_tests_in_a_file_of_their_own_count(path: Path) -> None:
    generation = written(path)
    other = "version: 1\ntests:\n" + TRIAL % ("apart", "refs/heads/main")
    path.with_name("rules.test.yaml").write_text(other, "utf-8")
    assert await proved(path, generation) == 1


async def test_no_tests_prove_nothing(path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no tests, and server\.reload.require_tests"):
        await proved(path, written(path))


@pytest.mark.parametrize("text", ["nonsense", HEAD.replace("hi", "ho"), None])
async def test_another_file_than_was_read_proves_nothing(path: Path, text: str | None) -> None:
    """It was changed, broken or removed in the meantime."""
    generation = written(path, ("one", "refs/heads/main"))
    if text is None:
        path.unlink()
    else:
        path.write_text(text, "utf-8")
    why = "was changed again while its tests ran" if text else "could not run: .* no rules file"
    with pytest.raises(UsageError, match=why):
        await proved(path, generation)


async def test_their_time_is_bounded(path: Path) -> None:
    generation = written(path, ("one", "refs/heads/main"))
    with pytest.raises(UsageError, match=r"not done within 0\.001 s"):
        await proved(path, generation, timeout_s=0.001)


async def test_the_environment_comes_to_the_tests_unseen(path: Path) -> None:
    """A variable of the router counts there, and no other process of this user reads it."""
    environ = {**os.environ, "CODE_ID": "code-0123456789abcdef", "ODD": "\udcff=x\n"}
    text = HEAD.replace("code-0123456789abcdef", "{env: CODE_ID}")
    path.write_text(text + "tests:\n" + TRIAL % ("one", "refs/heads/main"), "utf-8")
    ruleset = read_rules(path, environ=environ).ruleset
    assert ruleset is not None
    whole = path.read_bytes()
    path.unlink()
    os.mkfifo(path)  # the tests wait for their file, and can be looked at
    proof = asyncio.create_task(prove(path, ruleset.generation, environ=environ, dev=False))
    pipe: list[int] = []

    def reading() -> bool:
        with suppress(OSError):  # until somebody reads there is nobody to open it for
            pipe.append(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        return bool(pipe) or proof.done()

    await until(reading)
    seen = b""
    for child in children():
        with suppress(PermissionError):  # whoever is not root is kept out altogether
            seen += (Path("/proc") / child / "environ").read_bytes()
    os.write(pipe[0], whole)
    os.close(pipe[0])
    assert await proof == 1
    assert b"PATH=" in seen or os.geteuid()
    assert b"CODE_ID" not in seen


def children() -> list[str]:
    """The processes that this one has started."""
    tasks = Path("/proc/self/task").iterdir()
    return [pid for task in tasks for pid in (task / "children").read_text("ascii").split()]
