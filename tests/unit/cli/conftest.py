"""The command line in this process, and a sink for what it sends."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from router.cli.main import run
from router.cli.sink_server import Received, SinkServer, as_line
from tests.acceptance.process import free_ports
from tests.unit.cli.held_router import held_router

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "rules.example.yaml"

SMALL = """\
version: 1
secrets:
  shop: {env: SHOP_SECRET}
  hub: {env: HUB_SECRET}
  mail: {file: mail.pem}
endpoints:
  shop: {id: shop-0123456789abcdef, provider: shopify, secrets: shop}
  code: {id: code-0123456789abcdef, provider: github, secrets: hub}
  mail: {id: mail-0123456789abcdef, provider: sendgrid, secrets: mail}
  open: {id: open-0123456789abcdef, provider: github, verify: none}
rules:
  - {id: paid, from: shop, events: orders/paid, actions: {log: "{{ payload.id }}"}}
  - {id: pushes, from: [code, open], events: push, actions: {log: "{{ event }}"}}
  - {id: bounces, from: mail, events: bounce, actions: {log: "{{ payload.email }}"}}
"""


class Ran(NamedTuple):
    """What one command line came to."""

    code: int
    out: str
    err: str


Router = Callable[..., Ran]


@pytest.fixture
def router(capsys: pytest.CaptureFixture[str]) -> Router:
    """Run a command line in this process, as the script would."""

    def called(*args: str | Path) -> Ran:
        code = run([str(a) for a in args], os.environ)
        return Ran(code, *capsys.readouterr())

    return called


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small rules file in a folder of its own, its shared secrets set."""
    # Somebody's router may run on the usual ports meanwhile.
    listen, admin = free_ports(2)
    monkeypatch.setenv("ROUTER_LISTEN", f"127.0.0.1:{listen}")
    monkeypatch.setenv("ROUTER_ADMIN", f"127.0.0.1:{admin}")
    monkeypatch.setenv("SHOP_SECRET", "s" * 32)
    monkeypatch.setenv("HUB_SECRET", "h" * 32)
    path = tmp_path / "rules.yaml"
    path.write_text(SMALL, "utf-8")
    return path


Changes = Callable[[Router, Path], Router]
CHANGES = ("replay", "cancel", "revive", "erase", "token", "targets", "subscriptions", "recover")


@pytest.fixture
def changes() -> Iterator[Changes]:
    """Commands that find a held router here as soon as one of them may change something."""
    with ExitStack() as stack:

        def with_router(router: Router, rules: Path) -> Router:
            running = list[None]()

            def called(command: str, *args: str | Path) -> Ran:
                if command in CHANGES and not running:
                    running.append(stack.enter_context(held_router(rules)))
                return router(command, *args)

            return called

        yield with_router


class Listening(NamedTuple):
    """A sink that keeps what it receives."""

    url: str
    seen: list[Received]


MakeSink = Callable[..., Listening]


@pytest.fixture
def sink() -> Iterator[MakeSink]:
    """Start sinks that answer the given statuses in turn."""
    servers: list[SinkServer] = []

    def make(*statuses: int) -> Listening:
        seen: list[Received] = []

        def keep(received: Received) -> str:
            seen.append(received)
            return as_line(received)

        server = SinkServer(0, statuses or (200,), lambda _: None, keep)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append(server)
        return Listening(f"http://127.0.0.1:{server.server_port}", seen)

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()
