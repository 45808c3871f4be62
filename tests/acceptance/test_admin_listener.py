"""A real router's admin listener: its whole table toured, and nothing told that must not be."""

import base64
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.acceptance.process import Rig, RouterProcess, free_ports
from tests.signing import signed

pytestmark = pytest.mark.long

SHOP = "8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54"
CANARIES = {f"c{n:02}": f"canary-{n:02}-sings-{'xyzvw'[n % 5] * 9}" for n in range(20)}
"""Secrets by name. The first are the endpoint's, three are tokens, the rest is sent somewhere."""
NASTY = (
    "\x1b[31mred\x1b[0m",
    'two\r\nlines: {"level":"error"}',
    "turned \u202e round \u2028 and \u2029 apart",
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "{0.__class__} {{ secret.c05 }} %s %n",
    "nul \x00 del \x7f c1 \x9b31m",
    '"}\n{"level":"info","event":"forged"}',
)

RULES = """
secrets:
{secrets}
targets:
  erp: {{url: "http://127.0.0.1:{echo}/erp", auth: {{bearer: c05}}, headers: {{X-Own: "{{{{ secret.c06 }}}}"}}}}
  crm: {{url: {{secret: crm_url}}, auth: {{basic: {{user: me, password: c07}}}}}}
  pay: {{url: "http://127.0.0.1:{echo}/pay", auth: {{header: {{X-Key: c08}}}}, sign: {{scheme: standard-webhooks, secrets: c09}}}}
endpoints:
  shop: {{id: {shop}, provider: shopify, secrets: [c00, c01]}}
rules:
  - {{id: erp, from: shop, actions: {{http: {{target: erp}}}}}}
  - {{id: crm, from: shop, actions: {{http: {{target: crm}}}}}}
  - {{id: pay, from: shop, actions: {{http: {{target: pay}}}}}}
  - id: told
    from: shop
    actions:
      shell: {{script: 'env; env >&2; exit 78', env: {{{shell}}}}}
  - {{id: said, from: shop, actions: {{log: "{{{{ payload.name }}}}"}}}}
  - {{id: looked, from: shop, match: payload.name == 'x', actions: {{log: x}}}}
"""  # noqa: E501 - YAML that is easier to read in lines of its own

TOKENS = {"viewer": "c02", "operator": "c03", "hidden": "c04"}
SERVER = """  admin:
    listen: 127.0.0.1:{admin}
    tokens:
      ann: {{secret: c02}}
      bob: {{secret: c03, role: operator}}
      eve: {{secret: c04, bodies: false}}
"""


@contextmanager
def echo() -> Iterator[int]:
    """A target that sends back whatever it was sent, in its answer's headers and body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", "0")))
            body = json.dumps({"path": self.path, **dict(self.headers)}).encode()
            self.send_response(400)
            self.send_header("x-sent", self.headers.get("authorization", "-"))
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Tour:
    """A router, and everything it has said."""

    def __init__(self, rig: Rig, router: RouterProcess) -> None:
        self.rig, self.router = rig, router
        self.client = httpx.Client(base_url=router.admin_url, trust_env=False, timeout=20)
        self.said: list[tuple[str, bytes]] = []
        local = Path(f"{rig.store}.token").read_text("ascii").strip()
        self.tokens = {"local": local, **{who: CANARIES[c] for who, c in TOKENS.items()}}

    def ask(self, method: str, path: str, who: str | None, **more: Any) -> httpx.Response:
        token = self.tokens.get(who or "", "wrong-token")
        headers = {"authorization": f"Bearer {token}"} if who else {}
        if path == "/api/signal":  # goes on for ever; it has tests of its own
            with self.client.stream(method, path, headers=headers) as answer:
                if answer.status_code != 200:
                    answer.read()
                return answer
        answer = self.client.request(method, path, headers=headers, **more)
        text = b"\n".join(n + b": " + v for n, v in answer.headers.raw) + answer.content
        self.said.append((f"{who} {method} {path}", text))
        return answer

    def send(self, name: str, topic: str, key: str) -> None:
        body = json.dumps({"id": 7, "name": name, NASTY[0]: NASTY[3]}).encode()
        id_ = f"id-{time.monotonic_ns()}"
        headers = signed("commerce", body, key.encode(), event=topic, delivery_id=id_)
        url = f"{self.router.url}/wh_{SHOP}"
        answer = httpx.post(url, content=body, headers=list(headers), trust_env=False)
        self.said.append((f"send {topic}", answer.content))

    def ended(self) -> bool:
        jobs = self.ask("GET", "/api/status", "viewer").json()["jobs"]
        return not any(jobs.get(s) for s in ("available", "running", "waiting"))


@pytest.fixture
def tour(tmp_path: Path) -> Iterator[Tour]:
    with echo() as port:
        spare = [c for c in CANARIES if c > "c09"]
        named = "\n".join(f"  {c}: {{env: {c.upper()}}}" for c in [*CANARIES, "crm_url"])
        shell = ", ".join(f'{c.upper()}: "{{{{ secret.{c} }}}}"' for c in spare)
        rules = RULES.format(secrets=named, echo=port, shop=SHOP, shell=shell)
        environ = {c.upper(): value for c, value in CANARIES.items()}
        environ["CRM_URL"] = f"http://127.0.0.1:{port}/crm-{CANARIES['c10']}"
        listen, admin = free_ports(2)
        rig = Rig(tmp_path / "router", rules, environ, listen=listen, admin=admin)
        text = rig.path.read_text("utf-8")
        head = f"  admin: 127.0.0.1:{admin}\n"
        assert head in text
        rig.path.write_text(text.replace(head, SERVER.format(admin=admin)), "utf-8")
        with rig.router() as router:
            made = Tour(rig, router)
            for number, nasty in enumerate(NASTY):
                made.send(nasty, f"orders/n{number} =cmd|'<b>\"", CANARIES["c00"])
            made.send("forged", "orders/paid", "not the secret")
            router.until(made.ended, "the end of all jobs", seconds=40)
            yield made
            made.client.close()


def routes(tour: Tour) -> list[tuple[str, str]]:
    """Every method and path of the application's own description, with ids that are there."""
    ids = {
        "delivery": tour.ask("GET", "/api/deliveries", "viewer").json()["deliveries"][0]["id"],
        "job": tour.ask("GET", "/api/jobs", "viewer").json()["jobs"][0]["id"],
        "generation": tour.ask("GET", "/api/status", "viewer").json()["generation"],
        "replay": "again",
        "erasure": "ers_01JZ0000000000000000000000",
        "endpoint": "shop",
    }
    reported = tour.ask("GET", "/api/openapi.json", "viewer").json()
    return [
        (method.upper(), path.format_map(ids))
        for path, by_method in reported["paths"].items()
        for method in by_method
    ]


