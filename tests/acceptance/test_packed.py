"""Bodies that come packed: proved and stored as sent, read, shown and passed on unpacked."""

import base64
import gzip
import hashlib
import hmac
import json
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.acceptance.process import Rig, RouterProcess, called
from tests.acceptance.sink import Sink

pytestmark = pytest.mark.long

packed = partial(gzip.compress, mtime=0)
KEY = "a-secret-of-some-length"
RULES = """
secrets: {{key: {{env: KEY}}}}
providers:
  batch: {{verify: {{scheme: none}}, split: 100, event: {{field: kind}}}}
endpoints:
  signed:
    {{paths: /signed, provider: hmac, secrets: key, verify: {{header: x-sig}}, body_max: 1KiB}}
  token: {{paths: /token, provider: token, secrets: key, verify: {{field: key}}, dedupe: body}}
  open: {{paths: /open, provider: batch, verify: none, body_max: 1KiB}}
  hidden:
    paths: /hidden
    provider: batch
    verify: none
    redact: {{when: stored, fields: [payload.mail]}}
  any: {{paths: /any, provider: token, secrets: key, methods: [GET, PUT]}}
  bare: {{paths: /bare, provider: batch, verify: none, methods: [GET]}}
rules:
  - id: call
    from: [signed, token]
    match: payload.n > 0
    actions: {{http: {{url: "{sink}/got"}}}}
  - id: each
    from: [open, hidden]
    match: payload.n > 0
    actions: {{http: {{url: "{sink}/each"}}}}
  - id: asked
    from: [any, bare]
    match: query.x == '1'
    actions: {{http: {{url: "{sink}/asked"}}}}
"""
PLAIN = b'{"n": 1, "text": "' + b"x" * 900 + b'"}'
PACKERS = {
    "gzip": ("gzip", packed),
    "gzip in two parts": ("gzip", lambda b: packed(b[:9]) + packed(b[9:])),
    "GZIP": ("GZIP", packed),
    "deflate": ("deflate", zlib.compress),
    "deflate without a head": ("deflate", lambda b: zlib.compress(b, wbits=-15)),
}
ODD = {
    "no gzip": ("gzip", b"\x1f\x8b\x08broken", "unparsed"),
    "cut gzip": ("gzip", packed(PLAIN)[:-4], "unparsed"),
    "gzip and more": ("gzip", packed(PLAIN) + b"more", "unparsed"),
    "deflate and more": ("deflate", zlib.compress(PLAIN) + b"more", "unparsed"),
    "over 8 times": ("gzip", packed(b"[" + b" " * 8 * 1024 + b"]"), "too_complex"),
    "no JSON": ("gzip", packed(b"{"), "unparsed"),
}
REFUSED = [["br"], ["zstd"], ["gzip, gzip"], ["gzip", "gzip"], ["identity", "gzip"], ["x-gzip"]]


@pytest.fixture
def sink() -> Iterator[Sink]:
    with Sink() as sink:
        yield sink


@pytest.fixture
def rig(tmp_path: Path, sink: Sink) -> Rig:
    rig = Rig(tmp_path / "router", RULES.format(sink=f"http://127.0.0.1:{sink.port}"))
    rig.environ["KEY"] = KEY
    return rig


@pytest.fixture
def router(rig: Rig) -> Iterator[RouterProcess]:
    with rig.router() as router:
        yield router
        assert router.stop() == 0


def sent(router: RouterProcess, path: str, body: bytes, *codings: str) -> httpx.Response:
    proof = hmac.new(KEY.encode(), body, hashlib.sha256).hexdigest()
    headers = [("x-sig", proof), ("content-type", "application/json")]
    headers += [("content-encoding", coding) for coding in codings]
    return httpx.post(f"{router.url}/{path}", content=body, headers=headers, trust_env=False)


def shown(rig: Rig, answer: httpx.Response) -> dict[str, object]:
    assert answer.status_code == 200, answer.text
    code, out, err = called(rig, "show", answer.json()["delivery"], "--json")
    assert code == 0, err
    return dict(json.loads(out)["delivery"])


