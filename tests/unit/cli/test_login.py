"""`router login`, `use`, `logout`: asked of a router that is a small server here."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Router

WHO = {"name": "anna", "role": "operator", "bodies": True, "version": "1", "base_url": "http://x"}


class Door(BaseHTTPRequestHandler):
    """Knows one token, and answers one route."""

    token = ""
    asked: list[str]

    def do_GET(self) -> None:
        given = self.headers.get("authorization", "").removeprefix("Bearer ")
        self.asked.append(given)
        right = given == self.token and self.path.startswith("/api/whoami")
        body = json.dumps(WHO if right else {"title": "no", "status": 401}).encode()
        self.send_response(200 if right else 401)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def door() -> Iterator[tuple[str, type[Door]]]:
    handler = type("OneDoor", (Door,), {"token": "made-up-token-1", "asked": []})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()
        thread.join()


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "router" / "contexts.json"


def test_a_token_from_a_pipe_is_tried_and_kept(
    router: Router,
    settings: Path,
    door: tuple[str, type[Door]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, handler = door
    monkeypatch.setattr(sys, "stdin", StringIO("made-up-token-1\n"))
    ran = router("login", url, "--name", "prod")
    assert (ran.code, ran.out) == (0, f"prod is in use: {url}, as anna (operator)\n")
    assert handler.asked == ["", "made-up-token-1"], (
        "without a token first: a router with --dev needs none"
    )
    assert "made-up-token-1" not in ran.out + ran.err
    assert "made-up-token-1" in settings.read_text("utf-8")
    listed = router("use", "--json")
    assert json.loads(listed.out) == [
        {"name": "local", "server": None, "in_use": False},
        {"name": "prod", "server": url, "in_use": True},
    ]
    handler.token = "made-up-token-2"
    asked = router("deliveries")
    assert asked.code == 1
    assert asked.err.startswith(f"at prod, {url}\n")
    assert "`router login` again" in asked.err
    assert router("use", "local").out == "in use: local, on this machine\n"
    assert router("logout", "prod").out == "prod is forgotten, its token too\n"
    assert "made-up-token-1" not in settings.read_text("utf-8")


def test_a_router_without_tokens_is_kept_without_one(
    router: Router, settings: Path, door: tuple[str, type[Door]]
) -> None:
    url, handler = door
    handler.token = ""
    assert router("login", url).code == 0
    assert '"token"' not in settings.read_text("utf-8")


def test_a_wrong_token_is_not_kept(
    router: Router,
    settings: Path,
    door: tuple[str, type[Door]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROUTER_TOKEN", "wrong")
    ran = router("login", door[0])
    assert ran.code == 1
    assert "does not accept the token" in ran.err
    assert not settings.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["login", "ops.example.net"], "login takes a URL like https://"),
        (["login", "http://ops.example.net"], "in clear: use https, or --insecure"),
        (["login", "https://ops.example.net", "--name", "local"], "give --name NAME"),
        (["use", "nobody"], "no router is known as 'nobody'"),
        (["logout"], "no router elsewhere is in use"),
    ],
)
def test_what_cannot_be_is_said(
    router: Router, settings: Path, words: list[str], said: str
) -> None:
    ran = router(*words)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert not settings.exists()
