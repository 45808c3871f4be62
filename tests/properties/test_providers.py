"""Whatever bytes arrive: Verified or Refused, a Reading, and never an exception."""

import base64
import hmac
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from router.errors import ConfigError
from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider, Reading, parse_definition
from router.providers.composed import ComposedScheme
from router.providers.definition import spelled
from router.providers.evidence import Evidence, UnreadableProofError
from router.providers.handshakes import HandshakeAnswer
from router.providers.messages import STAMP, MessageTemplate, is_plain
from router.providers.scheme import spellings
from router.providers.signatures import encode
from router.providers.signed import SignedScheme
from router.structure import depth
from tests.unit.providers.makers import (
    EVERY,
    NOW_MS,
    SIGNING,
    a_delivery,
    a_provider,
    a_secret,
    changed,
    invented,
    settled,
)

NAMES = sorted(
    {name for provider in EVERY for name, _ in a_delivery(a_provider(provider)).headers}
    | {b"x-host-event", b"x-commerce-hmac-sha256", b"x-hub-signature", b"accept"}
)
FRAGMENTS = st.sampled_from(
    [b"[", b"]", b"{", b"}", b'"', b"\\", b",", b":", b'"event"', b"1e999", b"\xff", b"0", b" "]
)
BODIES = st.one_of(st.binary(max_size=300), st.lists(FRAGMENTS, max_size=120).map(b"".join))
VALUES = st.one_of(
    st.binary(max_size=100),
    st.just(b"application/x-www-form-urlencoded"),
    st.binary(max_size=40).map(lambda raw: b"sha256=" + raw.hex().encode()),
)
HEADERS = st.lists(st.tuples(st.sampled_from(NAMES), VALUES), max_size=8).map(tuple)


@pytest.mark.parametrize("name", EVERY)
@given(
    headers=HEADERS,
    body=BODIES,
    secrets=st.lists(st.binary(max_size=60), max_size=4),
    now_ms=st.integers(0, 2**45),
    tolerance_s=st.none() | st.integers(0, 10**9),
)
def test_any_request_gets_a_verdict_and_a_reading(
    name: str,
    headers: tuple[tuple[bytes, bytes], ...],
    body: bytes,
    secrets: list[bytes],
    now_ms: int,
    tolerance_s: int | None,
) -> None:
    provider = a_provider(name)
    request = InboundRequest("POST", b"/", b"", headers, body, "", 0)
    live = [a_secret(value, str(i)) for i, value in enumerate(secrets)]
    found = provider.verify(request, live, now_ms=now_ms, tolerance_s=tolerance_s)
    if isinstance(found, Verified):  # by luck only where the secret itself is shown
        assert any(value and value in shown for value in secrets for _, shown in headers)
    else:
        assert found.hint
    assert isinstance(provider.accept_unsigned(request), Verified | Refused)
    reading = provider.read(request)
    assert isinstance(reading, Reading)
    assert reading.state == "routed" or (reading.events == () and reading.reason)
    provider.check_secret(body)


def reads_its_body(name: str) -> bool:
    """Does its proof stand in the body, or elsewhere, so that not any bytes can be proved here?"""
    rule = a_provider(name).definition.verify
    return bool(
        rule.certificate or rule.field or rule.stamp.field or rule.each or "{json:" in rule.message
    )


@pytest.mark.parametrize("name", [name for name in SIGNING if not reads_its_body(name)])
@given(body=BODIES)
def test_what_is_signed_is_verified_and_nothing_else(name: str, body: bytes) -> None:
    provider = a_provider(name)
    try:
        request = a_delivery(provider, "any", body=body)
    except ValueError:  # what it signs is a form, and this is none
        reject()
    live = [a_secret(invented(provider).verify)]
    assert settled(provider, request, live) == Verified("main")
    altered = changed(request, body=body + b" ")
    assert isinstance(settled(provider, altered, live), Refused)
    assert provider.read(request).state in ("routed", "unparsed", "too_complex")


PLAIN = st.sampled_from([name for name in SIGNING if is_plain(a_provider(name).definition.verify)])


