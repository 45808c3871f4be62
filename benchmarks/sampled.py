"""
A router one of whose threads is watched: `python sampled.py SOCKET WHAT PYTHON -m router …`

To whoever connects to SOCKET it sends, as JSON, the processor time of each thread so far; if WHAT
is `loop` or `writer`, also in which functions that thread spent it, and with `clocks` nothing else.
Nothing of this is in `router/`, and any commit can be watched. It needs Linux.

The loop's thread is asked where it is by a signal at the ticks of its own clock; none of its
functions costs more for that. A signal's handler cannot run in another thread, so of the writer's,
which has few functions, each call is timed.
"""

import ctypes
import json
import opcode
import runpy
import signal
import socket
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType

LOOP, WRITER = "MainThread", "store-writer"
EVERY_NS = 1_000_000
DEPTH = 60

Stack = tuple[CodeType, ...]
"""The innermost function first."""


def clocks() -> dict[str, float]:
    """Processor seconds of each thread; those of the same name together."""
    found: dict[str, float] = defaultdict(float)
    for thread in threading.enumerate():
        clock = time.pthread_getcpuclockid(thread.ident or 0)
        found[thread.name] += time.clock_gettime(clock)
    return found


class Stacks:
    """The seconds of each stack that was seen, and how many events of it were timed."""

    each = 0.0
    """What timing one event costs the stack."""

    def __init__(self) -> None:
        self.seconds: dict[Stack, float] = defaultdict(float)
        self.events: dict[Stack, int] = defaultdict(int)

    def report(self) -> dict[str, float]:
        """By `FILE:FUNCTION;FILE:FUNCTION;…`."""
        found: dict[str, float] = defaultdict(float)
        for stack, seconds in list(self.seconds.items()):
            name = ";".join(f"{code.co_filename}:{code.co_qualname}" for code in stack)
            found[name] += seconds - self.each * self.events.get(stack, 0)
        return found


# -- the loop's thread, by signals -----------------------------------------------------------------


class Notify(ctypes.Structure):
    """The system's `struct sigevent`: a signal to one thread."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("rest", ctypes.c_byte * 44),
    )


THREAD_CLOCK, TO_THREAD = 3, 4
"""CLOCK_THREAD_CPUTIME_ID and SIGEV_THREAD_ID."""


class Sampler(Stacks):
    """Started in the thread that it asks, which must be the main one."""

    def __init__(self) -> None:
        super().__init__()
        self.begins: dict[CodeType, frozenset[int]] = {}
        self.last = 0.0
        signal.signal(signal.SIGPROF, self.sample)
        signal.siginterrupt(signal.SIGPROF, False)  # no call of the system fails for it
        to_me = Notify(None, signal.SIGPROF, TO_THREAD, threading.get_native_id())
        timer, every = ctypes.c_void_p(), (ctypes.c_long * 4)(0, EVERY_NS, 0, EVERY_NS)
        system = ctypes.CDLL(None, use_errno=True)
        made = system.timer_create(THREAD_CLOCK, ctypes.byref(to_me), ctypes.byref(timer))
        if made or system.timer_settime(timer, 0, every, None):
            raise OSError(ctypes.get_errno(), "no timer of a thread's own clock")

    def sample(self, _number: int, frame: FrameType | None) -> None:
        now = time.thread_time()
        self.seconds[self.stack(frame)] += now - self.last
        self.last = now

    def stack(self, frame: FrameType | None) -> Stack:
        """A function that has not done a step yet is left out: what went on was its caller's."""
        found: list[CodeType] = []
        for _ in range(DEPTH):
            if frame is None:
                break
            code = frame.f_code
            if found or frame.f_lasti not in self.begun_at(code):
                found.append(code)
            frame = frame.f_back
        return tuple(found)

    def begun_at(self, code: CodeType) -> frozenset[int]:
        """Where this function begins or goes on: there signals are handled."""
        if code not in self.begins:
            steps = code.co_code
            resume = opcode.opmap["RESUME"]
            self.begins[code] = frozenset(n for n in range(0, len(steps), 2) if steps[n] == resume)
        return self.begins[code]


# -- the writer's thread, call by call -------------------------------------------------------------


CALIBRATION = 20_000


def nothing() -> int:
    """A call of Python that makes one of C."""
    return len(())


class Timer(Stacks):
    """Times each call of one thread; what that costs is measured first, and not in it."""

    now: Stack = ()
    last = 0.0

    def calibrate(self) -> None:
        """Time calls of what does nothing: all that this takes is the timing's own."""
        scratch = Timer()
        scratch.last = time.thread_time()
        sys.setprofile(scratch.event)
        for _ in range(CALIBRATION):
            nothing()
        sys.setprofile(None)
        self.each = sum(scratch.seconds.values()) / sum(scratch.events.values())

    def begin(self, _frame: FrameType, _event: str, _argument: object) -> None:
        """The first event of each new thread."""
        sys.setprofile(None)
        if threading.current_thread().name == WRITER:
            self.last = time.thread_time()
            sys.setprofile(self.event)

    def event(self, frame: FrameType, event: str, _argument: object) -> None:
        self.seconds[self.now] += time.thread_time() - self.last
        self.events[self.now] += 1
        if event == "call":
            self.now = (frame.f_code, *self.now)
        elif event == "return":
            self.now = self.now[1:]
        self.last = time.thread_time()


def tell(listener: socket.socket, watched: dict[str, Stacks]) -> None:
    while True:
        link, _ = listener.accept()
        with link:
            stacks = {name: one.report() for name, one in watched.items()}
            link.sendall(json.dumps({"clocks": clocks(), "stacks": stacks}).encode())


def main() -> None:
    place, what, _python, _m, module, *arguments = sys.argv[1:]
    watched: dict[str, Stacks] = {}
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen()
    threading.Thread(target=tell, args=(listener, watched), name="teller", daemon=True).start()
    if what == "loop":
        watched[LOOP] = Sampler()
    elif what == "writer":
        watched[WRITER] = timer = Timer()
        timer.calibrate()
        threading.setprofile(timer.begin)
    sys.path[0] = str(Path.cwd())
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
