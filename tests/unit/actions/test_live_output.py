"""Output of a command while it runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from router.actions.child import KEEP
from router.actions.live_output import Watching
from router.actions.shell import ShellAction
from router.log import Redactor
from router.model.job import Done
from tests.sim.makers import a_job, a_shell_call
from tests.waiting import until

CANARY = "s3cr3t-canary-9f2e"


@asynccontextmanager
async def _running(
    script: str, folder: Path, *, known: tuple[str, ...] = (), **changes: Any
) -> AsyncIterator[Watching]:
    """A command that waits until the file `go` is there."""
    redactor = Redactor(8)
    redactor.register(known)
    watching = Watching(redactor)
    call = a_shell_call(
        "sh",
        "-c",
        f"{script}; while [ ! -e {folder}/go ]; do sleep 0.01; done; echo end",
        **changes,
    )
    task = asyncio.create_task(ShellAction(watching=watching).run(call, a_job("job_9", "shell")))
    try:
        await until(lambda: watching.output("job_9", "") is not None)
        yield watching
    finally:
        (folder / "go").touch()
        assert isinstance(await task, Done)
    assert watching.output("job_9", "") is None


def _reported(watching: Watching, after: str = "") -> dict[str, Any]:
    found = watching.output("job_9", after)
    assert found is not None
    return found


async def test_each_asking_goes_on_where_the_last_ended(tmp_path: Path) -> None:
    async with _running("echo one; echo two >&2", tmp_path) as watching:
        await until(lambda: _reported(watching)["stdout"] and _reported(watching)["stderr"])
        first = _reported(watching)
        assert (first["attempt"], first["stdout"], first["stderr"]) == (1, "one\n", "two\n")
        again = _reported(watching, first["next"])
        assert (again["stdout"], again["stderr"], again["next"]) == ("", "", first["next"])
        assert _reported(watching, "7.0.999")["stdout"] == "one\n", "another attempt's place"
        assert _reported(watching, "nonsense")["stdout"] == "one\n"


async def test_only_the_tail_is_kept(tmp_path: Path) -> None:
    async with _running("seq 1 100000; echo last", tmp_path) as watching:
        await until(lambda: _reported(watching)["stdout"].endswith("last\n"))
        assert len(_reported(watching)["stdout"]) == KEEP


async def test_a_secret_is_masked_even_in_two_pieces(tmp_path: Path) -> None:
    half = CANARY[:8]
    wait = f"while [ ! -e {tmp_path}/more ]; do sleep 0.01; done"
    script = f'printf "a{half}"; {wait}; echo "${{KEY#{half}}}"'
    call = {"env": {"PATH": "/usr/bin:/bin", "KEY": CANARY}, "secret_names": frozenset({"KEY"})}
    async with _running(script, tmp_path, **call) as watching:
        await until(lambda: _reported(watching)["stdout"])
        first = _reported(watching)
        assert first["stdout"] == "a", "the rest may be the beginning of a secret"
        (tmp_path / "more").touch()
        await until(lambda: _reported(watching, first["next"])["stdout"])
        assert _reported(watching, first["next"])["stdout"] == "*" * len(CANARY) + "\n"
        assert CANARY not in repr(_reported(watching))


async def test_every_known_secret_is_masked_also_where_the_output_is_cut(tmp_path: Path) -> None:
    fill = f"head -c {KEEP - 11} /dev/zero | tr '\\0' x"
    script = f"printf {CANARY}; {fill}; echo {CANARY} >&2"
    async with _running(script, tmp_path, known=(CANARY,)) as watching:
        await until(
            lambda: _reported(watching)["stderr"] and len(_reported(watching)["stdout"]) >= KEEP
        )
        reported = _reported(watching)
        assert reported["stdout"] == "*" * 11 + "x" * (KEEP - 11)
        assert reported["stderr"] == "*" * len(CANARY) + "\n"


async def test_a_letter_is_never_torn(tmp_path: Path) -> None:
    more = tmp_path / "more"
    script = f"printf '\\303'; while [ ! -e {more} ]; do sleep 0.01; done; printf '\\274\\n'"
    async with _running(script, tmp_path) as watching:
        first = _reported(watching)
        assert first["stdout"] == ""
        more.touch()
        await until(lambda: _reported(watching, first["next"])["stdout"])
        assert _reported(watching, first["next"])["stdout"] == "ü\n"


async def test_nothing_is_known_of_other_jobs(tmp_path: Path) -> None:
    async with _running("true", tmp_path) as watching:
        assert watching.output("job_8", "") is None