@settings(max_examples=60)
@given(name=PLAIN, headers=HEADERS, body=BODIES, late_s=st.sampled_from([0, 299, 301, -301]))
def test_the_short_way_and_the_general_way_agree(
    name: str, headers: tuple[tuple[bytes, bytes], ...], body: bytes, late_s: int
) -> None:
    d, live = a_provider(name).definition, [a_secret(invented(a_provider(name)).verify)]
    known, genuine = spellings(d), a_delivery(a_provider(name), "any", body=body)
    ways = [kind(d, d.verify, known) for kind in (SignedScheme, ComposedScheme)]
    for mixed in (genuine.headers, (*headers, *genuine.headers), (*genuine.headers[1:], *headers)):
        request = changed(genuine, headers=mixed)
        judged = [
            type(way.verify(known.first(mixed), request, live, NOW_MS + late_s * 1000, 300))
            for way in ways
        ]
        assert judged[0] is judged[1]


@given(body=BODIES)
def test_depth_never_fails(body: bytes) -> None:
    assert isinstance(depth(body), int)


# -- definitions of users -------------------------------------------------------------------------

HEADER_NAMES = st.sampled_from(["X-A", "X-B", "Authorization", "X-Acme-Event", "x-t"])
WORDS = st.sampled_from(["", "v1=", "t=", "sha256=", "Bearer ", "v1,", " ", "{body}", "§", "a"])
MESSAGES = st.lists(
    st.sampled_from(["{body}", "{timestamp}", "{id}", "{header:X-B}", ".", ":", "{", "}", "v0:"])
    | st.sampled_from(["{url}", "{json:a.b}", "{query:token}", "{query}", "{form_sorted}", "["])
    | st.sampled_from(["{body_sha256}", "[{header:X-A}]", "{method}", "{path}", "{secret}", "]"]),
    max_size=5,
).map("".join)
VERIFY = st.fixed_dictionaries(
    {
        "scheme": st.sampled_from(
            ["hmac", "ecdsa", "ed25519", "rsa", "token", "basic", "jwt", "none"]
        ),
    },
    optional={
        "header": HEADER_NAMES | st.lists(HEADER_NAMES, max_size=3),
        "query": st.sampled_from(["token", "a.b", "", "é"]),
        "algorithm": st.sampled_from(["sha1", "sha256", "sha384", "sha512"]),
        "encoding": st.sampled_from(["hex", "hex_upper", "base64", "base64url"]),
        "prefix": WORDS,
        "separator": st.sampled_from(["", " ", ",", ";", "&", "|"]),
        "message": st.just("{body}") | MESSAGES,
        "timestamp": HEADER_NAMES,
        "timestamp_part": WORDS,
        "tolerance": st.sampled_from(["300s", "5m", "x"]),
        "key": st.sampled_from(["text", "base64", "hex"]),
        "user": st.sampled_from(["ada", "", "a:b", "é"]),
        "audience": st.sampled_from(["us", ""]),
        "issuer": st.sampled_from(["them", ""]),
    },
)
TIMED = st.sampled_from(["seconds", "milliseconds", "iso8601", "http_date", "utc_date"])
PARTS = st.lists(
    st.sampled_from(["{id}", "{header:X-Event}", "{method}", "{path}", "{query:at}", "{json:a.b}"])
    | st.sampled_from(["{json:n}", "[{header:X-None}.]", "[{json:gone}]", "{url}", "{query}"])
    | st.sampled_from([".", ":", "\n", "v0:", "|"]),
    max_size=6,
)
COVERING = st.sampled_from(["{body}", "{body_sha256}", "{body_crc32}", "{url}", "{header:X-Hash}"])
PROOF_PLACES = st.sampled_from([{"header": "X-Sig"}, {"query": "sig"}, {"field": "proof.sig"}])
STAMPS = st.sampled_from([{}, "X-Time", {"query": "at"}, {"field": "sent.at"}, "t="])
SIGNS = st.fixed_dictionaries(
    {
        "scheme": st.sampled_from(["hmac", "hmac", "ecdsa", "ed25519", "rsa"]),
        "algorithm": st.sampled_from(["sha256", "sha384", "sha512", "sha1"]),
        "encoding": st.sampled_from(["hex", "hex_upper", "base64", "base64url"]),
        "key": st.sampled_from(["text", "base64", "hex"]),
    },
    optional={
        "prefix": st.sampled_from(["v1=", "sha256=", "v1-"]),
        "separator": st.sampled_from([" ", ",", ";", "&", "|"]),
        "each": st.just("items"),
    },
)
PAYLOAD = b'{"a":{"b":"\xc3\xa9"},"n":1.50,"items":[{"n":1},{"n":2}]}'


