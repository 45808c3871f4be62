"""What a command stands on: its limits, and files that hold what it is to read."""

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from router.model.settings import ShellLimits

_SHELL = "/bin/sh"


def bounded(argv: tuple[str, ...], limits: ShellLimits | None) -> tuple[str, ...]:
    """
    The command under its limits, set before its first instruction.

    A shell sets them and becomes the command; the command's words are its parameters, never its
    text.
    """
    if limits is None:
        return argv
    steps = []
    if limits.cpu_s is not None:  # the hard one a second later, so that the signal tells which
        steps.append(f"ulimit -S -t {limits.cpu_s} && ulimit -H -t {limits.cpu_s + 1} &&")
    if limits.memory is not None:
        steps.append(f"ulimit -v {limits.memory // 1024} &&")
    if limits.files is not None:
        steps.append(f"ulimit -n {limits.files} &&")
    return (_SHELL, "-c", " ".join([*steps, 'exec "$@"']), "sh", *argv) if steps else argv


@contextlib.asynccontextmanager
async def handed(files: tuple[tuple[str, bytes], ...]) -> AsyncIterator[dict[str, str]]:
    """
    The files of a call, 0600 in a folder of their own, as variables that hold their paths.

    They go when the command has ended. Disks are waited for in threads.
    """
    if not files:
        yield {}
        return
    folder = Path(tempfile.mkdtemp(prefix="router-"))
    writing = asyncio.ensure_future(asyncio.to_thread(_written, folder, files))
    try:
        yield await asyncio.shield(writing)
    finally:
        await asyncio.wait({writing})  # a thread cannot be cancelled, and must not write afterwards
        await asyncio.to_thread(_removed, folder, files)


def _written(folder: Path, files: tuple[tuple[str, bytes], ...]) -> dict[str, str]:
    paths = {}
    for name, content in files:
        path = folder / name
        path.touch(0o600)
        path.write_bytes(content)
        paths[name] = str(path)
    return paths


def _removed(folder: Path, files: tuple[tuple[str, bytes], ...]) -> None:
    """Ours, then whatever else the command put beside them."""
    for name, _ in files:
        with contextlib.suppress(OSError):  # removed, or made a folder, by the command itself
            (folder / name).unlink()
    with contextlib.suppress(RecursionError):  # a tree of the command's own that is too deep stays
        shutil.rmtree(folder, ignore_errors=True)
