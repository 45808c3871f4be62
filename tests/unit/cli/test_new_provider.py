"""`router new provider`: the scheme that fits is found, and the secret is never shown."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest

from router.cli.captured_request import read_captured
from router.config import load
from router.errors import UsageError
from tests.captured import as_json
from tests.unit.cli.conftest import Router
from tests.unit.providers.makers import SENDERS, a_delivery, a_provider, invented

REST = """
version: 1
secrets: {acme: {env: ACME}}
endpoints: {acme: {id: 8c1f0e7a5b6d4c3e9f2a1b0c7d8e6f54, provider: acme, secrets: acme}}
rules: [{id: r, from: all, actions: [{log: x}]}]
"""


@pytest.fixture
def captured(tmp_path: Path) -> tuple[Path, Path]:
    """A delivery of Stripe as JSON, and the file of its secret."""
    provider = a_provider("stripe")
    file, secret = tmp_path / "captured.json", tmp_path / "secret"
    file.write_text(json.dumps(as_json(a_delivery(provider))))
    secret.write_bytes(invented(provider).verify + b"\n")
    return file, secret


def test_a_definition_that_fits(router: Router, captured: tuple[Path, Path]) -> None:
    file, secret = captured
    ran = router("new", "provider", "acme", "--from", file, "--secret-file", secret)
    assert ran.code == 0
    assert "the secret fits: scheme hmac, in Stripe-Signature" in ran.err
    assert "`provider: stripe` knows it already" in ran.err
    assert "separator: ','" in ran.out
    assert secret.read_text().strip() not in ran.out + ran.err
    found = load(REST + ran.out, path="r.yaml", env={})
    assert found.diagnostics == ()


def test_of_those_that_show_a_password_the_one_that_it_looks_like_is_named(
    router: Router, captured: tuple[Path, Path]
) -> None:
    file, secret = captured
    provider = a_provider("postmark")
    file.write_text(json.dumps(as_json(a_delivery(provider))))
    secret.write_bytes(invented(provider).verify)
    ran = router("new", "provider", "acme", "--from", file, "--secret-file", secret)
    assert ran.err.count("knows it already") == 1
    assert "`provider: postmark`" in ran.err


def test_the_id_is_the_one_beside_the_event(router: Router, captured: tuple[Path, Path]) -> None:
    """That of what the event is about stays the same from one event to the next."""
    file, _ = captured
    file.write_text(json.dumps(as_json(a_delivery(a_provider("trello"), "updateCard"))))
    ran = router("new", "provider", "acme", "--from", file, "--json")
    assert json.loads(ran.out)["definition"]["id"] == {"field": "action.id"}


def test_the_wrong_secret_fits_nothing(router: Router, captured: tuple[Path, Path]) -> None:
    file, secret = captured
    secret.write_text("another-secret")
    ran = router("new", "provider", "acme", "--from", file, "--secret-file", secret)
    assert ran.code == 1
    assert "no scheme fits" in ran.err
    assert "# a guess" in ran.out
    assert "another-secret" not in ran.out + ran.err


@pytest.mark.parametrize("name", SENDERS)
def test_a_sender_that_is_built_in_is_known_by_its_looks(
    router: Router, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "captured.json"
    file.write_text(json.dumps(as_json(a_delivery(a_provider(name)))))
    ran = router("new", "provider", "--from", file)
    assert ran.code == 0
    assert re.search(rf"looks like .*`{name}`.* built in", ran.err)


def test_without_a_secret_it_is_a_guess(router: Router, captured: tuple[Path, Path]) -> None:
    ran = router("new", "provider", "--from", captured[0], "--json")
    assert ran.code == 0
    shown = json.loads(ran.out)
    assert shown["fits"] == []
    assert shown["definition"]["verify"] == {
        "scheme": "hmac",
        "header": "Stripe-Signature",
        "separator": ",",
        "prefix": "v1=",
        "timestamp_part": "t=",
        "message": "{timestamp}.{body}",
        "tolerance": "300s",
    }
    assert shown["definition"]["event"] == {"field": "type"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--secret-env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE is not set"),
        (("--secret-file", "/nowhere/secret"), "cannot read"),
        (("--secret-env", "A", "--secret-file", "b"), "one of --secret-env"),
    ],
)
def test_a_secret_that_cannot_be_had(
    router: Router, captured: tuple[Path, Path], arguments: tuple[Any, ...], words: str
) -> None:
    ran = router("new", "provider", "--from", captured[0], *arguments)
    assert ran.code == 2
    assert words in ran.err


RAW = b"POST /in?a=1 HTTP/1.1\r\nHost: h\r\nX-Sig: abc\r\n\r\n{\n\n}\n"


@pytest.mark.parametrize(
    ("data", "headers", "body", "query"),
    [
        (RAW, {b"host": b"h", b"x-sig": b"abc"}, b"{\n\n}\n", b"a=1"),
        (RAW.replace(b"\r\n", b"\n"), {b"host": b"h", b"x-sig": b"abc"}, b"{\n\n}\n", b"a=1"),
        (b"X-Sig: a:b\n\nbody", {b"x-sig": b"a:b"}, b"body", b""),
        (b"X-Sig: a", {b"x-sig": b"a"}, b"", b""),
        (b'{"headers":{"X-Sig":"a"},"body":"b","query":"c=1"}', {b"x-sig": b"a"}, b"b", b"c=1"),
        (b'{"headers":[["X-Sig","a"]],"body":{"n": 1}}', {b"x-sig": b"a"}, b'{"n":1}', b""),
        (b'{"headers":{"X-Sig":"a"},"body_base64":"/w=="}', {b"x-sig": b"a"}, b"\xff", b""),
    ],
)
def test_captured_requests(
    tmp_path: Path, data: bytes, headers: dict[bytes, bytes], body: bytes, query: bytes
) -> None:
    file = tmp_path / "captured"
    file.write_bytes(data)
    request = read_captured(file)
    assert (dict(request.headers), request.body, request.query_string) == (headers, body, query)


@pytest.mark.parametrize(
    "data",
    [b"", b"nothing", b"{", b"{}", b'{"headers":5}', b'{"headers":{"a":"b"},"body_base64":"!"}'],
)
def test_what_is_no_captured_request(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "captured"
    file.write_bytes(data)
    with pytest.raises(UsageError):
        read_captured(file)
    with pytest.raises(UsageError):
        read_captured(tmp_path / "missing")


def test_a_request_comes_back_from_its_json(tmp_path: Path) -> None:
    request = a_delivery(a_provider("github"), body=bytes(range(256)))
    file = tmp_path / "captured.json"
    file.write_text(json.dumps(as_json(request)))
    assert base64.b64decode(json.loads(file.read_text())["body_base64"]) == request.body
    assert read_captured(file).headers == request.headers
