"""
A real router in a process of its own, with a rules file and a store in a folder of its own.

`Rig` lays out the folder; `RouterProcess` is one run of `python -m router serve` in it. Waiting is
done on the process itself, so a router that dies ends every wait at once with its output shown.
"""

import atexit
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

POLL_S = 0.01
PATIENCE_S = 45.0
"""Far more than anything takes, and less than a test may: a slow machine is no fault."""
ROOT = Path(__file__).parents[2]


class RouterDied(Exception):
    """The router ended while it was needed; the text is its output."""


class TookTooLong(Exception):
    """What was waited for did not come; the text is the router's output."""


def free_ports(count: int) -> list[int]:
    """
    Ports that nobody has, all different, and kept for whoever listens with SO_REUSEADDR, as servers
    do: neither a connection nor another test is given one of them before its router has bound it.
    """
    drawn = iter(random.SystemRandom().sample(range(10_000, 32_000), 500))
    return list(itertools.islice(filter(_keep, drawn), count))


def _keep(port: int) -> bool:
    """
    Whether nobody has it; then it is bound, without listening, and shared only afterwards, so that
    nobody else keeps it. The oldest kept go: a campaign of thousands does not run out of sockets.
    """
    one = socket.socket()
    try:
        one.bind(("127.0.0.1", port))
    except OSError:
        one.close()
        return False
    one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    _KEPT.append(one)
    if len(_KEPT) > 32:
        _KEPT.popleft().close()
    return True


_KEPT: deque[socket.socket] = deque()
atexit.register(lambda: [one.close() for one in _KEPT])


@dataclass
class RouterProcess:
    """
    One run of the router.

    `environ` is added to what a bare process needs; `tracer` is a command that runs the router.
    What it prints goes to `log`, or to the descriptor `out`; `keeps` are descriptors that it gets
    from us. `code` is where `router/` lies, and
    `python` runs it.
    """

    rules: Path
    listen: int
    admin: int
    environ: Mapping[str, str]
    arguments: tuple[str, ...] = ()
    tracer: tuple[str, ...] = ()
    out: int | None = None
    process: subprocess.Popen[bytes] | None = None
    code: Path = ROOT
    python: str = sys.executable
    keeps: tuple[int, ...] = ()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.running:
            self.kill()

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def log(self) -> Path:
        return self.rules.parent / "router.log"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listen}"

    @property
    def admin_url(self) -> str:
        return f"http://127.0.0.1:{self.admin}"

    def module(self) -> list[str]:
        """What Python runs."""
        return ["router", "serve", str(self.rules), *self.arguments]

    def launch(self) -> Self:
        """Start it and do not wait."""
        command = [*self.tracer, self.python, "-m", *self.module()]
        plain = {
            n: os.environ[n] for n in ("PATH", "HOME", "LANG", "PYTHONPATH") if n in os.environ
        }
        with self.log.open("ab") as log:
            out = log.fileno() if self.out is None else self.out
            self.process = subprocess.Popen(
                command,
                cwd=self.code,
                env={**plain, **self.environ},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                pass_fds=self.keeps,
            )
        return self

    def start(self) -> Self:
        """Start it and wait until it can take deliveries."""
        self.launch()
        self.until(self.ready, "ready")
        return self

    def ready(self) -> bool:
        """Whether /readyz says yes; a plain socket, for it is asked a hundred times a second."""
        try:
            with socket.create_connection(("127.0.0.1", self.admin), timeout=2) as link:
                link.sendall(
                    b"GET /readyz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
                )
                return link.recv(12).endswith(b" 200")
        except OSError:
            return False

    def until(self, true: Callable[[], bool], what: str, *, seconds: float = PATIENCE_S) -> None:
        """
        Wait until `true()` says so.

        Raises:
            RouterDied, TookTooLong: it will not, or has not within `seconds`.
        """
        assert self.process is not None
        deadline = time.monotonic() + seconds
        while not true():
            if self.ended(within=POLL_S) is not None:
                raise RouterDied(f"waiting for {what}, the router ended:\n{self.output()}")
            if time.monotonic() > deadline:
                raise TookTooLong(f"{what}: not within {seconds} s:\n{self.output()}")

    def ended(self, *, within: float) -> int | None:
        """The exit status, if it ends within so many seconds."""
        assert self.process is not None
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self, *, within: float = PATIENCE_S) -> int | None:
        """SIGTERM; the exit status, None if it has not ended in time."""
        self.signal(signal.SIGTERM)
        return self.ended(within=within)

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def open_files(self) -> int:
        """How many it has; before Linux 6.2 only root may count them."""
        assert self.process is not None
        place = Path(f"/proc/{self.process.pid}/fd")
        return place.stat().st_size or sum(1 for _ in place.iterdir())

    def says(self, words: str) -> None:
        """Wait until its log has these words: a thread writes it, after what the line tells of."""
        self.until(lambda: words in self.log.read_text("utf-8", "replace"), repr(words))

    def output(self) -> str:
        return self.log.read_text("utf-8", "replace")[-6000:]


@dataclass
class Rig:
    """
    A folder with a rules file, a store and made-up secrets.

    `rules` is YAML from `endpoints:` on; what stands above it (server, secrets) is written here.
    `code` and `python` as a `RouterProcess` has them.
    """

    folder: Path
    rules: str
    environ: dict[str, str] = field(default_factory=dict)
    server: str = ""
    listen: int = 0
    admin: int = 0
    code: Path = ROOT
    python: str = sys.executable

    def __post_init__(self) -> None:
        if not self.listen:
            self.listen, self.admin = free_ports(2)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.write(self.rules)

    @property
    def path(self) -> Path:
        return self.folder / "rules.yaml"

    @property
    def store(self) -> Path:
        return self.folder / "router.db"

    def head(self) -> str:
        return (
            "version: 1\n"
            "server:\n"
            f"  listen: 127.0.0.1:{self.listen}\n"
            f"  admin: 127.0.0.1:{self.admin}\n"
            "  store: sqlite:router.db\n" + self.server
        )

    def write(self, rules: str) -> None:
        """Put new rules in place, as a careful editor does: whole or not at all."""
        self.rules = rules
        fresh = self.folder / "rules.yaml.new"
        fresh.write_text(self.head() + rules, "utf-8")
        fresh.replace(self.path)

    def router(self, *arguments: str) -> RouterProcess:
        return RouterProcess(
            self.path,
            self.listen,
            self.admin,
            self.environ,
            arguments,
            code=self.code,
            python=self.python,
        )


def called(rig: Rig, *args: str, **environ: str) -> tuple[int, str, str]:
    """One command in a process of its own, as a person would type it."""
    plain = {n: os.environ[n] for n in ("PATH", "HOME", "LANG") if n in os.environ}
    ran = subprocess.run(
        [sys.executable, "-m", "router", *args],
        cwd=ROOT,
        env={**plain, **rig.environ, "ROUTER_RULES": str(rig.path), **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr
