"""
One delivery's whole life in a real router, and the system calls it consists of.

A life: accepted, committed, answered, its jobs (`log`, `http`, `shell`, and where it is asked for
`python`, in a child process) run and settled.
strace is attached to one thread of the running router, so that calls are counted from the life's
beginning and the other threads run as fast as ever.
"""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from tests import ledger
from tests.acceptance.process import PATIENCE_S, POLL_S, Rig, RouterProcess, TookTooLong
from tests.acceptance.senders import ENDPOINTS, code, environ
from tests.acceptance.sink import Sink

T = TypeVar("T")

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None,
    reason="strace is not installed: no system call can be made to fail",
)

JOBS = 3
RULES = ENDPOINTS + (
    "retries:\n  quick: {schedule: [100ms, 200ms, 300ms, 500ms, 1s, 2s], jitter: 0.1}\n"
    "rules:\n"
    "  - id: main\n    from: code\n    events: push\n"
    "    match: payload.ref == 'refs/heads/main'\n"
    "    actions:\n"
    "      - {id: note, log: 'push {{ payload.id }}'}\n"
    "      - {id: call, http: {url: 'SINK/in'}, retry: quick}\n"
    "      - {id: run, shell: {argv: ['true']}, retry: quick}\n"
)
WITH_PLUGIN = RULES + "      - {id: plug, python: {call: 'lived:note'}, retry: quick}\n"
PLUGIN = """
import time

def note(event, context):
    time.sleep(0.02)  # a router may end meanwhile
    return {"id": event.payload["id"]}
"""
PLAIN_RULES = ENDPOINTS + (
    "rules:\n"
    "  - {id: main, from: code, events: push, actions: {log: 'push {{ payload.number }}'}}\n"
)
"""One job for each delivery, which is done at once."""
LOOP, WRITER, READER = 0, 1, 2
THREADS = ("loop", "writer", "reader")
ANSWER_S = 5.0
"""No answer may take longer, whatever fails."""
GONE_S = 2.0
"""So long after a router was killed nothing may run that it had started."""

_QUIET = (
    "futex epoll_pwait epoll_wait clock_gettime gettimeofday getpid gettid mprotect mmap munmap",
    "brk madvise getsockname getpeername getsockopt setsockopt fstat newfstatat stat lseek",
    "restart_syscall rt_sigprocmask rt_sigaction sched_yield getrandom rseq set_robust_list prctl",
    "sigaltstack",
)
HARMLESS = frozenset(call for line in _QUIET for call in line.split())
"""Calls that change nothing outside the process: a kill there is a kill at the next other call."""

LINE = re.compile(r"^(\d+)\s+(\w+)\(")


@dataclass(frozen=True, order=True)
class Point:
    """The `number`-th call `call` of a thread, counted from the beginning of a life."""

    thread: int
    call: str
    number: int

    def __str__(self) -> str:
        return f"{THREADS[self.thread]}: {self.call} {self.number}"


@dataclass(frozen=True)
class Answer:
    """What a sender saw; `status` 0: the connection ended without an answer."""

    status: int
    delivery: str = ""
    word: str = ""
    retry_after: int | None = None
    seconds: float = 0.0


@dataclass
class Life:
    """A router with its ledger, and what its senders remember."""

    rig: Rig
    acked: dict[str, str] = field(default_factory=dict)
    unknown: set[int] = field(default_factory=set)
    number: int = 0
    problems: list[str] = field(default_factory=list)
    resent: int = 0
    absorbed: int = 0
    slowest: float = 0.0
    slowest_start: float = 0.0
    slowest_gone: float = 0.0
    size: int = 600
    jobs: int = JOBS

    def send(self, number: int | None = None) -> Answer:
        """One delivery over a connection of its own; a new one if no number is given."""
        if number is None:
            self.number += 1
            number = self.number
        self.unknown.add(number)
        began = time.monotonic()
        answer = exchange(self.rig.listen, self.request(number), began)
        self.slowest = max(self.slowest, answer.seconds)
        if answer.status == 200:
            self.unknown.discard(number)
            self.acked[answer.delivery] = ledger.digest(code().body(number, self.size))
        return answer

    def request(self, number: int) -> bytes:
        now_ms = time.time_ns() // 1_000_000
        request = code().request("http://127.0.0.1", number, now_ms=now_ms, size=self.size)
        head = "".join(f"{n}: {v}\r\n" for n, v in request.headers.items())
        path = request.url.raw_path.decode()
        return f"POST {path} HTTP/1.1\r\n{head}connection: close\r\n\r\n".encode() + request.content

    def start(self) -> RouterProcess:
        """A router on what is there, with no help."""
        began = time.monotonic()
        router = self.rig.router().start()
        self.slowest_start = max(self.slowest_start, time.monotonic() - began)
        return router

    def gone(self, at: str) -> None:
        """Nothing that a killed router had started runs on."""
        began = time.monotonic()
        if not wait_for(lambda: not left_running(self.rig.folder), GONE_S):
            self.problems.append(f"{at}: still run: {left_running(self.rig.folder)}")
        self.slowest_gone = max(self.slowest_gone, time.monotonic() - began)

    def settle(self, router: RouterProcess, at: str) -> None:
        """What has no answer is sent again, then every job ends and the ledger is looked at."""
        for number in sorted(self.unknown):
            answer = self.send(number)
            self.resent += 1
            self.absorbed += answer.word == "duplicate"
            if answer.status != 200:
                self.problems.append(f"{at}: delivery {number} sent again: {answer}")
        if not self.problems:
            self.finish(router, at)
            found = ledger.problems(self.rig.store, self.acked, jobs_each=self.jobs)
            self.problems += [f"{at}: {one}" for one in found]

    def finish(self, router: RouterProcess, at: str) -> None:
        try:
            router.until(self.all_done, "all jobs to end")
        except TookTooLong:
            self.problems.append(f"{at}: jobs do not end: {ledger.counts(self.rig.store)}")

    def all_done(self) -> bool:
        try:
            count = ledger.counts(self.rig.store)
            thrice = ledger.killed_thrice(self.rig.store)
        except sqlite3.OperationalError:  # the router is busy with its file, or stuck
            return False
        return count.succeeded + thrice == count.jobs == self.jobs * count.deliveries


