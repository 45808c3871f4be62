"""`router serve` before it serves, and on a terminal."""

import os
import pty
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.process import PATIENCE_S, ROOT, free_ports
from tests.unit.cli.conftest import Router


def test_every_missing_secret_is_reported_at_once(
    router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SHOP_SECRET", "HUB_SECRET"):
        monkeypatch.delenv(name)
    ran = router("serve", rules)
    assert ran.code == 1
    first, shop, hub, mail, last = ran.err.splitlines()
    assert first == "router: 3 secrets are missing or unusable:"
    assert shop == f"  {rules}:3:3: secrets.shop: environment variable SHOP_SECRET is not set"
    assert hub == f"  {rules}:4:3: secrets.hub: environment variable HUB_SECRET is not set"
    assert mail.startswith(f"  {rules}:5:3: secrets.mail: file {rules.parent / 'mail.pem'} cannot")
    assert "router serve --dev" in last
    rules.write_text(rules.read_text("utf-8") + "server: {store: {url: {env: NO_DB}}}\n", "utf-8")
    lines = router("serve", rules).err.splitlines()
    assert lines[0] == "router: 4 secrets are missing or unusable:"
    assert lines[4] == "  server.store: environment variable NO_DB is not set"
    monkeypatch.setenv("ROUTER_STORE", "postgresql://h/db")
    assert "NO_DB" not in router("serve", rules).err


def test_variables_of_settings_and_of_secrets_are_reported_in_one_run(
    router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HUB_SECRET")
    text = rules.read_text("utf-8")
    rules.write_text(text + "server: {base_url: {env: NO_SUCH_URL}}\n", "utf-8")
    ran = router("serve", rules)
    assert ran.code == 1
    assert f"{rules}:15:26: error variable-not-set: " in ran.err
    assert "NO_SUCH_URL" in ran.err
    assert f"{rules}:4:14: error variable-not-set: secrets.hub: environment" in ran.err
    assert "SHOP_SECRET" not in ran.err
    rules.write_text(text + "rulez: []\n", "utf-8")
    assert "HUB_SECRET" not in router("serve", rules).err


def test_an_unusable_secret_is_not_answered_with_dev(router: Router, rules: Path) -> None:
    (rules.parent / "mail.pem").write_text("junk", "utf-8")
    ran = router("serve", rules)
    assert ran.err.splitlines()[0] == "router: a secret is missing or unusable:"
    assert "--dev" not in ran.err


def serve(rules: Path, listen: int, admin: int) -> list[str]:
    addresses = ("--listen", f"127.0.0.1:{listen}", "--admin", f"127.0.0.1:{admin}")
    return [sys.executable, "-m", "router", "serve", "--dev", str(rules), *addresses]


@pytest.mark.long
def test_a_taken_port_is_one_clear_message(rules: Path) -> None:
    """And nothing else: what had started was ended before its store was closed."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        (admin,) = free_ports(1)
        port = taken.getsockname()[1]
        ran = subprocess.run(
            serve(rules, port, admin), cwd=ROOT, capture_output=True, text=True, check=False
        )
    assert ran.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: the address is in use" in ran.stderr
    assert "store failed" not in ran.stderr
    assert '"level":"error"' not in ran.stderr


@pytest.mark.parametrize("more", [{}, {"NO_COLOR": "1"}])
@pytest.mark.long
def test_a_terminal_shows_lines_for_people(more: dict[str, str], rules: Path) -> None:
    listen, admin = free_ports(2)
    leader, follower = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environ = {**plain, "TERM": "xterm", **more}
    process = subprocess.Popen(
        serve(rules, listen, admin), cwd=ROOT, env=environ, stdin=follower, stderr=follower
    )
    os.close(follower)
    try:
        seen = read_until(leader, "Paste into another terminal:")
        assert "ready listen=" in seen, "the server has made its secrets and accepts connections"
        subprocess.run(
            [
                *(sys.executable, "-m", "router", "send", "-f", str(rules), "shop", "orders/paid"),
                *("--dev", "--listen", f"127.0.0.1:{listen}"),
            ],
            cwd=ROOT,
            check=True,
            capture_output=True,
        )
        seen = read_until(leader, "log")
    finally:
        process.terminate()
        assert process.wait(PATIENCE_S) == 0
        os.close(leader)
    assert "shop        orders/paid" in seen
    assert "accepted" in seen
    assert ("\x1b[32m" in seen) is (not more)
    assert "{" not in seen


def read_until(descriptor: int, word: str) -> str:
    """What the terminal shows, up to a word; a process that ends before it is an error."""
    seen = b""
    while word.encode() not in seen:
        seen += os.read(descriptor, 65_536)
    return seen.decode()


@pytest.mark.parametrize("option", ["--listen", "--admin"])
@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "[::]"])  # noqa: S104 - refused
def test_dev_listens_on_this_machine_only(
    router: Router, rules: Path, option: str, host: str
) -> None:
    """Its secrets are invented and its admin listener asks for no token."""
    ran = router("serve", "--dev", rules, option, f"{host}:8765")
    assert (ran.code, ran.out) == (2, "")
    assert f"{host}:8765 ({option} or ROUTER_{option[2:].upper()}) is open beyond it" in ran.err
    assert "127.0.0.1:8765" in ran.err


def test_dev_is_not_opened_by_a_variable(
    router: Router, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_LISTEN", "0.0.0.0:8765")
    assert router("serve", "--dev", rules).code == 2
