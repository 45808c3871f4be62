"""
The tests of a rules file before a reload: in a process of their own, which cannot hold up the
server's loop, and which ends when its time is over. `main` is that process.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from router.errors import RouterError, UsageError
from router.wiring.rules import read_rules
from router.wiring.test_runner import run_tests

TIMEOUT_S = 60.0
SHOWN = 10
"""Failed tests that a failed reload names."""

_ROOT = str(Path(__file__).parents[2])
_BEGIN = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from router.undumpable import make_undumpable; make_undumpable(); "
    "from router.wiring.reload_tests import main; "
    "sys.exit(main(sys.argv[2:], sys.stdin.buffer.read()))"
)
_OWN = ("PATH", "HOME", "LANG", "TZ")
"""
What the process itself has of the environment. The tests get the whole of it by a pipe: others of
this user could read what it is started with.
"""
_LATER = 10
"""How nice the tests are to the server beside them."""


class TestFailure(msgspec.Struct, frozen=True):
    """A test that failed, and the first reason."""

    name: str
    why: str


class ReloadTestRun(msgspec.Struct, frozen=True):
    """How the tests of one generation went; `generation` None: the file is wrong."""

    generation: str | None
    tests: int = 0
    failed: tuple[TestFailure, ...] = ()


async def prove(
    rules: Path,
    generation: str,
    *,
    environ: Mapping[str, str],
    dev: bool,
    timeout_s: float = TIMEOUT_S,
) -> int:
    """
    Run the tests of a file that was read as `generation`; gives how many there were.

    Raises:
        UsageError: one failed, or there are none, or they take too long, or the file is another
            one by now; the text says which.
    """
    said, complaint = await _run(rules, environ, dev=dev, timeout_s=timeout_s)
    try:
        proof = msgspec.json.decode(said, type=ReloadTestRun)
    except msgspec.DecodeError:
        last = complaint.decode("utf-8", "replace").strip().splitlines()[-1:]
        raise UsageError(f"the tests of {rules} could not run: {' '.join(last)}") from None
    if proof.generation != generation:
        raise UsageError(f"{rules} was changed again while its tests ran")
    if not proof.tests:
        raise UsageError(f"{rules} has no tests, and server.reload.require_tests wants some")
    if proof.failed:
        lines = [f"{one.name}: {one.why}" for one in proof.failed[:SHOWN]]
        more = len(proof.failed) - len(lines)
        lines += [f"and {more} more"] if more else []
        count = f"{len(proof.failed)} of {proof.tests}"
        raise UsageError(f"{count} tests of {rules} failed:\n  " + "\n  ".join(lines))
    return proof.tests


async def _run(
    rules: Path, environ: Mapping[str, str], *, dev: bool, timeout_s: float
) -> tuple[bytes, bytes]:
    """What the process writes; it is gone when this ends, however it ends."""
    # As a process is given its environment, which any text that can be in one survives.
    block = b"\0".join(os.fsencode(f"{name}={value}") for name, value in environ.items())
    arguments = [_ROOT, str(rules), *(["--dev"] if dev else [])]
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-c", _BEGIN, *arguments),
        env={k: v for k, v in environ.items() if k in _OWN or k.startswith("PYTHON")},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout_s):
            return await child.communicate(block)
    except TimeoutError:
        raise UsageError(f"the tests of {rules} are not done within {timeout_s:g} s") from None
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()


def main(arguments: list[str], block: bytes) -> int:
    """Run the tests of a file with this environment, and print the proof."""
    pairs = (os.fsdecode(one).partition("=") for one in block.split(b"\0"))
    environ = {name: value for name, _, value in pairs}
    with suppress(OSError):
        os.nice(_LATER)
    try:
        loaded = read_rules(
            Path(arguments[0]), environ=environ, dev="--dev" in arguments, tests=True
        )
    except RouterError:
        loaded = None
    if loaded is None or loaded.ruleset is None:
        proof = ReloadTestRun(None)
    else:
        results = run_tests(loaded.ruleset, loaded.trials, environ=environ).results
        failed = tuple(
            TestFailure(one.trial.name, one.failures[0].splitlines()[0])
            for one in results
            if one.failures
        )
        proof = ReloadTestRun(loaded.ruleset.generation, len(results), failed)
    sys.stdout.buffer.write(msgspec.json.encode(proof))
    return 0