@contextmanager
def a_life(folder: Path, *, size: int = 600, plugin: bool = False) -> Iterator[Life]:
    """A rig in `folder` whose http action has a place to call; `plugin`: a `python` job too."""
    with Sink() as sink:
        sink.server.handle_error = unheard  # type: ignore[method-assign]
        rules = WITH_PLUGIN if plugin else RULES
        rig = Rig(folder, rules.replace("SINK", sink.url), environ())
        if plugin:
            write_plugin(folder)
        yield Life(rig, size=size, jobs=JOBS + plugin)


def write_plugin(folder: Path) -> None:
    """What the `python` job of `WITH_PLUGIN` calls."""
    (folder / "plugins").mkdir()
    (folder / "plugins" / "lived.py").write_text(PLUGIN)


def left_running(folder: Path) -> list[str]:
    """The commands of all processes that work in a router's folder or name it, but our own."""
    place, found = str(folder.resolve()), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            if place in command or (entry / "cwd").resolve().is_relative_to(place):
                found.append(command)
        except OSError:  # it has ended
            continue
    return found


def unheard(request: object, client_address: object) -> None:
    """A router that is killed breaks off its calls: no news."""


def exchange(port: int, request: bytes, began: float) -> Answer:
    """Send raw bytes, read to the end."""
    raw = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=4 * ANSWER_S) as link:
            link.sendall(request)
            while chunk := link.recv(65_536):
                raw += chunk
    except TimeoutError:
        return Answer(0, word="no answer at all", seconds=time.monotonic() - began)
    except OSError:
        pass  # killed: what came may be a whole answer
    return read_answer(raw, time.monotonic() - began)


def read_answer(raw: bytes, seconds: float) -> Answer:
    head, whole, body = raw.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    if not whole or length is None or len(body) < int(length[1]):
        return Answer(0, seconds=seconds)
    said = json.loads(body)
    retry = re.search(rb"retry-after: (\d+)", head.lower())
    return Answer(
        int(head.split(b" ", 2)[1]),
        said.get("delivery", ""),
        said.get("status") or said.get("error", ""),
        int(retry[1]) if retry else None,
        seconds,
    )


def threads(router: RouterProcess) -> list[int]:
    """The router's threads in the order of their beginnings: the loop, the writer, the reader."""
    assert router.process is not None
    return sorted(int(p.name) for p in Path(f"/proc/{router.process.pid}/task").iterdir())


@contextmanager
def attached(thread: int, *options: str, log: Path | None = None) -> Iterator[None]:
    """strace on one thread, until the block ends."""
    out = str(log) if log else "/dev/null"
    command = ["strace", "-qq", "-o", out, *options, "-p", str(thread)]
    tracer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: traced(thread) or tracer.poll() is not None, 5.0)
        yield
    finally:
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
        tracer.wait(PATIENCE_S)


def traced(thread: int) -> bool:
    try:
        status = Path(f"/proc/{thread}/status").read_text("ascii", "replace")
    except OSError:
        return False
    return "TracerPid:\t0\n" not in status


def wait_for(true: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true in time."""
    until = time.monotonic() + seconds
    while not true():
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)
    return True


def points(life: Life, router: RouterProcess, folder: Path, *, lives: int = 2) -> list[Point]:
    """
    Every call of a life that matters, by thread; of several lives each call as often as it came at
    most, for no two lives are quite alike.
    """
    most: Counter[tuple[int, str]] = Counter()
    for turn in range(lives):
        for place, thread in enumerate(threads(router)[:2]):
            log = folder / f"life-{turn}-{place}.log"
            with attached(thread, "-f", log=log):
                life.send()
                life.finish(router, "recording")
                time.sleep(0.05)
            for call, count in counted(log, thread).items():
                most[(place, call)] = max(most[(place, call)], count)
    return [
        Point(place, call, n) for (place, call), m in sorted(most.items()) for n in range(1, m + 1)
    ]


def counted(log: Path, thread: int) -> Counter[str]:
    """How often a thread made each call, the harmless ones left out."""
    lines = log.read_text("ascii", "replace").splitlines()
    found = [m.groups() for line in lines if (m := LINE.match(line))]
    return Counter(c for t, c in found if int(t) == thread and c not in HARMLESS)


def chosen(every: Sequence[T], count: int | None) -> list[T]:
    """All of them, or `count` spread evenly."""
    if count is None or count >= len(every):
        return list(every)
    return [every[i * len(every) // count] for i in range(count)]
