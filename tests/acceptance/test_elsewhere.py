"""Two machines, two stores: with `--server` one is operated from the other, and only that one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router.cli.main import run
from tests.acceptance.process import PATIENCE_S, ROOT, Rig
from tests.acceptance.senders import ENDPOINTS, environ

pytestmark = pytest.mark.long

HERE = "rules: [{id: here, from: shop, actions: {log: hi}}]\n"
THERE = """
targets: {{erp: {{url: "http://127.0.0.1:9/"}}}}
rules:
  - id: hopeless
    from: shop
    actions:
      - {{id: say, shell: {{argv: [echo, '{{"n": 1.50}}']}}}}
      - {{id: fail, after: say, shell: {{argv: ["false"]}}}}
  - id: slow
    from: shop
    actions:
      shell:
        script: 'echo one; while [ ! -e "$GO" ]; do sleep 0.05; done; echo two'
        env: {{GO: "{go}"}}
"""
Answer = tuple[int, str, str]


class Machines:
    """`here` has a store with one delivery, and no server; `there` a server with another."""

    def __init__(
        self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch
        self.go = folder / "go"
        self.here = Rig(folder / "here", ENDPOINTS + HERE, environ())
        self.there = Rig(folder / "there", ENDPOINTS + THERE.format(go=self.go), environ())
        self.url = f"http://127.0.0.1:{self.there.admin}"
        for name, value in self.here.environ.items():
            monkeypatch.setenv(name, value)

    def on(self, rig: Rig, *args: str) -> Answer:
        """A command on the machine of this rig."""
        self._monkeypatch.setenv("ROUTER_RULES", str(rig.path))
        return run(args, os.environ), *self._capsys.readouterr()

    def asked(self, *args: str) -> Answer:
        """A command here, about the server there."""
        return self.on(self.here, *args, "--server", self.url)

    def listed(self, *args: str) -> list[dict[str, Any]]:
        code, out, err = self.asked(*args, "--json")
        assert (code, err) == (0, ""), (args, err)
        found: list[dict[str, Any]] = json.loads(out)
        return found

    def own(self) -> dict[str, Any]:
        """The delivery that is here."""
        [own] = json.loads(self.on(self.here, "deliveries", "--json")[1])
        return dict(own)


@pytest.fixture
def machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Machines]:
    two = Machines(tmp_path, capsys, monkeypatch)
    with two.here.router() as router:
        assert two.on(two.here, "send", "shop", "orders/paid")[0] == 0
        assert router.stop() == 0
    with two.there.router() as router:
        changed = ("--set", "total_price=1.25")
        assert two.on(two.there, "send", "shop", "orders/paid", *changed)[0] == 0
        assert two.on(two.there, "send", "shop", "--again")[0] == 0
        token = Path(f"{two.there.store}.token").read_text("ascii").strip()
        monkeypatch.setenv("ROUTER_TOKEN", token)
        router.until(lambda: len(two.listed("dead")) == 1, "the dead job")
        yield two
        two.go.touch()


def test_what_is_listed_and_shown_is_of_the_server(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    [delivery] = machines.listed("deliveries")
    own = machines.own()["id"]
    assert delivery["id"] != own
    assert delivery["duplicates"] == 1
    where = ("--where", "payload.total_price == '1.25'")
    assert machines.listed("deliveries", *where) == [delivery]
    assert [cause["rule"] for cause in machines.listed("dead")] == ["hopeless"]
    assert [cause["rule"] for cause in machines.listed("dead", *where)] == ["hopeless"]
    assert [job["delivery"] for job in machines.listed("dead", "--list")] == [delivery["id"]]
    rules = {rule["rule"]: rule["counted"] for rule in machines.listed("rules")}
    assert rules.keys() == {"hopeless", "slow"}
    assert rules["hopeless"]["matched"] == 1
    assert machines.listed("audit") == []
    for words in (
        ["dead", "--list"],
        ["show", delivery["id"], "--json"],
        ["show", delivery["id"][4:20]],
        ["show", machines.listed("dead", "--list")[0]["id"]],
        ["explain", delivery["id"], "--json"],
        ["explain", delivery["id"][4:]],
    ):
        assert machines.asked(*words) == machines.on(machines.there, *words), words
        assert machines.asked(*words)[0] == 0
    for words in (["show", own], ["show", own[4:]], ["explain", own]):
        code, out, err = machines.asked(*words)
        assert (code, out) == (1, "")
        assert own[4:] in err
    monkeypatch.setenv("ROUTER_TOKEN", "no such token")
    for words in (["deliveries"], ["show", delivery["id"]], ["rules"], ["audit"], ["dead"]):
        code, out, err = machines.asked(*words)
        assert (code, out) == (1, ""), words
        assert "does not accept the token; set ROUTER_TOKEN" in err


def test_work_there_is_followed_and_paused_not_that_here(machines: Machines) -> None:
    code, out, err = machines.on(machines.here, "targets", "--server", machines.url, "pause", "erp")
    assert (code, err) == (0, "")
    assert out.startswith("erp paused")
    [erp] = [row for row in machines.listed("targets") if row["name"] == "erp"]
    assert erp["state"] == "paused"
    assert [line["verb"] for line in machines.listed("audit")] == ["pause_target"]
    assert json.loads(machines.on(machines.here, "audit", "--json")[1]) == []
    [delivery] = machines.listed("deliveries")
    shown = json.loads(machines.asked("show", delivery["id"], "--json")[1])
    [slow] = [job["id"] for job in shown["jobs"] if job["rule"] == "slow"]
    words = ["show", slow, "--follow", "--server", machines.url]
    bare = {"ROUTER_TOKEN": os.environ["ROUTER_TOKEN"], "PATH": "/usr/bin:/bin"}
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "router", *words],
        cwd=ROOT,
        env=bare,
        stdout=subprocess.PIPE,
        text=True,
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == "one\n"
        assert following.poll() is None
        machines.go.touch()
        rest = following.stdout.read()
        assert following.wait(PATIENCE_S) == 0
    assert "succeeded" in rest
    assert "two" in rest


def test_a_router_that_was_logged_in_to_is_asked_until_another_is_in_use(
    machines: Machines, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    [delivery] = machines.listed("deliveries")
    here = (machines.own()["id"], "")
    assert here[0] != delivery["id"]
    code, out, _ = machines.on(machines.here, "login", machines.url, "--name", "there")
    assert (code, out) == (0, f"there is in use: {machines.url}, as token (admin)\n")
    monkeypatch.delenv("ROUTER_TOKEN")

    def seen(*more: str) -> tuple[str, str]:
        code, out, err = machines.on(machines.here, "deliveries", "--json", *more)
        assert code == 0
        [found] = json.loads(out)
        return found["id"], err

    assert seen() == (delivery["id"], f"at there, {machines.url}\n")
    assert seen("--server", "local") == seen("-f", str(machines.here.path)) == here
    code, out, err = machines.on(machines.here, "targets", "pause", "erp")
    assert (code, err) == (0, f"at there, {machines.url}\n")
    assert out.startswith("erp paused")
    assert machines.on(machines.here, "use", "local")[0] == 0
    assert seen() == here