def consistent(
    rule: dict[str, Any], place: dict[str, str], parts: list[str], cover: str, stamp: Any
) -> dict[str, Any]:
    """A way of proof without contradictions, of parts that may hold some."""
    rule = {"prefix": "v1="} | rule | place
    covers = "field" not in place and not (cover == "{url}" and "query" in place)
    if not covers:
        rule["partial"] = True
    elif cover in ("{url}", "{header:X-Hash}"):
        rule["body_hash"] = {"query": "hash"} if cover == "{url}" else {"header": "X-Hash"}
    if rule["scheme"] in ("ecdsa", "ed25519") and rule["algorithm"] == "sha1":
        rule["algorithm"] = "sha256"
    if rule["scheme"] == "ed25519":
        del rule["algorithm"]
    if "field" not in place:
        rule.pop("each", None)
    if stamp == "t=":
        rule |= {"separator": "&", "timestamp_part": stamp}
    elif stamp:
        rule["timestamp"] = stamp
    forbidden = {"{url}", "{query}"} if "query" in place else set()
    kept = [part for part in (*parts, cover if covers else "x") if part not in forbidden]
    signed = "{timestamp}" if stamp else ""
    return rule | {"message": signed + "".join(kept)}


PROOFS = st.builds(consistent, SIGNS, PROOF_PLACES, PARTS, COVERING, STAMPS)
"""Ways of proof without contradictions."""
SOURCES = st.fixed_dictionaries(
    {},
    optional={
        "header": HEADER_NAMES | st.lists(HEADER_NAMES, max_size=3),
        "field": st.sampled_from(["id", "a.b", "", ".", ["type", "a"]]),
        "event": st.booleans(),
        "prefix": WORDS,
    },
)
PLACES = st.sampled_from(["challenge", "a.0.b", "", "header:x-a", "query:token", "field:event"])
HANDSHAKES = st.fixed_dictionaries(
    {},
    optional={
        "echo": PLACES,
        "method": st.sampled_from(["GET", "POST", "OPTIONS", "HEAD"]),
        "when": st.dictionaries(PLACES, st.sampled_from(["a", "", "é", "*", 1, True])),
        "token": st.sampled_from(["token", ""]),
        "unsigned": st.booleans(),
        "answer": st.sampled_from(["", "{echo}", "{hmac_hex}", {"a": ["{hmac_base64}", 1]}, "{"]),
        "answer_headers": st.sampled_from([{"X-Y": "{echo}"}, {"Date": "x"}, {"é": "é"}]),
        "status": st.sampled_from([200, 204, 500]),
        "visit": PLACES,
        "hosts": st.sampled_from([[], [".example.com"], ["localhost"]]),
    },
)
DEFINITIONS = st.fixed_dictionaries(
    {"names": st.just(["acme"]), "label": st.just("Acme"), "verify": VERIFY | PROOFS},
    optional={
        "also": st.lists(VERIFY, max_size=2),
        "event": SOURCES,
        "id": SOURCES,
        "action": SOURCES,
        "read": st.sampled_from(
            ["json", "form", "text", ["json", "form"], ["text", "xml"], [], "multipart"]
        ),
        "form_field": st.sampled_from(["payload", "é", ""]),
        "split": st.sampled_from([1, 1000, 0]),
        "split_at": st.sampled_from(["event", "a.b"]),
        "methods": st.sampled_from([["POST"], ["GET", "POST"], ["post"], []]),
        "respond": st.lists(HANDSHAKES, max_size=2),
    },
)
EMPTY = (b"", b" ", b"\n", b"whsec_", b"whsec_ ", b"whpk_", b"-----BEGIN PUBLIC KEY-----")


def made(data: dict[str, Any]) -> Provider:
    try:
        return Provider(parse_definition(data))
    except ConfigError:
        reject()


