"""A child process with its pipes, driven by the loop's readiness: no thread, no wait."""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from router.actions.process_tree import Descent, in_turns, reap_adopted

KEEP = 64 * 1024
CHUNK = 64 * 1024
TAKE_CHUNKS = 64
"""Whoever writes without end does not hold up a taking."""


class Tail:
    """The last 64 KiB of a stream, read as it comes."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pipe: int) -> None:
        self._loop = loop
        self._pipe = pipe
        self.closed = False
        """Whether nothing is read any more."""
        self._kept = bytearray()
        self.cut = False
        self.seen = 0
        """Bytes read in all."""
        self.ended = asyncio.Event()
        os.set_blocking(pipe, False)
        loop.add_reader(pipe, self._read)

    def tail(self) -> bytes:
        """What is kept."""
        return bytes(self._kept[-KEEP:])

    def take(self) -> tuple[bytes, bool]:
        """
        What has been written up to now, and whether more was than is kept; starts again.

        For a process that does one thing after another.
        """
        self.catch_up()
        taken = self.tail(), self.cut
        self._kept.clear()
        self.cut = False
        return taken

    def catch_up(self) -> None:
        """Read what is there by now."""
        for _ in range(TAKE_CHUNKS):
            if self.closed or not self._read():
                break

    def close(self) -> None:
        """Stop reading; the writer gets EPIPE from now on."""
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self.ended.set()

    def _read(self) -> bool:
        """Read once; whether there was anything."""
        try:
            chunk = os.read(self._pipe, CHUNK)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            return False
        self._kept += chunk
        self.seen += len(chunk)
        if len(self._kept) > KEEP:
            self.cut = True
            if len(self._kept) > 4 * KEEP:
                del self._kept[:-KEEP]
        return True


class PipeWriter:
    """Writes bytes to a pipe as it takes them; a reader that has gone is no fault."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pipe: IO[bytes], data: bytes) -> None:
        self._loop = loop
        self._pipe = pipe
        self._left = memoryview(data)
        self._waiting = False
        os.set_blocking(pipe.fileno(), False)
        self._write()

    def close(self) -> None:
        """End the stream."""
        if not self._pipe.closed:
            if self._waiting:
                self._loop.remove_writer(self._pipe.fileno())
            self._pipe.close()

    def _write(self) -> None:
        fd = self._pipe.fileno()
        try:
            while self._left:
                self._left = self._left[os.write(fd, self._left[: 4 * CHUNK]) :]
        except (BlockingIOError, InterruptedError):
            if not self._waiting:
                self._waiting = True
                self._loop.add_writer(fd, self._write)
            return
        except OSError:
            self._left = self._left[:0]  # its reader has gone
        self.close()


class Child:
    """
    A started process, leader of its own session and group.

    `code` is the exit status, negative for a signal; it is set once `exited` has returned. The
    process is not reaped before that, so a signal can never reach another one. Whatever it started
    goes with it when it is doomed or killed; with `whole_group` always, however it ends.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        stdin: bytes | None,
        *,
        pass_fds: Sequence[int] = (),
        whole_group: bool = False,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._descent = Descent()
        with _two_pipes() as (stdout, stderr), self._descent.inherited():
            process = subprocess.Popen(  # noqa: S603 - argv is a list, no shell reads it
                list(argv),
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=stdout.theirs,
                stderr=stderr.theirs,
                env=dict(env),
                cwd=cwd,
                bufsize=0,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        self._descent.began(process.pid)
        self._process = process
        self.exit: asyncio.Future[None] = loop.create_future()
        """Done when it has ended and been reaped; nobody but this class ends or cancels it."""
        self._doomed = whole_group
        self.code = 0
        try:
            _watch(loop, process.pid, self._on_exit)
        except OSError:
            process.kill()
            process.communicate()
            self._descent.ended()
            os.close(stdout.ours)
            os.close(stderr.ours)
            raise
        self.stdout, self.stderr = Tail(loop, stdout.ours), Tail(loop, stderr.ours)
        pipe = process.stdin
        self._feed = PipeWriter(loop, pipe, stdin) if stdin and pipe is not None else None

    async def exited(self) -> None:
        """Wait for the process itself, not for whoever holds its pipes; cancelling is harmless."""
        await asyncio.shield(self.exit)

    def read_out(self) -> bool:
        """Read what is in the pipes; False: somebody holds one."""
        self.stdout.catch_up()
        self.stderr.catch_up()
        return self.stdout.closed and self.stderr.closed

    async def drained(self, seconds: float) -> None:
        """Read what is still in the pipes, `seconds` at most, then close them."""
        if not self.read_out():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.stdout.ended.wait()
                    await self.stderr.ended.wait()
        self._close_pipes()

    def doom(self) -> None:
        """SIGTERM to the group; all that is left when the process has gone gets SIGKILL."""
        self._doomed = True
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to the process, its group and everything that it started."""
        self._doomed = True
        self._signal(signal.SIGKILL)
        if not self.exit.done():
            in_turns(self._descent.kill())

    async def gone(self, seconds: float) -> None:
        """Kill the rest until nothing is left of it."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while (  # noqa: ASYNC110 - no system tells when they have gone
            await in_turns(self._descent.kill()) or self._group_lives()
        ) and loop.time() < until:
            await asyncio.sleep(0.002)

    def close(self) -> None:
        """Let go; a process that still runs is killed with its group."""
        self._close_pipes()
        self.kill()

    def _signal(self, number: signal.Signals) -> None:
        """Only until it is reaped: afterwards the number may be another process's."""
        if not self.exit.done():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    def _group_lives(self) -> bool:
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, 0)
            return True
        return False

    def _close_pipes(self) -> None:
        self.stdout.close()
        self.stderr.close()
        if self._feed is not None:
            self._feed.close()

    def _on_exit(self) -> None:
        if self._doomed:
            self._signal(signal.SIGKILL)
            in_turns(self._descent.kill()).add_done_callback(lambda _: self._reap())
        else:
            self._reap()

    def _reap(self) -> None:
        self.code = self._process.wait()
        self._descent.ended()
        in_turns(reap_adopted())
        if not self.exit.done():
            self.exit.set_result(None)


class _Output(NamedTuple):
    """The two ends of a pipe, as plain descriptors: file objects cost more than the pipe."""

    ours: int
    theirs: int


@contextlib.contextmanager
def _two_pipes() -> Iterator[tuple[_Output, _Output]]:
    """For a process to be started: its ends are closed afterwards, ours too if it was not."""
    pipes: list[_Output] = []
    try:
        pipes.append(_Output(*os.pipe()))
        pipes.append(_Output(*os.pipe()))
        yield pipes[0], pipes[1]
    except BaseException:
        for pipe in pipes:
            os.close(pipe.ours)
        raise
    finally:
        for pipe in pipes:
            os.close(pipe.theirs)


def _watch(loop: asyncio.AbstractEventLoop, pid: int, ended: Callable[[], None]) -> None:
    """Call `ended` on the loop when the process has ended but is not reaped."""

    def readable() -> None:
        loop.remove_reader(fd)
        os.close(fd)
        ended()

    def wait() -> None:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(ended)

    if hasattr(os, "pidfd_open"):
        fd = os.pidfd_open(pid)
        loop.add_reader(fd, readable)
    else:  # systems other than Linux
        threading.Thread(target=wait, daemon=True).start()
