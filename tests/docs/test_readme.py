"""The README does what it says: its two commands, its walk and its rules."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import pytest

from router.cli.main import run
from router.config import load
from tests.acceptance.process import PATIENCE_S, ROOT, RouterProcess, free_ports

README = (ROOT / "README.md").read_text("utf-8")
FIRST_SCREEN = 30

SET_UP = [
    "python3 -m venv .venv && .venv/bin/pip install ."  # noqa: ISC004 - one command
    " && .venv/bin/router serve --dev rules.example.yaml",
    "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/pytest",
]

SEND = "router send shop orders/paid"
WALK = [
    ("router sink", None),
    (f"{SEND} --set total_price=512.50 --set shipping_address.country_code=DE", "accepted"),
    ("router deliveries", "orders/paid"),
    ("router send shop --again", "duplicate"),
    ("router deliveries", "×2"),
    (f"{SEND} --tamper signature", "refused, as expected"),
    (f"{SEND} --tamper body", "refused, as expected"),
    ("router deliveries --refused", "bad_signature"),
    ("# stop the sink", None),
    (SEND, "accepted"),
    ("router rules", "paid-orders-to-erp"),
    ("router sink", None),
    ("router deliveries --rule paid-orders-to-erp", "2 succeeded"),
    ("router replay --rule paid-orders-to-erp --dry-run", "would be replayed"),
    ("router replay --rule paid-orders-to-erp --yes", "replayed"),
    ("router replay --rule paid-orders-to-erp --yes", "`--again` does it once more"),
    ("router dead", "CAUSE"),
    ("router check rules.example.yaml", "ok, "),
    ("router addresses", "/wh_"),
    ("router providers", "sendgrid"),
]
"""Every `router` line of the README's shell blocks, in order, and what its answer holds."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_two_commands_are_on_the_first_screen() -> None:
    top = "\n".join(README.splitlines()[:FIRST_SCREEN])
    shown = re.findall(r"^```sh\n(.*?)\n```", top, re.MULTILINE | re.DOTALL)
    assert shown == SET_UP


def test_every_line_of_the_walk_is_tried() -> None:
    *walk, _fleet = blocks("sh")[2:]  # the last one is for test_fleet_page.py
    lines = [line for block in walk for line in block.splitlines()]
    tried = [line for line in lines if not line.startswith("export ")]
    assert tried == [line for line, _ in WALK]


def test_the_rules_shown_are_right() -> None:
    for text in blocks("yaml"):
        loaded = load(text, path="README.md", env={})
        assert loaded.diagnostics == ()
        assert loaded.ruleset is not None


def test_the_files_pointed_to_are_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


class Stage(NamedTuple):
    """A folder with the example, a development server of it, and the sink's place."""

    folder: Path
    server: RouterProcess
    environ: dict[str, str]
    sink_port: int

    def run(self, line: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", *line.split()]
        return subprocess.run(
            command, cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False
        )

    def shown(self, *options: str) -> str:
        """What `router deliveries` prints, without a process of its own: it is called often."""
        rules = str(self.folder / self.environ["ROUTER_RULES"])
        environ = patch.dict(os.environ, self.environ | {"ROUTER_RULES": rules})
        with environ, redirect_stdout(StringIO()) as out:
            assert run(["deliveries", *options], os.environ) == 0
        return out.getvalue()

    def jobs(self) -> list[dict[str, int]]:
        listed = json.loads(self.shown("--rule", "paid-orders-to-erp", "--json"))
        return [delivery["jobs"] for delivery in listed]

    def healed(self) -> bool:
        return self.jobs() == [{"succeeded": 2}] * 2


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    listen, admin, sink = free_ports(3)
    rules = tmp_path / "rules.example.yaml"
    example = (ROOT / "rules.example.yaml").read_text("utf-8")
    rules.write_text(example.replace("127.0.0.1:9000", f"127.0.0.1:{sink}"), "utf-8")
    store = str(tmp_path / "walk.db")
    addresses = (f"127.0.0.1:{listen}", f"127.0.0.1:{admin}")
    environ = {
        "PYTHONPATH": str(ROOT),
        "ROUTER_RULES": "rules.example.yaml",
        "ROUTER_LISTEN": addresses[0],
        "ROUTER_ADMIN": addresses[1],
        "ROUTER_STORE": store,
    }
    options = ("--dev", "--listen", addresses[0], "--admin", addresses[1], "--store", store)
    with RouterProcess(rules, listen, admin, {}, options) as server:
        yield Stage(tmp_path, server, environ, sink)


class Sink:
    """The second terminal: started, stopped, and read line by line."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._out = stage.folder / "sink.out"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "router", "sink", str(self._stage.sink_port)]
        with self._out.open("ab") as out:
            self._process = subprocess.Popen(
                command, cwd=self._stage.folder, env=self._stage.environ, stdout=out, stderr=out
            )
        self._stage.server.until(lambda: "Ctrl-C ends" in self.output(), "the sink")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(2)
            assert self._process.wait(PATIENCE_S) == 130
            self._process = None
            self._out.unlink()

    def output(self) -> str:
        return self._out.read_text("utf-8") if self._out.exists() else ""


@pytest.mark.long
def test_the_walk_goes_as_written(stage: Stage) -> None:
    sink = Sink(stage)
    try:
        for number, (line, says) in enumerate(WALK):
            if line == "router sink":
                sink.start()
            elif line == "# stop the sink":
                stage.server.until(lambda: "PUT /erp/orders/" in sink.output(), "the call")
                stage.server.until(lambda: stage.jobs() == [{"succeeded": 2}], "its record")
                sink.stop()
            else:
                if "--rule" in line and "deliveries" in line:
                    stage.server.until(stage.healed, "the healing")
                if says == "×2":  # copies are counted a little later
                    stage.server.until(lambda: "×2" in stage.shown(), "×2")
                ran = stage.run(line)
                assert ran.returncode == 0, (number, line, ran)
                assert says is not None
                assert says in ran.stdout, (number, line, ran, stage.server.output())
    finally:
        sink.stop()


@pytest.mark.long
def test_the_server_prints_lines_that_work(stage: Stage) -> None:
    """The first terminal says what to paste into another one, and pasting it is enough."""
    hints = [line.strip() for line in stage.server.output().splitlines() if " send " in line]
    assert len(hints) == 5
    for hint in hints:
        words = hint.partition(" -m ")[2]
        ran = stage.run(words)
        assert (ran.returncode, ran.stderr) == (0, ""), hint
        assert '"accepted"' in ran.stdout