def test_packed_bodies_are_read_as_plain_ones_and_passed_on_plain(
    rig: Rig, router: RouterProcess, sink: Sink
) -> None:
    ids = {}
    for name, (coding, pack) in PACKERS.items():
        answer = sent(router, "signed", pack(PLAIN), coding)
        ids[name] = answer.json()["delivery"]
        found = shown(rig, answer)
        assert found["flags"] == ["packed"], name
        assert base64.b64decode(str(found["body_base64"])) == pack(PLAIN)
        assert sent(router, "signed", pack(PLAIN), coding).status_code == 200
    router.until(lambda: len(sink.received) >= len(PACKERS), "calls")
    for call in sink.received:
        assert call.body == PLAIN
        assert "content-encoding" not in call.headers
    for id_ in ids.values():
        code, out, err = called(rig, "show", id_)
        assert (code, '"n": 1' in out) == (0, True), err
        code, out, err = called(rig, "explain", id_)
        assert (code, "payload.n" in out) == (0, True), err


@pytest.mark.parametrize("name", ODD)
def test_what_cannot_be_unpacked_is_stored_as_sent(
    rig: Rig, router: RouterProcess, name: str
) -> None:
    coding, body, state = ODD[name]
    assert shown(rig, sent(router, "signed", body, coding))["state"] == state
    unsigned = sent(router, "open", body, coding)
    assert unsigned.status_code == (413 if state == "too_complex" else 200)
    if state == "too_complex":
        assert unsigned.json() == {"error": "too_large"}


def test_other_codings_get_415_and_none_is_none(rig: Rig, router: RouterProcess) -> None:
    for codings in REFUSED:
        assert sent(router, "signed", packed(PLAIN), *codings).status_code == 415, codings
    for codings in ([""], ["identity"], ["identity", ""]):
        assert shown(rig, sent(router, "signed", PLAIN, *codings))["flags"] == []
    assert sent(router, "signed", packed(PLAIN) + b"x" * 1024, "gzip").status_code == 413


def test_the_proof_is_over_the_bytes_as_sent(router: RouterProcess) -> None:
    proof = hmac.new(KEY.encode(), PLAIN, hashlib.sha256).hexdigest()
    answer = httpx.post(
        f"{router.url}/signed",
        content=packed(PLAIN),
        headers={"x-sig": proof, "content-encoding": "gzip"},
        trust_env=False,
    )
    assert answer.status_code == 401


def test_a_secret_in_a_packed_body_is_stored_nowhere(
    rig: Rig, router: RouterProcess, sink: Sink
) -> None:
    body = json.dumps({"n": 1, "key": KEY}).encode()
    token = sent(router, "token", packed(body), "gzip")
    mail = json.dumps([{"n": 1, "mail": "ann@example.com"}]).encode()
    hidden = sent(router, "hidden", packed(mail), "gzip")
    for answer, left in ((token, "[removed]"), (hidden, "[redacted]")):
        found = shown(rig, answer)
        assert "packed" not in found["flags"]  # type: ignore[operator]
        assert "content-encoding" not in dict(found["headers"])  # type: ignore[call-overload]
        assert left in str(found["body"])
    router.until(lambda: len(sink.received) == 2, "calls")


def test_one_event_of_a_packed_batch_is_erased(rig: Rig, router: RouterProcess) -> None:
    batch = json.dumps([{"n": 1, "who": "ann"}, {"n": 2, "who": "bob"}]).encode()
    answer = sent(router, "open", packed(batch), "gzip")
    code, _, err = called(rig, "erase", "--where", "payload.who == 'ann'", "--yes")
    assert code == 0, err
    assert json.loads(str(shown(rig, answer)["body"])) == [None, {"n": 2, "who": "bob"}]


def test_an_endpoint_takes_the_methods_that_it_names(router: RouterProcess, sink: Sink) -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    for method, status in (("GET", 200), ("PUT", 200), ("POST", 405)):
        answer = httpx.request(method, f"{router.url}/any?x=1", headers=headers, trust_env=False)
        assert answer.status_code == status, method
    assert answer.headers["allow"] == "GET, PUT"
    assert httpx.get(f"{router.url}/bare?x=1", trust_env=False).status_code == 200  # no JSON
    router.until(lambda: len(sink.received) == 3, "calls")
