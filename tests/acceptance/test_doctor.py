"""`router doctor` beside a real router: the way there, what it holds, and what it refused."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.process import ROOT, Rig, RouterProcess, free_ports
from tests.api_server import Answer, api_server
from tests.signing import signed

pytestmark = pytest.mark.long

SECRET = "a shop secret of some length"
RULES = """\
secrets:
  shop: {env: SHOP_SECRET}
endpoints:
  shop: {id: shop-0123456789abcdef, provider: shopify, secrets: shop, api_version: 2024-01}
rules:
  - {id: paid, from: shop, events: orders/paid, actions: {log: "{{ payload.id }}"}}
"""
PATH = "/wh_shop-0123456789abcdef"
OWN_RULES = """\
providers:
  acme: {verify: {scheme: hmac, header: X-Acme-Signature}, event: {header: X-Acme-Event}}
endpoints:
  pay: {id: pay-0123456789abcdef, provider: acme, verify: none}
  code: {id: code-0123456789abcdef, provider: github, verify: none}
rules:
  - {id: paid, from: pay, events: payment.ok, actions: {log: paid}}
  - {id: runs, from: code, events: [push, workflow_run.completed], actions: {log: ran}}
"""


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    listen, admin = free_ports(2)
    server = f"  base_url: http://127.0.0.1:{listen}\n  refusals: {{bodies: true}}\n"
    environ = {"SHOP_SECRET": SECRET}
    return Rig(tmp_path / "r", RULES, environ, server=server, listen=listen, admin=admin)


@pytest.fixture
def router(rig: Rig) -> Iterator[RouterProcess]:
    with rig.router() as running:
        yield running


def doctor(rig: Rig, *args: str) -> tuple[int, Any]:
    """Its exit code and its JSON."""
    ran = subprocess.run(
        [sys.executable, "-m", "router", "doctor", "-f", str(rig.path), "--json", *args],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **rig.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert SECRET not in ran.stdout + ran.stderr
    return ran.returncode, json.loads(ran.stdout) if ran.stdout else ran.stderr


def run(rig: Rig, *args: str) -> str:
    """What another command prints."""
    return subprocess.run(
        [sys.executable, "-m", "router", *args, "-f", str(rig.path)],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **rig.environ},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def checked(rig: Rig, *args: str) -> dict[str, Any]:
    return {check["name"]: check for check in doctor(rig, *args)[1]["checks"]}


def deliver(url: str, came: bytes | None = None, **headers: str) -> httpx.Response:
    """A signed delivery, `came` in place of its body."""
    body = b'{"id":1,"note":"a/b"}'
    id_ = f"w-{came!r}-{headers}"
    proven = signed("commerce", body, SECRET.encode(), event="orders/paid", delivery_id=id_)
    sent = {**dict(proven), **headers}
    return httpx.post(url + PATH, content=body if came is None else came, headers=sent)


def test_a_server_in_good_health(rig: Rig, router: RouterProcess) -> None:
    found = checked(rig)
    assert found["server"]["verdict"] == "ok"
    assert "401 unauthorized" in found["address"]["says"]
    assert found["heard"]["says"] == "nothing has come yet"
    assert "orders/paid" in found["topics"]["says"]
    assert deliver(router.url).status_code == 200
    found = checked(rig)
    assert (found["heard"]["verdict"], found["topics"]["verdict"]) == ("ok", "ok")
    # Its own knock of a moment ago is no sender's failure.
    assert found["refusals"]["verdict"] == "ok"
    # Only the loopback base_url is wrong here.
    assert [n for n, c in found.items() if c["verdict"] == "problem"] == ["base_url"]


def test_a_refused_request_is_explained(rig: Rig, router: RouterProcess) -> None:
    assert deliver(router.url, b'{"id": 1, "note": "a/b"}').status_code == 401
    assert "bad_signature" in checked(rig)["refusals"]["says"]
    code, reported = doctor(rig, "shop", "--refused", "last")
    assert code == 1
    assert [f["code"] for f in reported["findings"]] == ["body_parsed"]
    assert reported["reason"] == "bad_signature"
    assert doctor(rig, "--refused", "ref_1")[1] == reported
    assert doctor(rig, "--refused", "ref_9")[0] == 1


def test_of_a_password_that_was_removed_the_verdict_is_left(tmp_path: Path) -> None:
    listen, admin = free_ports(2)
    mail = "secrets:\n  mail: {env: MAIL_SECRET}\nendpoints:\n"
    mail += "  mail: {id: mail-0123456789abcdef, provider: postmark, secrets: mail}\n"
    mail += 'rules:\n  - {id: lost, from: mail, events: Bounce, actions: {log: "lost"}}\n'
    server = "  refusals: {bodies: true}\n"
    environ = {"MAIL_SECRET": "router:a password of some length"}
    rig = Rig(tmp_path / "r", mail, environ, server=server, listen=listen, admin=admin)
    with rig.router() as running:
        url = f"{running.url}/wh_mail-0123456789abcdef"
        assert httpx.post(url, content=b"{}", auth=("router", "another")).status_code == 401
        reported = doctor(rig, "mail", "--refused", "last")[1]
        assert [found["code"] for found in reported["findings"]] == ["hidden"]
        assert reported["hint"] == "wrong user or password"


def test_what_doctor_asks_is_no_refusal(rig: Rig, router: RouterProcess) -> None:
    """Neither of itself, nor of others who look, nor what `--refused last` means."""
    assert deliver(router.url, b"other").status_code == 401
    for _ in range(3):
        says = checked(rig)["refusals"]["says"]
        assert says.startswith("1 refused since the last delivery, the newest bad_signature")
    refused = run(rig, "deliveries", "--refused", "--json")
    assert [r["reason"] for r in json.loads(refused)] == ["bad_signature"]
    assert doctor(rig, "shop", "--refused", "last")[1]["reason"] == "bad_signature"


def test_what_doctor_asks_of_an_unsigned_endpoint_is_none_either(rig: Rig) -> None:
    rig.write(RULES.replace("secrets: shop, api", "verify: none, api"))
    with rig.router() as router:
        assert "405 method_not_allowed" in checked(rig)["address"]["says"]
        assert checked(rig)["refusals"]["verdict"] == "ok"
        assert json.loads(run(rig, "deliveries", "--refused", "--json")) == []
        assert httpx.request("DELETE", router.url + PATH).status_code == 405
        assert "a redirect" in checked(rig)["refusals"]["fix"]


def test_only_a_refusal_that_is_kept_is_to_be_looked_at(rig: Rig) -> None:
    rig.server = rig.server.replace("true", "false")
    rig.write(RULES)
    with rig.router() as router:
        deliver(router.url, b"other")
        assert "refusals: {bodies: true}" in checked(rig)["refusals"]["fix"]
        rig.server = rig.server.replace("false", "true")
        rig.write(RULES)
        router.until(lambda: "is kept: say" not in str(doctor(rig, "--refused", "last")), "reload")
        deliver(router.url, b"another")
        assert checked(rig)["refusals"]["fix"].startswith("`router doctor shop --refused ref_1`")
    assert doctor(rig)[0] == 1


def test_events_that_came_are_known_by_name_and_action(rig: Rig) -> None:
    rig.write(OWN_RULES)
    with rig.router() as router:
        for path, event, body in (
            ("/wh_pay-0123456789abcdef", "payment.ok", b"{}"),
            ("/wh_code-0123456789abcdef", "workflow_run", b'{"action":"requested"}'),
        ):
            headers = {"X-Acme-Event": event, "X-GitHub-Event": event}
            assert httpx.post(router.url + path, content=body, headers=headers).is_success
        found = {(c["endpoint"], c["name"]): c for c in doctor(rig)[1]["checks"]}
    assert found["pay", "topics"]["says"] == "every event that rules name has come"
    assert found["code", "topics"]["says"] == (
        "not among the stored events: push, workflow_run.completed (the last events: workflow_run)"
    )
    wanted = "select at the sender: Pushes (push), Workflow runs (workflow_run)"
    assert found["code", "events"]["says"] == wanted
    assert wanted in found["code", "subscription"]["fix"]


def test_refused_bodies_are_kept_only_where_the_file_says_so(rig: Rig) -> None:
    rig.server = rig.server.replace("true", "false")
    rig.write(RULES)
    with rig.router() as router:
        deliver(router.url, b"other")
        code, said = doctor(rig, "--refused", "last")
    assert code == 1
    assert "refusals: {bodies: true}" in said
    assert "the newest refusal was bad_signature" in said


def test_a_sender_of_another_version(rig: Rig, router: RouterProcess) -> None:
    deliver(router.url, **{"X-Shopify-API-Version": "2019-01"})
    found = checked(rig)["versions"]
    assert (found["verdict"], found["says"]) == (
        "problem",
        "1 of the last 1 deliveries have another API version",
    )


def test_no_server(rig: Rig) -> None:
    code, reported = doctor(rig)
    found = {check["name"]: check for check in reported["checks"]}
    assert code == 1
    assert "no server runs" in found["server"]["says"]
    assert "nothing listens" in found["address"]["says"]


def test_a_secret_that_only_the_server_has(rig: Rig, router: RouterProcess) -> None:
    del rig.environ["SHOP_SECRET"]
    found = checked(rig)["secret shop"]
    assert (found["verdict"], "the running server has it" in found["says"]) == ("not checked", True)


def test_a_server_elsewhere(rig: Rig, router: RouterProcess) -> None:
    """Its refusals are told through its listener, its store is not read."""
    deliver(router.url, b"other")
    rig.environ["ROUTER_TOKEN"] = Path(f"{rig.store}.token").read_text("ascii").strip()
    found = checked(rig, "--server", router.admin_url)
    assert found["server"]["verdict"] == "ok"
    assert found["heard"]["says"] == "the store of a server elsewhere is not read"
    assert "bad_signature" in found["refusals"]["says"]
    code, reported = doctor(rig, "--refused", "last", "--server", router.admin_url)
    assert (code, [f["code"] for f in reported["findings"]]) == (1, ["secret_wrong"])


def test_other_rules_than_the_server_has(rig: Rig, router: RouterProcess) -> None:
    other = rig.folder / "other.yaml"
    other.write_text(rig.path.read_text("utf-8").replace("orders/paid", "orders/create"), "utf-8")
    found = checked(rig, "-f", str(other))
    assert "other rules" in found["server"]["says"]


def test_the_admin_pages_at_the_address(rig: Rig) -> None:
    rig.server = rig.server.replace(str(rig.listen), str(rig.admin))
    rig.write(RULES)
    with rig.router():
        found = checked(rig)["address"]
    assert "the router's admin pages answer there" in found["says"]


def test_somebody_else_at_the_address(rig: Rig) -> None:
    with api_server() as page:
        rig.server = f"  base_url: {page.url}\n"
        rig.write(RULES)
        page.script.append(Answer(301, "", {"Location": "https://hooks.example.com/"}))
        found = checked(rig)["address"]
        assert "redirected (301) to https://hooks.example.com/" in found["says"]
        assert "do not follow redirects" in found["fix"]


def test_subscriptions_made_from_here(rig: Rig) -> None:
    with api_server() as api:
        rig.environ["TOKEN"] = "shpat-0123456789abcdef"
        api_of = f"api: {{base: '{api.url}', token: token}}, "
        rules = RULES.replace("secrets: shop,", f"secrets: shop, {api_of}")
        rules = rules.replace("secrets:\n", "secrets:\n  token: {env: TOKEN}\n", 1)
        rig.write(rules)
        assert "by hand" in checked(rig)["subscription"]["says"]
        create = ["subscriptions", "create", "shop", "-f", str(rig.path), "--from-rules", "--yes"]
        with rig.router("--hold"):
            subprocess.run(
                [sys.executable, "-m", "router", *create],
                cwd=ROOT,
                env={"PATH": os.environ["PATH"], **rig.environ},
                check=True,
                capture_output=True,
            )
        assert checked(rig)["subscription"]["verdict"] == "ok"
        rig.write(rules.replace("events: orders/paid", "events: [orders/paid, refunds/create]"))
        assert "refunds/create" in checked(rig)["subscription"]["says"]
        rig.server = rig.server.replace("127.0.0.1", "localhost")
        rig.write(rules)
        assert "another address" in checked(rig)["subscription"]["says"]
