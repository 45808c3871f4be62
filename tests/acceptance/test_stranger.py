"""Whoever listens at the admin address without being the router is shown no token (attack F7)."""

import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from router.cli.main import run
from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import ROOT, Rig, called, free_ports
from tests.acceptance.sink import Sink

RULES = "\nrules:\n  - {id: all, from: shop, actions: {log: hi}}\n"
KEPT, GIVEN = "the-token-beside-the-store", "the-token-of-the-variable"
COMMANDS = """
status
deliveries
deliveries --refused
show dlv_1
explain dlv_1
dead
dead --list
rules
audit
targets
targets pause shop
targets resume shop
replay --rule all --yes
cancel --rule all --yes
revive --rule all --yes
resume
erase --endpoint shop --yes
export --endpoint shop
recover shop --since 1h --yes
store prune
token list
token new ann --role viewer
token revoke ann
doctor --refused last
doctor shop
listen --to http://127.0.0.1:9/
""".strip().splitlines()
OF_THE_STORE = ("show dlv_1", "explain dlv_1", "dead", "dead --list", "audit", "token list")


@pytest.mark.parametrize("given", [None, GIVEN])
def test_no_command_sends_it_to_a_stranger(
    make_rig: MakeRig,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    given: str | None,
) -> None:
    rig = make_rig(RULES)
    Path(f"{rig.store}.token").write_text(KEPT, "ascii")
    for name, value in ({"ROUTER_TOKEN": given} if given else {}).items() | rig.environ.items():
        monkeypatch.setenv(name, value)
    with Sink(port=rig.admin) as stranger:
        for command in COMMANDS:
            stranger.received.clear()
            run([*command.split(), "-f", str(rig.path)], os.environ)
            said = "".join(capsys.readouterr())
            asked = str(stranger.received)
            assert KEPT not in asked, command
            assert GIVEN not in asked, command
            assert {one.path for one in stranger.received} <= {"/livez"}, command
            if command not in OF_THE_STORE:
                assert f"127.0.0.1:{rig.admin} is not the router of" in said, (command, said)


@contextmanager
def relaying(port: int, to: int) -> Iterator[list[str]]:
    """Passes what comes at `port` on to the router at `to`; what it saw."""
    seen: list[str] = []

    class Relay(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers}")
            link = http.client.HTTPConnection("127.0.0.1", to)
            link.request("GET", self.path, headers=dict(self.headers))
            answer = link.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.read())
            link.close()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Relay)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def elsewhere(make_rig: MakeRig) -> tuple[Rig, int]:
    """A router that is started with another admin address than its file has."""
    (port,) = free_ports(1)
    return make_rig(RULES), port


@pytest.mark.long
def test_one_that_passes_the_question_on_gets_none(elsewhere: tuple[Rig, int]) -> None:
    """Commands go where the router says that it listens (stranger L13)."""
    rig, port = elsewhere
    router = rig.router("--admin", f"127.0.0.1:{port}").launch()
    try:
        router.says("dashboard")
        assert called(rig, "deliveries", "--refused")[0] == 0
        with relaying(rig.admin, port) as seen:
            there = ("--admin", f"127.0.0.1:{rig.admin}")
            for command in (
                ["targets"],
                ["deliveries", "--refused"],
                ["listen", "--to", "http://x"],
            ):
                assert "is not the router of" in called(rig, *command, *there)[2], command
            assert seen
            assert "/livez" in seen[0]
            token = Path(f"{rig.store}.token").read_text("ascii").strip()
            assert not [line for line in seen if token in line or "/api" in line]
    finally:
        router.kill()


@pytest.mark.long
def test_one_in_the_place_of_a_router_that_ended_gets_none(elsewhere: tuple[Rig, int]) -> None:
    """A listener asks for a proof each time that it connects."""
    rig, port = elsewhere
    with Sink() as target:
        router = rig.router("--admin", f"127.0.0.1:{port}").launch()
        command = [sys.executable, "-m", "router", "listen", "-f", str(rig.path)]
        place = ["--checkpoint", str(rig.folder / "place"), "--to", target.url, "--json"]
        try:
            router.says("dashboard")
            listening = subprocess.Popen(
                [*command, *place],
                cwd=ROOT,
                env={**os.environ, **rig.environ},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert listening.stdout is not None
            assert "connected" in listening.stdout.readline()
        finally:
            router.kill()
        with Sink(port=port) as stranger:
            _, err = listening.communicate(timeout=60)
        assert "is not the router of" in err
        assert {one.path for one in stranger.received} == {"/livez"}
        assert "authorization" not in str(stranger.received)
