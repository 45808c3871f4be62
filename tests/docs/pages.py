"""A page of docs/ read as its reader does: files as shown, commands in order, servers kept."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.acceptance.process import PATIENCE_S, ROOT, RouterProcess, free_ports

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SINK = "127.0.0.1:9000"


def steps(page: str) -> Iterator[tuple[str, str]]:
    """What a page shows, in order: ("yaml", a file) and ("sh", a line)."""
    for language, text in _FENCE.findall((ROOT / "docs" / page).read_text("utf-8")):
        if language == "yaml":
            yield "yaml", text
        elif language == "sh":
            yield from (("sh", line) for line in text.splitlines())


def blocks(page: str, language: str) -> list[str]:
    """The blocks of a page in one language, in order."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return [block for found, block in _FENCE.findall(text) if found == language]


def block(page: str, language: str) -> str:
    """The only one."""
    [text] = blocks(page, language)
    return text


def lines(page: str) -> list[str]:
    """The shell lines of a page."""
    return [line for kind, line in steps(page) if kind == "sh"]


class Reader:
    """Someone who does what a page says: one folder, one server at a time, one sink."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._listen, self._admin, self._sink_port = free_ports(3)
        self.environ = {
            "PYTHONPATH": str(ROOT),
            "PATH": os.environ["PATH"],
            "ROUTER_LISTEN": f"127.0.0.1:{self._listen}",
            "ROUTER_ADMIN": f"127.0.0.1:{self._admin}",
        }
        self._server: RouterProcess | None = None
        self._sink: subprocess.Popen[bytes] | None = None

    @property
    def rules(self) -> Path:
        return self.folder / "rules.yaml"

    @property
    def sink_port(self) -> int:
        """Where our sink is, in place of port 9000."""
        return self._sink_port

    def do(self, line: str) -> str:
        """Type a line; what it prints. A failure is an AssertionError with everything known."""
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.environ[name] = value
        elif line.startswith("router serve"):
            self._serve(*line.split()[2:])
        elif line == "router sink":
            self._start_sink()
        else:
            return self._run(line)
        return ""

    def write(self, text: str) -> None:
        """Put a file shown on the page in place; the sink is where ours is."""
        self.rules.write_text(text.replace(_SINK, f"127.0.0.1:{self._sink_port}"), "utf-8")

    def until(self, true: Callable[[], bool], what: str) -> None:
        """Wait for something that the server does after it has answered."""
        assert self._server is not None
        self._server.until(true, what)

    def sink_output(self) -> str:
        return (self.folder / "sink.out").read_text("utf-8")

    def close(self) -> None:
        """End what runs; a server that cannot drain is an AssertionError."""
        if self._sink is not None:
            self._sink.send_signal(2)
            assert self._sink.wait(PATIENCE_S) == 130
        if self._server is not None:
            assert self._server.stop() == 0, self._server.output()

    def do_badly(self, line: str) -> str:
        """Type a line that is to find a problem (exit code 1); what it prints."""
        return self._run(line, code=1)

    def _run(self, line: str, *, code: int = 0) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", *line.split()],
            cwd=self.folder,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, (line, ran.stdout, ran.stderr)
        if line.startswith("router new rules --provider"):
            self.write(self.rules.read_text("utf-8"))
        return ran.stdout

    def _serve(self, *options: str) -> None:
        if self._server is not None:
            assert self._server.stop() == 0, self._server.output()
        self._server = RouterProcess(
            self.rules, self._listen, self._admin, self.environ, options
        ).start()

    def _start_sink(self) -> None:
        command = [sys.executable, "-m", "router", "sink", str(self._sink_port)]
        with (self.folder / "sink.out").open("wb") as out:
            self._sink = subprocess.Popen(
                command, cwd=self.folder, env=self.environ, stdout=out, stderr=out
            )
        self.until(lambda: "Ctrl-C ends" in self.sink_output(), "the sink")


@contextmanager
def reading(folder: Path) -> Iterator[Reader]:
    """A reader whose processes end with the test."""
    reader = Reader(folder)
    try:
        yield reader
    finally:
        reader.close()
