"""Where lines go. Whoever reads them may stop, and the router goes on."""

import asyncio
import os
import select
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, TextIO

KEPT_LINES = 2_000
"""So many lines wait for a reader; past it new ones are lost, until half of them are gone."""

AGAIN_S = 0.05
LAST_S = 1.0
"""How long the last lines are tried before the process ends."""

_CHUNK = select.PIPE_BUF
"""So much a pipe that can be written to takes at once."""


class Sink(Protocol):
    """Where bytes can be written without waiting."""

    def write(self, data: bytes, wait_s: float = 0.0, /) -> int:
        """
        Write what can be written, waiting so long for room in all; how many bytes that was.

        Raises:
            OSError, ValueError: what is left of them cannot be written at all.
        """


class TextStream:
    """A stream of the interpreter that is no descriptor; it is taken to have room."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, data: bytes, _wait_s: float = 0.0, /) -> int:
        """All of it."""
        self._stream.write(data.decode("utf-8"))
        self._stream.flush()
        return len(data)


class Descriptor:
    """
    A file, a pipe, a socket or a terminal.

    Only a file is written to without asking: it has room or fails. Nobody else's view of the
    descriptor is changed, so it is not made non-blocking: it may be a shell's as well.
    """

    def __init__(self, number: int) -> None:
        is_file = stat.S_ISREG(os.fstat(number).st_mode)
        self._number = number if is_file else _own_terminal(number)
        self._poll = None if is_file else select.poll()
        if self._poll is not None:
            self._poll.register(self._number, select.POLLOUT)

    def write(self, data: bytes, wait_s: float = 0.0, /) -> int:
        """What there is room for."""
        done, piece = 0, len(data) if self._poll is None else _CHUNK
        until = time.monotonic() + wait_s
        while done < len(data) and self._has_room(until - time.monotonic() if wait_s else 0.0):
            try:
                done += os.write(self._number, data[done : done + piece])
            except BlockingIOError:
                break
        return done

    def _has_room(self, wait_s: float) -> bool:
        return self._poll is None or bool(self._poll.poll(max(0.0, wait_s * 1000)))


def _own_terminal(number: int) -> int:
    """
    A terminal opened again, so that one that stops in the middle of a line does not stop us.

    What cannot be opened, or is none, is used as it is.
    """
    with suppress(OSError):
        return os.open(os.ttyname(number), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
    return number


def sink_of(stream: TextIO | None) -> Sink:
    """The way to write to a stream; None (the process was started without): nowhere."""
    if stream is None:
        return Descriptor(os.open(os.devnull, os.O_WRONLY))
    try:
        number = stream.fileno()
        stream.flush()
        return Descriptor(number)
    except (OSError, ValueError):  # no descriptor, or a closed one
        return TextStream(stream)


class Output:
    """
    Lines, in order: on an event loop all of one turn in one write, elsewhere at once.

    It never waits for who reads them. What finds no room is kept and tried again, up to
    `KEPT_LINES`; what cannot be kept or written is lost, counted, and reported (`report`, how many)
    as soon as lines can be written again.
    """

    def __init__(self, sink: Sink, report: Callable[[int], None]) -> None:
        self._sink = sink
        self._report = report
        self._waiting: list[str] = []
        self._rest = b""
        self._is_losing = False
        self._called = False
        self._writing = threading.Lock()
        self._reported = 0
        self.lost = 0
        """Lines lost since the start."""

    def msg(self, line: str) -> None:
        """Write one line, in this turn of the loop."""
        if self._is_losing or len(self._waiting) >= KEPT_LINES:
            self._is_losing = True
            self.lost += 1
        else:
            self._waiting.append(line)
        if not self._called:
            self._call(0.0)

    debug = info = warning = error = critical = msg

    def flush(self, wait_s: float = 0.0) -> None:
        """Write what waits as far as there is room, for which it may wait so long."""
        self._called = False
        with self._writing:
            is_writable = self._write(wait_s)
        if self._rest:
            self._call(AGAIN_S)
        elif self._waiting:
            self._call(0.0)
        if len(self._waiting) <= KEPT_LINES // 2:
            self._is_losing = False
        if self.lost > self._reported and is_writable and not self._is_losing:
            lost, self._reported = self.lost - self._reported, self.lost
            self._report(lost)

    def _call(self, delay_s: float) -> None:
        """Flush soon; where there is no loop at once, or with the next line."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            if not delay_s:
                self.flush()
            return
        self._called = True
        loop.call_later(delay_s, self.flush) if delay_s else loop.call_soon(self.flush)

    def _write(self, wait_s: float) -> bool:
        """Whether it can be written to at all; what found no room is kept."""
        data = self._rest or self._taken()
        self._rest = b""
        try:
            done = self._sink.write(data, wait_s) if data else 0
        except (OSError, ValueError):
            self.lost += data.count(b"\n")
            return False
        self._rest = data[done:]
        return True

    def _taken(self) -> bytes:
        lines = self._waiting[:]
        del self._waiting[: len(lines)]  # not clear(): another thread may have added one since
        return "\n".join((*lines, "")).encode("utf-8", "backslashreplace")
