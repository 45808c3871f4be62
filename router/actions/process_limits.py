"""What a command stands on: its limits, its user, and files that hold what it is to read."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from router.actions.child import Owner
from router.kinds.shell import ShellCall
from router.model.settings import ShellLimits

_SHELL = "/bin/sh"


class ProcessSetupError(Exception):
    """The command cannot run as the rules want, now or later; the text says why."""


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


def owner_of(call: ShellCall) -> tuple[Owner | None, dict[str, str]]:
    """
    What starts a process as the call's user, and the variables that go with that user.

    Raises:
        ProcessSetupError: there is no such user, or the router may not act for others.
    """
    if call.user is None:
        return None, {}
    import pwd  # noqa: PLC0415 - not on every system

    try:
        found = pwd.getpwnam(call.user)
    except KeyError:
        raise ProcessSetupError(f"there is no user called '{call.user}'") from None
    home = {"HOME": found.pw_dir}
    if found.pw_uid == os.geteuid():
        return None, home
    if os.geteuid() != 0:
        raise ProcessSetupError("'user' needs a router that runs as root")
    return Owner(found.pw_uid, found.pw_gid), home


@contextlib.asynccontextmanager
async def handed(
    files: tuple[tuple[str, bytes], ...], owner: Owner | None
) -> AsyncIterator[dict[str, str]]:
    """
    The files of a call, 0600 in a folder of their own, as variables that hold their paths.

    They go when the command has ended. Disks are waited for in threads.
    """
    if not files:
        yield {}
        return
    folder = Path(tempfile.mkdtemp(prefix="router-"))
    writing = asyncio.ensure_future(asyncio.to_thread(_written, folder, files, owner))
    try:
        yield await asyncio.shield(writing)
    finally:
        await asyncio.wait({writing})  # a thread cannot be cancelled, and must not write afterwards
        await asyncio.to_thread(_removed, folder, files)


def _written(
    folder: Path, files: tuple[tuple[str, bytes], ...], owner: Owner | None
) -> dict[str, str]:
    paths = {}
    for name, content in files:
        path = folder / name
        path.touch(0o600)
        path.write_bytes(content)
        paths[name] = str(path)
    if owner is not None:
        for path in (*folder.iterdir(), folder):
            os.chown(path, owner.user, owner.group)
    return paths


def _removed(folder: Path, files: tuple[tuple[str, bytes], ...]) -> None:
    """Ours, then whatever else the command put beside them."""
    for name, _ in files:
        with contextlib.suppress(OSError):  # removed, or made a folder, by the command itself
            (folder / name).unlink()
    with contextlib.suppress(RecursionError):  # a tree of the command's own that is too deep stays
        shutil.rmtree(folder, ignore_errors=True)
