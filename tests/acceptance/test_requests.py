"""Requests byte for byte, from a stranger's socket to what the store keeps of them."""

import base64
import hashlib
import hmac
import json
import re
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import CODE_KEY, environ

RULES = """
secrets: {code: {env: CODE_SECRET}, ada: {env: ADA}}
endpoints:
  code: {paths: [/code], provider: github, secrets: code}
  open: {paths: [/open], provider: github, verify: none}
  mail: {paths: [/mail], provider: sendgrid, verify: none}
  keyed:
    paths: [/keyed]
    provider: none
    verify: none
    dedupe: {key: "[payload.id, payload.type]"}
  ada: {paths: [/ada], provider: basic, secrets: ada}
rules:
  - id: pushed
    from: [code, open]
    events: push
    match: headers."x-team" == 'core'
    actions: {log: 'to {{ headers."x-team" }}.'}
  - {id: mailed, from: mail, events: bounce, actions: {log: bounced}}
"""
ADA = "ada:a-made-up-password"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rig, RouterProcess]]:
    folder = tmp_path_factory.mktemp("requests") / "router"
    rig = Rig(folder, RULES, environ() | {"ADA": ADA})
    with rig.router() as router:
        yield rig, router


def asked(rig: Rig, path: str, head: bytes, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """What is answered to these very bytes."""
    with socket.create_connection(("127.0.0.1", rig.listen), timeout=30) as link:
        start = f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n".encode()
        link.sendall(start + head + b"Connection: close\r\n\r\n" + body)
        with link.makefile("rb") as answer:
            reported = answer.read()
    first, *lines = reported.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return int(first.split()[1]), headers, reported.partition(b"\r\n\r\n")[2]


def kept(store: Path, delivery: str, what: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=5)) as db:
        return db.execute(what, (delivery,)).fetchall()


def delivery_of(body: bytes) -> str:
    return str(json.loads(body)["delivery"])


@pytest.mark.long
@pytest.mark.parametrize("path", ["/code", "/open"])
@pytest.mark.parametrize(("before", "after"), [(b"", b" "), (b"\t", b"\t"), (b"  \t", b" \t ")])
def test_blanks_around_header_values_change_nothing(
    running: tuple[Rig, RouterProcess], path: str, before: bytes, after: bytes
) -> None:
    """The signature, the event, the id, a condition and what is kept: each as without them."""
    rig, router = running
    number = before.hex() + after.hex() + path[1:]
    body = b'{"ref":"refs/heads/main","n":"%b"}' % number.encode()
    signature = hmac.new(CODE_KEY.encode(), body, hashlib.sha256).hexdigest()
    head = b"".join(
        b"%b:%b%b%b\r\n" % (name, before, value, after)
        for name, value in (
            (b"X-GitHub-Event", b"push"),
            (b"X-GitHub-Delivery", number.encode()),
            (b"X-Hub-Signature-256", b"sha256=" + signature.encode()),
            (b"X-Team", b"core"),
        )
    )
    status, _, said = asked(rig, path, head, body)
    assert status == 200, said
    id_ = delivery_of(said)
    found = "SELECT j.rule FROM jobs j JOIN deliveries d ON j.n >> 20 = d.n WHERE d.id = ?"
    assert kept(rig.store, id_, found) == [("pushed",)]
    [(meta,)] = kept(rig.store, id_, "SELECT meta FROM deliveries WHERE id = ?")
    assert re.search(rb"(?i)push[ \t]|core[ \t]|[ \t]push|[ \t]core", bytes(meta)) is None
    bare = head.replace(before, b"").replace(after, b"") if before else head.replace(after, b"")
    status, _, said = asked(rig, path, bare, body)
    assert (status, json.loads(said)["status"]) == (200, "duplicate")
    router.until(lambda: "to core." in router.output(), "the action to run")


@pytest.mark.long
def test_what_lacks_a_part_of_its_dedupe_key_is_new(running: tuple[Rig, RouterProcess]) -> None:
    rig, _ = running
    bodies = (b'{"no":1}', b'{"no":2}', b'{"id":1,"no":3}', b'{"id":1,"no":4}')
    whole = (b'{"id":1,"type":null,"no":5}', b'{"id":1,"type":null,"no":6}')
    said = [json.loads(asked(rig, "/keyed", b"", b)[2])["status"] for b in (*bodies, *whole)]
    assert said == ["accepted"] * 5 + ["duplicate"]


@pytest.mark.long
def test_an_unsigned_endpoint_takes_what_its_sender_sends(
    running: tuple[Rig, RouterProcess],
) -> None:
    """A batch of 1,000 events, and a large push."""
    rig, _ = running
    event = {"event": "bounce", "sg_event_id": "x", "email": "a@example.com", "pad": "x" * 1500}
    batch = json.dumps([event | {"sg_event_id": str(n)} for n in range(1000)]).encode()
    assert len(batch) > 1024**2
    status, _, said = asked(rig, "/mail", b"", batch)
    assert status == 200, said
    [(jobs,)] = kept(
        rig.store,
        delivery_of(said),
        "SELECT count(*) FROM jobs j JOIN deliveries d ON j.n >> 20 = d.n WHERE d.id = ?",
    )
    assert jobs == 1000
    pushed = b'{"pad":"%b"}' % (b"x" * 3 * 1024**2)
    assert asked(rig, "/open", b"X-GitHub-Event: push\r\n", pushed)[0] == 200


def test_basic_says_how_to_prove_oneself(running: tuple[Rig, RouterProcess]) -> None:
    rig, _ = running
    for head in (b"", b"Authorization: Basic " + base64.b64encode(b"ada:no") + b"\r\n"):
        status, headers, _ = asked(rig, "/ada", head, b"{}")
        assert (status, headers["www-authenticate"]) == (401, 'Basic realm="webhooks"')
    right = b"Authorization: Basic " + base64.b64encode(ADA.encode()) + b" \t\r\n"
    assert asked(rig, "/ada", right, b"{}")[0] == 200
    status, headers, _ = asked(rig, "/code", b"", b"{}")
    assert (status, "www-authenticate" in headers) == (401, False)


@pytest.mark.long
def test_wrong_tokens_lock_nobody_out(running: tuple[Rig, RouterProcess]) -> None:
    """From one address: the right token and who is logged in pass, wrong ones become slow."""
    rig, router = running
    token = Path(f"{rig.store}.token").read_text("ascii").strip()
    with httpx.Client(base_url=router.admin_url, trust_env=False, timeout=30) as client:

        def status(given: str) -> int:
            headers = {"authorization": f"Bearer {given}"}
            return client.get("/api/status", headers=headers).status_code

        assert client.post("/login", data={"token": token}).status_code == 303
        assert [status(f"wrong-{n}") for n in range(10)] == [401] * 10
        for n in range(2):
            began = time.monotonic()
            assert status(f"more-{n}") == 429
            assert time.monotonic() - began > 0.9
            assert status(token) == 200
            assert client.get("/rules").status_code == 200
        assert client.post("/login", data={"token": token}).status_code == 303
