"""The child process: bounded, tied to the router's life, answering on one socket."""

import contextlib
import fcntl
import logging
import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import msgspec

from router.plugin_host.finding import FOLDER, open_folder
from router.plugin_host.running import run
from router.plugin_host.wire import Answer, Begun, CallFrame, Ready, decode_request, frame
from router.undumpable import make_undumpable

THREADS_MAX, DESCRIPTORS_MAX = 16, 128
"""A process that a plugin leaves with more of these is not used again."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
LOST = 70
"""The exit status when the router can no longer be reached."""


class Host:
    """Answers requests on one socket until the other side closes it."""

    def __init__(self, channel: socket.socket, folder: str) -> None:
        self._channel = channel
        self._folder = folder
        self._pid = os.getpid()
        self._cwd = os.getcwd()  # noqa: PTH109 - a text to go back to
        self._told: dict[str, str] = {}

    def serve(self) -> None:
        """Until the router closes the socket; leaves by an OSError when the socket is broken."""
        self._send(Ready())
        while (head := self._read(4)) is not None:
            if (text := self._read(int.from_bytes(head, "big"))) is None:
                return
            request = decode_request(text)
            request.event = msgspec.structs.replace(
                request.event, body=bytes(self._read(request.body_bytes) or b"")
            )
            self._answer(request)

    def _answer(self, request: CallFrame) -> None:
        os.chdir(self._cwd)
        os.environ.clear()
        os.environ.update(request.env)
        ended = run(request, lambda module: self._begun(request, module), self._folder)
        if os.getpid() != self._pid:
            os._exit(0)  # a fork that came back: only the first process answers
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        ended.rss = memory_used()
        ended.spoilt = ended.spoilt or _littered()
        self._send(ended)

    def _begun(self, request: CallFrame, module: str) -> None:
        """The router remembers what it was told of a function: a frame and a turn less a call."""
        if self._told.get(request.call) != module:
            self._told[request.call] = module
            self._send(Begun(request.turn, module))

    def _send(self, answer: Answer) -> None:
        self._channel.sendall(frame(answer))

    def _read(self, count: int) -> bytearray | None:
        """So many bytes, or None at the end of the stream."""
        found = bytearray(count)
        view, have = memoryview(found), 0
        while have < count:
            if not (got := self._channel.recv_into(view[have:])):
                return None
            have += got
        return found


def memory_used() -> int:
    """The resident memory of this process in bytes."""
    try:
        statm = os.open("/proc/self/statm", os.O_RDONLY)  # after each call: without a file object
        try:
            return int(os.read(statm, 200).split()[1]) * _PAGE
        finally:
            os.close(statm)
    except (OSError, ValueError, IndexError):
        import resource  # noqa: PLC0415 - where there is no /proc

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _littered() -> bool:
    """Whether a plugin left many threads or open files behind."""
    try:
        descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a count is all
    except OSError:
        descriptors = 0
    return threading.active_count() > THREADS_MAX or descriptors > DESCRIPTORS_MAX


def bound(memory: int) -> None:
    """Bound the memory, and be the first to go when memory is short."""
    import resource  # noqa: PLC0415 - the parent, which imports this module for its types, needs none

    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("500")


def end_with_router(tie: int) -> None:
    """
    When the router has gone, whose end of the pipe `tie` is then closed, the whole group goes.

    Else the job, which the next router runs again, would run twice at once. The kernel does it
    where it can, for a plugin may keep the interpreter to itself, and no thread of ours runs then.
    """
    poll = select.poll()
    poll.register(tie, 0)

    def watch() -> None:
        poll.poll()
        os.killpg(0, signal.SIGKILL)

    if not _killed_by_kernel(tie):
        threading.Thread(target=watch, name="router", daemon=True).start()
    elif poll.poll(0):  # it was closed before it was polled
        os.killpg(0, signal.SIGKILL)


def _killed_by_kernel(tie: int) -> bool:
    """Ask it to send SIGKILL to this group when the pipe's other end closes; False: it cannot."""
    try:
        fcntl.fcntl(tie, fcntl.F_SETOWN, -os.getpgrp())
        fcntl.fcntl(tie, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(tie, fcntl.F_SETFL, fcntl.fcntl(tie, fcntl.F_GETFL) | os.O_ASYNC)
    except (AttributeError, OSError):  # a system that has no such signals
        return False
    return True


class _Lines(logging.StreamHandler[Any]):
    """Writes to whatever sys.stderr is now: a plugin may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def main(arguments: list[str]) -> None:
    """Serve until the router closes the socket, then leave without waiting for any thread."""
    channel, tie = socket.socket(fileno=int(arguments[0])), int(arguments[1])
    channel.set_inheritable(False)
    os.set_inheritable(tie, False)
    end_with_router(tie)
    bound(int(arguments[2]))
    make_undumpable()  # last: what is in /proc is root's from now on
    logging.basicConfig(
        level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", handlers=[_Lines()]
    )
    folder = str(Path.cwd() / FOLDER)
    open_folder(folder)
    try:
        Host(channel, folder).serve()
    except OSError:
        os._exit(LOST)  # the socket is gone: a plugin closed it, or the router died
    os._exit(0)
