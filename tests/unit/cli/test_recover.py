"""`router recover` of a router whose senders are a real server that follows the interfaces."""

import io
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest

from router.providers import rsa
from tests.acceptance.process import free_ports
from tests.api_server import TOKEN, Answer, ApiServer, api_server
from tests.missed_api import Attempt
from tests.unit.cli.conftest import Changes, Ran, Router

RULES = """\
version: 1
server: {base_url: "https://hooks.example.com", admin: "127.0.0.1:1"}
secrets:
  hub: {env: HUB_SECRET}
  pay: {env: PAY_SECRET}
  token: {env: API_TOKEN}
  app_key: {env: APP_KEY}
endpoints:
  code:
    id: code-0123456789abcdef
    provider: github
    secrets: hub
    api: {base: {env: API_BASE}, token: token}
    recover: {hook: repos/octo/site/hooks}
  pay:
    id: pay-0123456789abcdef
    provider: stripe
    secrets: pay
    api: {base: {env: API_BASE}, token: token}
  poor: {id: poor-0123456789abcdef, provider: stripe, secrets: pay}
  lost: {id: lost-0123456789abcdef, provider: github, secrets: hub, api: {token: token}}
  shop: {id: shop-0123456789abcdef, provider: shopify, secrets: pay}
  app:
    id: app-0123456789abcdef
    provider: github
    secrets: hub
    api: {base: {env: API_BASE}, token: app_key, app: "123"}
    recover: {hook: app/hook}
rules:
  - {id: all, from: all, actions: {log: "{{ event }}"}}
"""


class Recover:
    """The command, with these rules; `now` is in Unix seconds."""

    def __init__(self, router: Router, rules: Path) -> None:
        self.router, self.rules, self.now = router, rules, int(time.time())

    def __call__(self, endpoint: str, *args: str) -> Ran:
        return self.router("recover", endpoint, *args, "-f", self.rules)

    def deliveries(self) -> list[dict[str, Any]]:
        ran = self.router("deliveries", "-f", self.rules, "--json")
        found: list[dict[str, Any]] = json.loads(ran.out)
        return found


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with api_server() as server:
        server.missed.hooks[0]["config"] = {
            "url": "https://hooks.example.com/wh_code-0123456789abcdef"
        }
        yield server


@pytest.fixture
def recover(
    router: Router,
    changes: Changes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    api: ApiServer,
) -> Recover:
    monkeypatch.setenv("API_TOKEN", TOKEN)
    monkeypatch.setenv("API_BASE", api.url)
    path = tmp_path / "rules.yaml"
    path.write_text(RULES.replace("127.0.0.1:1", f"127.0.0.1:{free_ports(1)[0]}"), "utf-8")
    return Recover(changes(router, path), path)


@pytest.mark.long
def test_fetched_events_are_deliveries(recover: Recover, api: ApiServer) -> None:
    api.missed.events = [{"id": "evt_1", "type": "invoice.paid", "created": recover.now - 60}]
    ran = recover("pay", "--yes")
    assert ran.code == 0, ran.err
    assert ran.out.endswith(": 1 fetched and stored\n")
    [delivery] = recover.deliveries()
    assert delivery["endpoint"] == "pay"
    assert delivery["events"] == ["invoice.paid"]
    assert delivery["flags"] == ["recovered"]
    assert delivery["verified_by"] == "token"
    shown = recover.router("show", delivery["id"], "-f", recover.rules).out
    assert "fetched from its sender's API with secret 'token'" in shown
    assert "all" in shown  # routed: it has a job
    again = recover("pay", "--yes")
    assert again.out.endswith(": 1 asked for before\n")
    assert len(recover.deliveries()) == 1


@pytest.mark.long  # the calls keep their pace
def test_the_plan(recover: Recover, api: ApiServer) -> None:
    api.missed.attempts = [Attempt(4, "guid-1", recover.now - 60, "timed out")]
    ran = recover("code", "--dry-run")
    assert ran.code == 0
    assert "1 missed delivery of 1 listed since" in ran.out
    assert ran.out.splitlines()[-1].split()[-2:] == ["push", "4"]
    plan = json.loads(recover("code", "--dry-run", "--json", "--since", "2h").out)
    assert (plan["missed"], plan["shown"][0]["id"]) == (1, "4")
    assert "1 missed delivery of 1" in recover("code", "--dry-run", "--yes").out
    assert not api.missed.redelivered


@pytest.mark.long  # the calls keep their pace
def test_redeliveries_are_asked_for(recover: Recover, api: ApiServer) -> None:
    api.missed.attempts = [Attempt(4, "guid-1", recover.now - 60, "timed out")]
    run = json.loads(recover("code", "--yes", "--json").out)
    assert (run["state"], run["requested"]) == ("done", 1)
    assert api.missed.redelivered == [4]
    audit = recover.router("audit", "-f", recover.rules).out
    assert re.search(r"router recover --since \S+ code\n", audit), audit


@pytest.mark.long
def test_an_app_proves_itself_by_its_private_key(
    recover: Recover, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pem = rsa.invent(random.Random(1).randbytes)
    monkeypatch.setenv("APP_KEY", pem.decode())
    recover("app", "--yes")
    [asked] = api.asked  # our server knows no apps, and refuses it
    token = asked.headers["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, rsa.public_of(pem), ["RS256"], issuer="123")
    assert claims["exp"] - claims["iat"] == 600
    assert asked.path == "/app/hook/deliveries?per_page=100"


def test_what_is_no_private_key(
    recover: Recover, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_KEY", "no-key-at-all-0123456789")
    ran = recover("app", "--yes")
    assert (ran.code, "secrets.app_key is no private key of an app" in ran.err) == (2, True)
    assert not api.asked


def test_a_private_key_is_no_token(
    recover: Recover, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_KEY", rsa.invent(random.Random(1).randbytes).decode())
    args = ("octo/site", "push", "--endpoint", "app", "-f", recover.rules)
    ran = recover.router("dispatch-event", *args)
    assert (ran.code, "is an app's private key, no token" in ran.err) == (2, True)
    assert not api.asked


def test_an_expired_token(recover: Recover, api: ApiServer) -> None:
    expired = {"error": {"message": "Expired API Key provided: " + TOKEN}}
    api.script.append(Answer(401, expired))
    ran = recover("pay", "--yes")
    assert ran.code == 1
    assert "the token is not accepted, perhaps it has expired" in ran.err
    assert "a restricted key (Dashboard, Developers, API keys)" in ran.err
    assert TOKEN not in ran.out + ran.err


@pytest.mark.parametrize(
    ("endpoint", "args", "words"),
    [
        ("shop", (), "Shopify has no API that lists what it could not deliver; GitHub"),
        ("poor", (), "endpoint poor names no token: add `api: {token: SECRET}`"),
        ("lost", (), "add `recover: {hook: repos/{owner}/{repo}/hooks or orgs"),
        ("cod", (), "did you mean 'code'"),
        ("pay", ("--since", "soon"), "soon"),
    ],
)
def test_what_cannot_be_asked(
    recover: Recover, api: ApiServer, endpoint: str, args: tuple[str, ...], words: str
) -> None:
    ran = recover(endpoint, "--yes", *args)
    assert ran.code == 2
    assert words in ran.err
    assert not api.asked


def test_nobody_is_asked_without_a_terminal(
    recover: Recover, api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    ran = recover("pay")
    assert (ran.code, "pass --yes or --dry-run" in ran.err) == (2, True)
    assert not api.asked