def go_everywhere(tour: Tour) -> None:
    bodies = {
        "/api/replay": {"selector": {"rule": "erp"}, "name": "again"},
        "/api/cancel": {"selector": {"rule": "erp"}},
        "/api/revive": {"selector": {"rule": "told"}},
        "/api/remember": {"facts": {}},
        "/api/pause": {"target": "erp", "reason": NASTY[1]},
        "/api/resume": {"target": "erp"},
        "/api/recover": {"endpoint": "shop"},
    }
    for method, path in routes(tour):
        for who in (None, "wrong", "hidden", "viewer", "operator", "local"):
            tour.ask(method, path, who, json=bodies.get(path, {}) if method == "POST" else None)
            tour.ask(method, path, who, params={"no": "such"})
        tour.ask(method, path, "local", content=b'{"no": 1}' if method == "POST" else None)
    jobs = tour.ask("GET", "/api/jobs?limit=500", "viewer").json()["jobs"]
    for job in jobs:
        tour.ask("GET", f"/api/jobs/{job['id']}", "viewer")
    for one in tour.ask("GET", "/api/deliveries?limit=500", "viewer").json()["deliveries"]:
        for page in ("", "/body"):
            tour.ask("GET", f"/api/deliveries/{one['id']}{page}", "viewer")


def test_no_secret_is_reported_anywhere(tour: Tour) -> None:
    go_everywhere(tour)
    assert tour.router.stop() == 0, tour.router.output()
    tour.said.append(("log", tour.router.log.read_bytes()))
    whole = b"\n".join(text for _, text in tour.said)
    assert b"***" in whole  # what the targets and the script told was there to be masked
    found = [
        (name, where)
        for name, value in {**CANARIES, "local": tour.tokens["local"]}.items()
        for form in (value.encode(), base64.b64encode(f"me:{value}".encode()))
        for where, text in tour.said
        if form in text
    ]
    assert found == []


def test_names_that_strangers_choose_forge_nothing(tour: Tour) -> None:
    go_everywhere(tour)
    metrics = tour.ask("GET", "/metrics", None).text
    assert tour.router.stop() == 0, tour.router.output()
    for line in tour.router.log.read_text("utf-8").splitlines():
        reported = json.loads(line)
        assert reported["event"] != "forged"
        assert line.isascii()
        assert line.isprintable()
    labels = {
        label
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
        for label in sample.labels.values()
    }
    assert not [label for label in labels if re.search(r"[^\w./:+-]", label)]
    for where, text in tour.said:
        if "/body" in where:
            continue
        head = text.partition(b"{")[0]
        assert not re.search(rb"[\x00-\x08\x0b-\x1f]", text), where
        assert b"forged" not in head
        if "text/html" in head.decode("latin-1"):
            assert b"<script>alert" not in text


def test_every_change_left_its_line(tour: Tour) -> None:
    for path in ("/api/revive", "/api/replay"):
        answer = tour.ask("POST", path, "operator", json={"selector": {"rule": "told"}})
        assert answer.status_code == 200, answer.text
    lines = tour.ask("GET", "/api/audit", "viewer").json()["audit"]
    assert {(line["who"], line["peer"]) for line in lines} == {("bob", "127.0.0.1")}
    assert [line["verb"] for line in lines] == ["replay", "revive"]
    assert all(line["count"] >= 1 for line in lines)
    assert tour.ask("POST", "/api/replay", "viewer", json={}).status_code == 403
    assert tour.ask("GET", "/api/audit", "viewer").json()["audit"] == lines
