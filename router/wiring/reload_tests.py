"""`reload: {require_tests: true}`: run a file's tests in a child process before a reload."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from router.errors import UsageError
from router.wiring.rules import read_rules
from router.wiring.test_runner import run_tests

_BEGIN = f"""import sys; sys.path.append({str(Path(__file__).parents[2])!r})
from router.undumpable import make_undumpable; make_undumpable()
from router.wiring.reload_tests import main; main(*sys.argv[1:])"""
_OWN = ("PATH", "HOME", "LANG", "TZ")  # any process of this user can read them; stdin has the rest


async def prove(
    rules: Path, generation: str, *, environ: Mapping[str, str], dev: bool, timeout_s: float = 60
) -> int:
    """Run the tests of a file read as `generation`; return their number, or raise UsageError."""
    env = {k: v for k, v in environ.items() if k in _OWN or k.startswith("PYTHON")}
    args = (sys.executable, "-P", "-c", _BEGIN, str(rules), "dev" if dev else "")
    child = await create_subprocess_exec(*args, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env)
    try:
        async with asyncio.timeout(timeout_s):
            said, complaint = await child.communicate(json.dumps(dict(environ)).encode())
    except TimeoutError:
        raise UsageError(f"the tests of {rules} are not done within {timeout_s:g} s") from None
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()
    if child.returncode:
        last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise UsageError(f"the tests of {rules} could not run: {last}")
    tested, tried = json.loads(said)
    if tested != generation:
        raise UsageError(f"{rules} was changed again while its tests ran")
    if not tried:
        raise UsageError(f"{rules} has no tests, and server.reload.require_tests wants some")
    if bad := [f"\n  {name}: {why[0].splitlines()[0]}" for name, why in tried if why]:
        raise UsageError(f"{len(bad)} of {len(tried)} tests of {rules} failed:{''.join(bad[:10])}")
    return len(tried)


def main(rules: str, dev: str) -> None:
    """Run in the child: print the generation (null: the file is wrong) and each test's failures."""
    environ = json.load(sys.stdin)
    with suppress(OSError):
        os.nice(10)  # the server goes first
    loaded = read_rules(Path(rules), environ=environ, dev=bool(dev), tests=True)
    tested, results = loaded.ruleset and loaded.ruleset.generation, []
    if loaded.ruleset is not None:
        results = run_tests(loaded.ruleset, loaded.trials, environ=environ).results
    json.dump((tested, [(r.trial.name, r.failures) for r in results]), sys.stdout)