@pytest.mark.long
@settings(
    max_examples=75, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(
    data=DEFINITIONS,
    headers=st.lists(
        st.tuples(
            st.sampled_from([b"x-a", b"x-b", b"authorization", b"x-acme-event", b"content-type"]),
            VALUES | st.sampled_from([b"Bearer ", b"Basic Og==", b"t=1,v1=00", b"v1,", b"1"]),
        ),
        max_size=5,
    ).map(tuple),
    body=BODIES,
    query=st.binary(max_size=40) | st.sampled_from([b"token=", b"token=%20", b"challenge=a"]),
    secrets=st.lists(st.binary(max_size=60), max_size=2),
)
def test_no_definition_makes_the_verifier_crash_or_let_nothing_pass_for_a_secret(
    data: dict[str, Any],
    headers: tuple[tuple[bytes, bytes], ...],
    body: bytes,
    query: bytes,
    secrets: list[bytes],
) -> None:
    provider = made(data)
    for method in ("POST", "GET", "OPTIONS", "HEAD"):
        request = InboundRequest(method, b"/", query, headers, body, "", 0)
        for values in (secrets, EMPTY):
            live = [a_secret(value) for value in values]
            found = provider.verify(request, live, now_ms=0)
            assert isinstance(found, Refused | Verified)
            assert values is secrets or isinstance(found, Refused)
            asked = provider.unproved(request, live)
            assert asked is None or isinstance(asked, Refused | HandshakeAnswer)
            assert asked or method in provider.methods
            answer = provider.answer(request, live, Verified("main"))
            assert answer is None or method == "POST"
            assert answer is None or (answer.body + repr(answer.headers).encode()).isascii()
        assert isinstance(provider.read(provider.hidden(request)), Reading)


@pytest.mark.long
@settings(
    max_examples=75, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow]
)
@given(data=DEFINITIONS, body=BODIES, empty=st.sampled_from(EMPTY))
def test_a_signature_with_an_empty_key_verifies_under_no_definition(
    data: dict[str, Any], body: bytes, empty: bytes
) -> None:
    provider = made(data)
    d = provider.definition
    known = spellings(d)
    found = {known.part(name) or b"": b"1" for name in ("X-A", "X-B", "X-T", "X-Acme-Event")}
    for rule in d.ways:
        headers = [(part, value) for part, value in found.items() if part]
        proof = b""
        if rule.scheme == "hmac":
            evidence = Evidence(
                found | {STAMP: b"1"}, InboundRequest("POST", b"/", b"", (), body, "", 0)
            )
            try:
                parts = MessageTemplate(d, rule, known).filled(evidence)
            except UnreadableProofError:
                parts = None
            raw = hmac.new(b"", b"".join(parts or ()), rule.algorithm).digest()
            stamp = rule.timestamp_part + "1" + rule.separator if rule.timestamp_part else ""
            proof = (stamp + rule.prefix).encode() + encode(raw, rule.encoding)
        elif rule.scheme == "basic":
            proof = b"Basic " + base64.b64encode((rule.user or "").encode() + b":" + empty)
        elif rule.scheme == "token":
            proof = rule.lead.encode() + empty
        name = (spelled(rule.place) or ("x-none",))[0].lower().encode()
        headers = [(n, v) for n, v in headers if n != name] + [(name, proof)]
        request = InboundRequest("POST", b"/", b"token=" + empty, tuple(headers), body, "", 0)
        verdict = provider.verify(request, [a_secret(empty)], now_ms=1000)
        assert isinstance(verdict, Refused)


# -- what a definition says is signed, its sender signs -------------------------------------------


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    rule=SIGNS,
    place=PROOF_PLACES,
    parts=PARTS,
    cover=COVERING,
    stamp=STAMPS,
    time=TIMED,
    key=st.binary(min_size=32, max_size=32),
)
def test_what_a_definition_says_is_signed_is_what_its_sender_signs(
    rule: dict[str, Any],
    place: dict[str, str],
    parts: list[str],
    cover: str,
    stamp: Any,
    time: str,
    key: bytes,
) -> None:
    verify = consistent(rule, place, parts, cover, stamp)
    verify |= {"time": time, "tolerance": "300s"} if stamp else {}
    named = {"names": ["acme"], "label": "Acme", "id": {"header": "X-Id"}}
    provider = Provider(
        parse_definition({**named, "event": {"header": "X-Event"}, "verify": verify})
    )
    secret = provider.invent_secret(lambda count: (key * count)[:count])
    given = {"event": "made", "key": secret.sign, "delivery_id": "1", "now_ms": NOW_MS}
    try:
        sent = provider.prove(body=PAYLOAD, public_url="https://a.example/b", **given)
    except ValueError as fault:  # not every item has an a.b, nor every query an `at`
        assert "that this request does not" in str(fault)  # noqa: PT017
        return
    headers = tuple((n.lower().encode(), v.encode("latin-1")) for n, v in sent.headers)
    query = sent.query.encode()
    request = InboundRequest(
        "POST", b"/", query, headers, sent.body, "", 0, public_url="https://a.example/b"
    )
    live = [a_secret(secret.verify)]
    assert provider.verify(request, live, now_ms=NOW_MS) == Verified("main")
    if provider.definition.verify.signs_body:
        altered = changed(request, body=sent.body + b" ")
        assert isinstance(provider.verify(altered, live, now_ms=NOW_MS), Refused)
