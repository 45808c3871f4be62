"""The tasks at the command line, done as the table says, one after another, at a real router."""

import contextlib
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.acceptance.process import PATIENCE_S, ROOT, Rig, RouterProcess
from tests.acceptance.senders import ENDPOINTS, SHOP_ID, environ, shop
from tests.acceptance.sink import Sink
from tests.tasks.table import COMMANDS, Task

pytestmark = pytest.mark.long

RULES = """
targets:
  erp: {{url: "http://127.0.0.1:{port}"}}
rules:
  - {{id: hopeless, from: shop, actions: {{shell: {{argv: ["false"]}}}}}}
  - {{id: to-the-erp, from: shop, actions: {{http: {{target: erp}}}}}}
  - {{id: large-orders, from: shop, match: payload.id > 1000000, actions: {{log: large}}}}
"""
ENDLESS = ("--watch", "listen")
"""Words of commands that go on until they are interrupted."""


class Ran(NamedTuple):
    """What a step came to."""

    code: int
    said: str


class Operator:
    """Somebody with a shell in the folder of a router that has work behind it."""

    def __init__(self, rig: Rig, process: RouterProcess) -> None:
        self.rig, self._process = rig, process
        plain = {n: os.environ[n] for n in ("PATH", "LANG") if n in os.environ}
        self._environ = plain | rig.environ | {
            "HOME": str(rig.folder),
            "XDG_CONFIG_HOME": str(rig.folder / "settings"),
            "PYTHONPATH": str(ROOT),
            "SHELL": "/bin/bash",
            "SLACK_WEBHOOK_URL": "https://hooks.example.net/services/made-up",
        }  # fmt: skip
        token = Path(f"{rig.store}.token").read_text("ascii").strip()
        self._last = Ran(0, "")
        self._given = {"URL": process.admin_url, "ORDER": "2"}
        self._token = {"ROUTER_TOKEN": token}

    def do(self, task: Task) -> Ran:
        """All its steps; what the last one said."""
        for step in task.after:
            self._last = self._step(step)
            assert self._last.code in (0, 1), (step, self._last)
        return self._last

    def _step(self, step: str) -> Ran:
        if step.startswith("router "):
            return self._router(shlex.split(self._filled(step))[1:])
        if step.startswith("include "):
            return self._include(step.removeprefix("include "))
        if step == "paste the command that it shows":
            found = re.search(r"router (?:replay|revive|cancel) .*", self._last.said)
            assert found is not None, self._last.said
            return self._router([*shlex.split(found[0])[1:], "--yes"])
        raise AssertionError(f"nobody knows how to {step!r}")

    def _filled(self, step: str) -> str:
        """The step with what the task is given, and what the step before it found."""
        found = re.search(r"\bdlv_\w+", self._last.said)
        given = self._given | ({"DELIVERY": found[0]} if found else {})
        self._given = given
        return re.sub(r"\b[A-Z]{3,}\b", lambda word: given.get(word[0], word[0]), step)

    def _include(self, file: str) -> Ran:
        """What an editor would do."""
        rules = self.rig.path.read_text("utf-8")
        more = f"include: [{file}, " if "include: [" in rules else f"include: [{file}]\n"
        old = "include: [" if "include: [" in rules else "server:\n"
        new = more if old == "include: [" else more + old
        self.rig.path.write_text(rules.replace(old, new, 1), "utf-8")
        return Ran(0, "")

    def _router(self, words: list[str]) -> Ran:
        if any(word in ENDLESS for word in words):
            return self._interrupted(words)
        login = self._token if words[0] == "login" else {}
        with subprocess.Popen(
            [sys.executable, "-m", "router", *words],
            cwd=self.rig.folder,
            env={**self._environ, **login},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            said, _ = process.communicate(timeout=PATIENCE_S)
        return Ran(process.returncode, said)

    def _interrupted(self, words: list[str]) -> Ran:
        """On a terminal, until something stands on it; then Ctrl-C."""
        mine, its = pty.openpty()
        with subprocess.Popen(
            [sys.executable, "-m", "router", *words],
            cwd=self.rig.folder,
            env={**self._environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "40"},
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
        ) as process:
            os.close(its)
            said = os.read(mine, 4096)
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(OSError):  # how Linux says that the other side has gone
                while more := os.read(mine, 4096):
                    said += more
            code = process.wait(PATIENCE_S)
        os.close(mine)
        return Ran(0 if code == 130 else code, said.decode())


@pytest.fixture(scope="module")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """Five orders and a forged one have come; two wait, for the ERP is held."""
    with Sink([410] * 100) as erp:
        folder = tmp_path_factory.mktemp("tasks") / "router"
        rig = Rig(folder, ENDPOINTS + RULES.format(port=erp.port), environ())
        (folder / "new.yaml").write_text(
            rig.path.read_text("utf-8").replace("1000000", "1"), "utf-8"
        )
        with rig.router() as process, httpx.Client(trust_env=False, timeout=10) as client:
            person = Operator(rig, process)
            for number in range(1, 6):
                if number == 4:
                    process.until(lambda: len(erp.received) == 3, "three calls of the ERP")
                    assert person._router(["targets", "pause", "erp"]).code == 0
                now_ms = time.time_ns() // 1_000_000
                sent = client.send(shop().request(process.url, number, now_ms=now_ms))
                assert sent.status_code == 200
            client.post(f"{process.url}/wh_{SHOP_ID}", content=b'{"forged": true}')
            process.until(
                lambda: person._router(["dead", "--list", "--json"]).said.count('"id"') >= 8, "dead"
            )
            yield person


def test_each_task_takes_these_steps(operator: Operator) -> None:
    """In one test, for they go on from one another."""
    for task in COMMANDS:
        ran = operator.do(task)
        assert task.shows in ran.said, (task.wants, ran.said)
        assert "Traceback" not in ran.said, task.wants
