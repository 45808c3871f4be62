"""
Servers to compare with, each a process of its own on loopback: an echo, a sink, adnanh/webhook.

Programs that are not ours are found on the PATH, or where a variable of their name says.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.pace import connect, read_answer
from tests.acceptance.process import ROOT, free_ports
from tests.acceptance.senders import CODE_KEY

PATIENCE_S = 60.0
HOOK = "webhook"
HOOK_PATH = "/hooks/push"
VARIABLES = {HOOK: "WEBHOOK", "ansible-rulebook": "ANSIBLE_RULEBOOK", "node-red": "NODE_RED"}


class PeerFailed(Exception):
    """A server to compare with did not start."""


def program(name: str) -> str | None:
    """Where this program is; None: it is not installed here."""
    return shutil.which(os.environ.get(VARIABLES[name]) or name)


@contextmanager
def running(
    command: Sequence[str], port: int, *, log: Path, environ: Mapping[str, str] | None = None
) -> Iterator[int]:
    """
    Start a server, wait until `port` is open, yield the port, end the server.

    `environ` is added to ours.
    """
    with log.open("ab") as out:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        wait_open(process, port)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_open(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise PeerFailed(f"{process.args!r} does not listen on {port}")


@contextmanager
def echo(folder: Path) -> Iterator[int]:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "benchmarks.echo", str(port)]
    with running(command, port, log=folder / "echo.log"):
        yield port


@contextmanager
def sink(folder: Path, *tls: str) -> Iterator[int]:
    """`tls`: a file with certificate and key, and perhaps `close`, after each answer."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "benchmarks.sink", str(port), *(["", *tls] if tls else [])]
    with running(command, port, log=folder / "sink.log"):
        yield port


def calls(port: int) -> int:
    """How many calls the sink at this port has answered."""
    with closing(connect(port)) as link:
        link.sendall(b"GET /calls HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
        return int(read_answer(link).rpartition(b"\r\n\r\n")[2])


@contextmanager
def hook(folder: Path, *, waiting: bool) -> Iterator[int]:
    """adnanh/webhook: the same signature, a condition on the branch, /bin/true."""
    (port,) = free_ports(1)
    place = folder / f"hooks-{'waiting' if waiting else 'not-waiting'}.json"
    place.write_text(json.dumps([hook_definition(waiting)]), "utf-8")
    command = [program(HOOK) or HOOK, "-hooks", str(place), "-ip", "127.0.0.1", "-port", str(port)]
    with running(command, port, log=place.with_suffix(".log")):
        yield port


def hook_definition(waiting: bool) -> dict[str, object]:
    signature = {"source": "header", "name": "X-Hub-Signature-256"}
    branch = {"source": "payload", "name": "ref"}
    hmac = {"type": "payload-hmac-sha256", "secret": CODE_KEY, "parameter": signature}
    value = {"type": "value", "value": "refs/heads/main", "parameter": branch}
    return {
        "id": "push",
        "execute-command": "/bin/true",
        "http-methods": ["POST"],
        "include-command-output-in-response": waiting,
        "trigger-rule": {"and": [{"match": hmac}, {"match": value}]},
    }
