"""
One suite for every key of `verify`: what a small definition says is signed is what is proved.

Each row is a definition; its sender signs a request, and the router verifies it. Then everything
that plays a part is changed, the key is another, the time is past, and what proves is malformed.
"""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider
from tests.unit.providers.makers import (
    NOW_MS,
    a_definition,
    a_delivery,
    changed,
    other_bytes,
    verdict,
)

PAYLOAD: dict[str, Any] = {"a": {"b": "c"}, "n": 1.50, "yes": True, "list": [0, 1]}
NOTHING: dict[str, Any] = {}
HEADER: dict[str, Any] = {"scheme": "hmac", "header": "X-S"}
FORM: dict[str, Any] = {"read": "form", "event": {"field": "kind"}}
CERTIFIED: dict[str, Any] = {"scheme": "rsa", "encoding": "base64"}
CERTIFICATE = {"hosts": [".example.com"], "names": ["sign.example.com"]}
IN_BODY: dict[str, Any] = {"scheme": "hmac", "field": "proof.sig", "partial": True}


class Row(NamedTuple):
    """A definition, and a payload that its sender could send."""

    verify: dict[str, Any]
    payload: dict[str, Any] = PAYLOAD
    further: dict[str, Any] = NOTHING

    @property
    def provider(self) -> Provider:
        samples = [{"for": "*", "payload": self.payload}]
        given = {"event": {"field": "kind"}, "samples": samples} | self.further
        return Provider(a_definition(verify=self.verify, **given))


ROWS = {
    **{f"hmac {a}": Row(HEADER | {"algorithm": a}) for a in ("sha1", "sha256", "sha384", "sha512")},
    **{
        f"{encoding} digits": Row(HEADER | {"encoding": encoding})
        for encoding in ("hex_upper", "base64", "base64url")
    },
    **{
        f"time in {time}": Row(
            HEADER
            | {"timestamp": "X-T", "time": time, "tolerance": "300s"}
            | {"message": "{timestamp}\n{body}"}
        )
        for time in ("seconds", "milliseconds", "iso8601", "http_date", "utc_date")
    },
    "time in the query": Row(
        HEADER | {"timestamp": {"query": "at"}, "message": "{timestamp}{body}", "tolerance": "300s"}
    ),
    "time in a signed body": Row(
        HEADER | {"timestamp": {"field": "sent"}, "time": "milliseconds", "tolerance": "300s"}
    ),
    "time in the signed query": Row(
        HEADER | {"timestamp": {"query": "at"}, "message": "{query}{body}", "tolerance": "300s"}
    ),
    "rsa": Row({"scheme": "rsa", "header": "X-S", "encoding": "base64"}),
    "rsa sha1": Row({"scheme": "rsa", "header": "X-S", "encoding": "base64", "algorithm": "sha1"}),
    "rsa pss": Row({"scheme": "rsa", "header": "X-S", "encoding": "base64", "padding": "pss"}),
    "certificate in a header": Row(
        CERTIFIED
        | {"header": "X-S", "message": "{header:X-E}|{secret}|{body_crc32}"}
        | {"certificate": {"header": "X-Certificate"} | CERTIFICATE},
        further={"event": {"header": "X-E"}},
    ),
    "certificate in the body": Row(
        CERTIFIED
        | {"field": "proof.sig", "equals": "topic", "partial": True}
        | {"message": "{json:a.b}\n[{json:none}\n]{json:topic}\n"}
        | {"certificate": {"field": "proof.at"} | CERTIFICATE}
    ),
    "ecdsa sha512": Row({"scheme": "ecdsa", "header": "X-S", "algorithm": "sha512"}),
    "ed25519 over parts": Row({"scheme": "ed25519", "header": "X-S", "message": "{url}{body}"}),
    "signature in the query": Row({"scheme": "hmac", "query": "sig"}),
    "signature in the body": Row(
        IN_BODY | {"message": "{json:a.b}|{json:n}|{json:yes}|{json:list.1}"}
    ),
    "signature in a form": Row(
        IN_BODY | {"field": "sig", "message": "{header:X-E}"},
        {"x": "1"},
        {"read": "form", "event": {"header": "X-E"}},
    ),
    "list": Row(
        HEADER
        | {"separator": "|", "prefix": "v1=", "timestamp_part": "t=", "tolerance": "300s"}
        | {"message": "{timestamp}.{method}.{body}"}
    ),
    "url and form": Row(
        HEADER | {"message": "{url}{form_sorted}", "algorithm": "sha1", "encoding": "base64"},
        {"b": "2 &", "a": ["1", "é"], "empty": ""},
        FORM,
    ),
    "url and hash in the query": Row(
        HEADER | {"message": "{url}", "body_hash": {"query": "bodySHA256"}}
    ),
    "hash in a header": Row(HEADER | {"message": "{header:X-H}", "body_hash": {"header": "X-H"}}),
    "every part": Row(
        HEADER
        | {"message": "{method}\n{path}?{query}\n{body_sha256}\n{body_crc32}[\n{header:X-Z}]"}
    ),
    "each item": Row(
        IN_BODY | {"each": "items", "message": "{json:a}:[{json:gone}]:{json:n}"},
        {"items": [{"a": "1", "n": 10}, {"a": "2", "n": 20}]},
    ),
    "token in the body": Row({"scheme": "token", "field": "token"}),
    "token of each item": Row(
        {"scheme": "token", "field": "state", "each": "value"}, {"value": [{"a": 1}, {"a": 2}]}
    ),
}


