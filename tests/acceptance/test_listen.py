"""`router listen` in a process of its own; `python -m tests.faults.listen` is the long form."""

import asyncio
import contextlib
import json
import os
import pty
import random
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import PATIENCE_S, ROOT, Rig
from tests.acceptance.sink import Sink
from tests.acceptance.test_operate import called
from tests.faults.listen import Campaign

pytestmark = pytest.mark.long

CYCLES = 4
RULES = "\nrules:\n  - {id: paid, from: shop, actions: {log: '{{ event }}'}}\n"


def test_killed_listeners_miss_nothing_and_keep_the_order(tmp_path: Path) -> None:
    tally = asyncio.run(Campaign(tmp_path, random.Random(7)).run(CYCLES))
    assert tally.problems == []
    assert tally.cycles == CYCLES
    assert tally.stored > CYCLES  # else nothing was shown


@pytest.fixture
def rig(make_rig: MakeRig) -> Iterator[Rig]:
    rig = make_rig(RULES)
    with rig.router():
        yield rig


def command(rig: Rig, sink: Sink, *options: str) -> list[str]:
    place = str(rig.folder / "checkpoint.json")
    return [
        *(sys.executable, "-u", "-m", "router", "listen", "-f", str(rig.path)),
        *("--to", f"{sink.url}/in?from=router", "--checkpoint", place, *options),
    ]


def environ(rig: Rig) -> dict[str, str]:
    plain = {n: os.environ[n] for n in ("PATH", "HOME", "LANG") if n in os.environ}
    return {**plain, **rig.environ, "TERM": "xterm", "COLUMNS": "200"}


def test_an_endpoint_that_is_none_ends_it(rig: Rig) -> None:
    """It would listen for ever and hear nothing."""
    with Sink() as sink:
        ran = subprocess.run(
            command(rig, sink, "shop", "shp", "--once"),
            cwd=ROOT,
            env=environ(rig),
            capture_output=True,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "router: the router has no endpoint 'shp'; did you mean 'shop'?\n"


def test_a_target_that_is_not_there_is_reported_at_once(rig: Rig) -> None:
    """Nothing need arrive for it: `connected` alone would sound as if all were well."""
    with Sink() as sink:
        url = sink.url
    words = [sys.executable, "-m", "router", "listen", "-f", str(rig.path), "--to", url]
    place = str(rig.folder / "checkpoint.json")
    ran = subprocess.run(
        [*words, "--checkpoint", place, "--once"],
        cwd=ROOT,
        env=environ(rig),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == (f"{url}/: nothing listens there; deliveries wait until it accepts them\n")


@contextlib.contextmanager
def listening(rig: Rig, sink: Sink, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A listener whose lines can be read as they come."""
    process = subprocess.Popen(
        command(rig, sink, *options),
        cwd=ROOT,
        env=environ(rig),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def objects(process: subprocess.Popen[str], wanted: str) -> dict[str, object]:
    """The next JSON line that has this key."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("{") and wanted in (reported := json.loads(line)):
            return dict(reported)
    raise AssertionError(f"it ended without {wanted!r}")


def test_it_forwards_what_arrives_and_connects_again_by_itself(make_rig: MakeRig) -> None:
    rig = make_rig(RULES)
    with rig.router() as router, Sink() as sink, listening(rig, sink, "--json") as process:
        assert objects(process, "connection")["connection"] == "connected"
        assert called(rig, "send", "shop", "orders/paid")[0] == 0
        first = objects(process, "delivery")
        assert (first["status"], first["events"]) == (200, ["orders/paid"])
        assert router.stop() == 0
        assert objects(process, "connection")["connection"] == "reconnecting"
        router.start()
        while objects(process, "connection")["connection"] != "connected":
            pass  # it says why not, and again when that changes
        assert called(rig, "send", "shop", "orders/paid")[0] == 0
        assert objects(process, "delivery")["status"] == 200
    marks = [one.headers["router-delivery"] for one in sink.received]
    assert len(set(marks)) == len(marks) == 2
    assert {one.path for one in sink.received} == {"/in?from=router"}


def test_a_second_listener_on_the_same_checkpoint_is_refused(rig: Rig) -> None:
    with Sink() as sink, listening(rig, sink, "--json") as process:
        objects(process, "connection")
        second = subprocess.run(
            command(rig, sink), env=environ(rig), cwd=ROOT, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    assert second.returncode == 1
    assert "another `router listen`" in second.stderr


def test_the_terminal_view_and_its_keys(rig: Rig) -> None:
    ours, theirs = pty.openpty()
    with Sink(answers=[500]) as sink:
        process = subprocess.Popen(
            command(rig, sink),
            cwd=ROOT,
            env=environ(rig),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        )
        os.close(theirs)
        terminal = Terminal(ours)
        try:
            terminal.until("● connected")
            assert called(rig, "send", "shop", "orders/paid")[0] == 0
            terminal.until("1 failed")
            assert len(sink.received) == 1
            terminal.press(b"r")
            terminal.until("1 accepted")
            terminal.press(b"c")
            terminal.until("curl -sS -X POST")
            terminal.press(b"s")
            terminal.until("x-shopify-topic: orders/paid")
            terminal.press(b"o")
            terminal.until(f"http://127.0.0.1:{rig.admin}/deliveries/dlv_")
            terminal.press(b"q")
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
            process.wait()
            os.close(ours)
    first, again = sink.received
    assert first.body == again.body


class Terminal:
    """The other end of a pseudo terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._seen = ""

    def press(self, key: bytes) -> None:
        os.write(self._descriptor, key)

    def until(self, text: str) -> None:
        """Read until it has been shown."""
        deadline = time.monotonic() + 20
        while text not in self._seen:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} was not shown: {self._seen[-2000:]!r}"
            if select.select([self._descriptor], [], [], left)[0]:
                self._seen += os.read(self._descriptor, 65_536).decode("utf-8", "replace")
        self._seen = self._seen.partition(text)[2]