@pytest.fixture(params=ROWS, ids=str)
def row(request: pytest.FixtureRequest) -> Row:
    return ROWS[request.param]


DELIVERED: dict[int, InboundRequest] = {}


def delivered(row: Row) -> InboundRequest:
    """Signed once: reading a private RSA key takes longer than all the rest."""
    if id(row) not in DELIVERED:
        DELIVERED[id(row)] = a_delivery(row.provider, "made")
    return DELIVERED[id(row)]


def reason(row: Row, request: InboundRequest, *secrets: bytes, **given: Any) -> str | None:
    found = verdict(row.provider, request, *secrets, **given)
    return found.reason if isinstance(found, Refused) else None


def test_what_is_signed_is_verified(row: Row) -> None:
    assert verdict(row.provider, delivered(row)) == Verified("s0")


def test_another_key_is_refused(row: Row) -> None:
    wrong = row.provider.invent_secret(other_bytes).verify
    assert reason(row, delivered(row), wrong) == "bad_signature"


def test_of_several_secrets_the_right_one_is_named(row: Row) -> None:
    right = row.provider.invent_secret(lambda n: b"r" * n)
    wrong = row.provider.invent_secret(other_bytes).verify
    request = a_delivery(row.provider, "made", key=right.sign)
    assert verdict(row.provider, request, wrong, right.verify) == Verified("s1")


def test_whatever_is_signed_is_proved(row: Row) -> None:
    request = delivered(row)
    signs_body = row.provider.definition.verify.signs_body
    for mutant, in_body in mutants(row, request):
        if signs_body or not in_body:
            assert reason(row, mutant) is not None, mutant


def mutants(row: Row, request: InboundRequest) -> Iterator[tuple[InboundRequest, bool]]:
    """The request with one part changed that plays a part; is it the body's?"""
    yield changed(request, body=request.body + b" "), True
    yield changed(request, body=request.body[:-1] + b"\t}"), True
    yield changed(request, body=request.body[1:]), True
    verify, message = row.verify, row.verify.get("message", "{body}")
    if "{url}" in message or "{query}" in message:
        yield changed(request, query_string=request.query_string + b"&more=1"), False
    if "{url}" in message or "{path}" in message:
        yield changed(request, raw_path=b"/wh_y"), False
    if "{url}" in message:
        yield changed(request, public_url="https://other.example.com"), False
        yield changed(request, public_url=""), False
    if "{method}" in message:
        yield changed(request, method="PUT"), False
    played = ("x-s", "x-t", "x-h", "x-e")
    for at, (name, value) in enumerate(request.headers):
        if name.decode() in played:
            for other in (b"", value[:-1], value + b"0", value.swapcase() + b"!"):
                near = (*request.headers[:at], (name, other), *request.headers[at + 1 :])
                yield changed(request, headers=near), False
            yield changed(request, headers=(*request.headers, (name, value + b"1"))), False
    if "query" in verify:
        yield changed(request, query_string=b""), False
        yield changed(request, query_string=request.query_string + b"0"), False
        yield changed(request, query_string=request.query_string + b"&sig=00"), False


def test_a_stale_request_is_refused_as_such(row: Row) -> None:
    request, tolerance = delivered(row), row.verify.get("tolerance")
    for away in (-301_000, 301_000):
        expected = "stale_timestamp" if tolerance else None
        assert reason(row, request, now_ms=NOW_MS + away) == expected
    for near in (-299_000, 299_000):
        assert reason(row, request, now_ms=NOW_MS + near) is None


@pytest.mark.parametrize("name", ["each item", "token of each item"])
def test_every_item_of_a_batch_is_proved(name: str) -> None:
    row = ROWS[name]
    request, path = delivered(row), row.verify["each"]
    items = json.loads(request.body)[path]
    proof = row.verify["field"].partition(".")[0]
    bare = {name: value for name, value in items[1].items() if name != proof}
    for spoilt in ([items[0], bare], [bare, items[1]], [items[0], {}], [items[0], 1], []):
        assert reason(row, changed(request, body=json.dumps({path: spoilt}).encode())) is not None
    for kept in (items, items[:1]):
        assert reason(row, changed(request, body=json.dumps({path: kept}).encode())) is None


ODD = [b"", b"{", b"[]", b"null", b'{"proof":{"sig":[1]}}', b"a=%zz", b"\xff\xfe", b"&" * 200]


def test_odd_bodies_are_refused(row: Row) -> None:
    request = delivered(row)
    for body in ODD:
        verdict_ = reason(row, changed(request, body=body))
        assert verdict_ is not None or not row.provider.definition.verify.signs_body


def test_a_large_body_is_not_read_for_a_proof() -> None:
    """64 KiB of it may be: what has more is refused without being decoded."""
    row = ROWS["signature in the body"]
    request = delivered(row)
    large = changed(request, body=request.body[:-1] + b',"x":"' + b"x" * 2**26 + b'"}')
    assert reason(row, large) == "unreadable_body"


def test_a_large_form_is_split_and_a_larger_one_refused() -> None:
    """At memory speed, since some senders sign batches in one; JSON is not read so far."""
    verify = HEADER | {"message": "{form_sorted}"}
    for size, expected in ((2**20, None), (2**22, "unreadable_body")):
        row = Row(verify, {"events": "x" * size}, FORM)
        assert reason(row, a_delivery(row.provider, "made")) == expected
