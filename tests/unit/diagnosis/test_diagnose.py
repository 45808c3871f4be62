"""Causes found by proof: each request is really signed, then spoilt in one way."""

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.diagnosis.diagnose import DiagnosisFinding, DiagnosisInput, OtherEndpoint, diagnose
from router.model.delivery import REMOVED, InboundRequest, LiveSecret, Refused
from router.providers import Provider, builtin
from tests.unit.providers.makers import (
    AT_HAND,
    NOW_MS,
    PUBLIC_URL,
    SIGNING,
    a_definition,
    a_delivery,
    a_provider,
    a_request,
    changed,
    fixed_bytes,
    invented,
    other_bytes,
)

SHOP = builtin()["shopify"]
MAIL = builtin()["sendgrid"]
CODE = builtin()["github"]
STRIPE = builtin()["stripe"]
KEY = b"a secret of a good length"


def a_case(provider: Provider = SHOP, *values: bytes, **given: object) -> DiagnosisInput:
    secrets = values or (invented(provider).verify,)
    live = tuple(LiveSecret(f"s{index}", value) for index, value in enumerate(secrets))
    usual: dict[str, object] = {"live": live, "now_ms": NOW_MS, "known": builtin()}
    return DiagnosisInput("shop", provider, **{**usual, **given})  # type: ignore[arg-type]


def found(request: InboundRequest, case: DiagnosisInput) -> list[DiagnosisFinding]:
    """The findings, none of which holds a secret or a body."""
    findings = list(diagnose(request, case))
    reported = repr(findings).encode()
    for secret in (*case.live, *case.ended):
        assert secret.value not in reported
    return findings


def codes(request: InboundRequest, case: DiagnosisInput, *, sure: bool = True) -> list[str]:
    return [f.code for f in found(request, case) if f.sure is sure]


def with_header(
    request: InboundRequest, name: str, edit: Callable[[bytes], bytes]
) -> InboundRequest:
    key = name.lower().encode()
    headers = tuple((n, edit(v) if n == key else v) for n, v in request.headers)
    assert headers != request.headers
    return changed(request, headers=headers)


def without(request: InboundRequest, part: bytes) -> InboundRequest:
    return changed(request, headers=tuple(h for h in request.headers if part not in h[0]))


def plus(request: InboundRequest, name: bytes, value: bytes, **fields: Any) -> InboundRequest:
    return changed(request, headers=(*request.headers, (name, value)), **fields)


@pytest.mark.parametrize("name", AT_HAND)
def test_what_is_right_is_called_right(name: str) -> None:
    provider = builtin()[name]
    assert codes(a_delivery(provider), a_case(provider, came_ms=NOW_MS)) == ["genuine"]


# -- the body -------------------------------------------------------------------------------------

COMPACT = b'{"id":1,"total":"10.00","rate":1.50,"note":"a/b \xc3\xa9 <x>","list":[1,{}]}'
PARSED = json.loads(COMPACT)


@pytest.mark.parametrize(
    ("sent", "came"),
    [
        (COMPACT, json.dumps(PARSED).replace("1.5,", "1.50,").encode()),
        (COMPACT, json.dumps(PARSED, indent=2).replace("1.5,", "1.50,").encode()),
        (json.dumps(PARSED, indent=4).encode(), json.dumps(PARSED, separators=(",", ":")).encode()),
        (json.dumps(PARSED, indent="\t").encode() + b"\n", json.dumps(PARSED).encode()),
        (json.dumps(PARSED).encode().replace(b"/", b"\\/"), json.dumps(PARSED).encode()),
        (
            json.dumps(PARSED, ensure_ascii=False).encode(),
            json.dumps(PARSED, separators=(",", ":")).encode(),
        ),
        (
            json.dumps(PARSED).replace("<", "\\u003c").replace(">", "\\u003e").encode(),
            json.dumps(PARSED).encode(),
        ),
        (json.dumps(PARSED, sort_keys=True).encode(), json.dumps(PARSED).encode()),
    ],
)
def test_a_body_that_was_parsed_and_written_anew(sent: bytes, came: bytes) -> None:
    request = changed(a_delivery(SHOP, body=sent), body=came)
    [cause] = found(request, a_case())
    assert (cause.code, cause.sure) == ("body_parsed", True)
    assert "parsed and serialized again" in cause.says


@pytest.mark.parametrize("name", AT_HAND)
def test_a_rewritten_body_is_found_for_every_scheme(name: str) -> None:
    provider = builtin()[name]
    request = a_delivery(provider, body=COMPACT)
    parsed = json.loads(request.body)
    came = changed(request, body=json.dumps(parsed).replace("1.5,", "1.50,").encode())
    assert codes(came, a_case(provider, came_ms=NOW_MS)) == ["body_parsed"]


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda b: b + b"\n", "body_line_breaks"),
        (lambda b: b + b"\r\n", "body_line_breaks"),
        (lambda b: b.rstrip(b"\n"), "body_line_breaks"),
        (lambda b: b.replace(b"\n", b"\r\n"), "body_line_breaks"),
        (lambda b: b"\xef\xbb\xbf" + b, "body_charset"),
        (lambda b: b.decode().encode("latin-1"), "body_charset"),
        (lambda b: b.decode("latin-1").encode(), "body_charset"),
        (gzip.compress, "body_wrapped"),
        (base64.b64encode, "body_wrapped"),
        (lambda b: json.dumps(b.decode()).encode(), "body_wrapped"),
        (lambda b: json.dumps({"body": b.decode(), "path": "/"}).encode(), "body_wrapped"),
        (
            lambda b: json.dumps({"body": base64.b64encode(b).decode()}).encode(),
            "body_wrapped",
        ),
    ],
    ids=range(12),
)
def test_what_a_proxy_did_to_the_body(spoil: Callable[[bytes], bytes], code: str) -> None:
    request = a_delivery(SHOP, body='{"a":\n"é"}\n'.encode())
    assert codes(changed(request, body=spoil(request.body)), a_case()) == [code]


@pytest.mark.parametrize("provider", [a_provider(name) for name in SIGNING], ids=SIGNING)
@pytest.mark.parametrize("length", [(), ((b"content-length", b"0"),)])
def test_an_empty_body_is_not_blamed_on_the_secret(
    provider: Provider, length: tuple[tuple[bytes, bytes], ...]
) -> None:
    request = a_delivery(provider)
    lost = changed(request, body=b"", headers=(*request.headers, *length))
    assert codes(lost, a_case(provider), sure=False) == ["body_lost"]


# -- the secret -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        KEY + b"\n",
        KEY + b" ",
        b'"' + KEY + b'"',
        b"'" + KEY + b"'\n",
        b"SECRET=" + KEY,
        b"\xef\xbb\xbf" + KEY,
        KEY + b"\\n",
        base64.b64encode(KEY),
        KEY.hex().encode(),
        b"whsec_" + KEY,
        KEY.replace(b" ", b"%20"),
        KEY.decode().encode("utf-16"),
    ],
)
def test_a_slip_in_copying_the_secret(value: bytes) -> None:
    assert codes(a_delivery(SHOP, key=KEY), a_case(SHOP, value)) == ["secret_miscopied"]


def test_a_key_that_lost_its_line_breaks_is_mended_and_one_that_lost_its_end_is_reported() -> None:
    pem = invented(MAIL).verify
    joined = pem.replace(b"\n", b" ")
    assert codes(a_delivery(MAIL), a_case(MAIL, joined)) == ["genuine"]
    first = pem.split(b"\n")[0]
    [cause, *_] = found(a_delivery(MAIL), a_case(MAIL, first))
    assert cause.code == "key_unusable"
    assert "line breaks" in cause.fix
    [private, *_] = found(a_delivery(MAIL), a_case(MAIL, invented(MAIL).sign))
    assert "public key" in private.fix


# -- headers and time -----------------------------------------------------------------------------

SIGNATURE = "x-hub-signature-256"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda v: v.removeprefix(b"sha256="), "without its `sha256=`"),
        (lambda v: b"sha512=" + v.removeprefix(b"sha256="), "after `sha512=`"),
        (lambda v: v[:7] + v[7:].upper(), "in capitals"),
        (lambda v: v[:7] + base64.b64encode(bytes.fromhex(v[7:].decode())), "in base64"),
        (lambda v: b'"' + v + b'"', "quotes"),
        (lambda v: v.replace(b"=", b"%3D"), "percent"),
    ],
)
def test_a_signature_written_otherwise(spoil: Callable[[bytes], bytes], words: str) -> None:
    request = with_header(a_delivery(CODE), SIGNATURE, spoil)
    [cause] = found(request, a_case(CODE))
    assert cause.code == "signature_form"
    assert words in cause.says


@pytest.mark.parametrize(
    ("late_s", "words"), [(3_723, "1 h 2 m before"), (-400, "6 m 40 s after"), (200_000, "2 d 7 h")]
)
def test_the_clock_is_off_and_by_how_much(late_s: int, words: str) -> None:
    case = a_case(STRIPE, came_ms=NOW_MS + late_s * 1000)
    [cause] = found(a_delivery(STRIPE), case)
    assert (cause.code, cause.sure) == ("clock", True)
    assert words in cause.says


@pytest.mark.parametrize(
    ("came", "told", "expected"),
    [
        ({"public_url": PUBLIC_URL + "/calls"}, PUBLIC_URL + "/wh_x", "address_told"),
        ({"raw_path": b"/calls"}, "https://calls.example.com/calls", "address_told"),
        ({"public_url": ""}, "https://calls.example.com/wh_x", "address_told"),
        ({}, "http://calls.example.com/wh_x", "address_told"),
        ({}, "https://calls.example.com/wh_x/", "address_told"),
        ({}, "https://nothing.says.this/wh_x", "secret_wrong"),
    ],
)
def test_the_sender_was_told_another_address(
    came: dict[str, Any], told: str, expected: str
) -> None:
    """Behind a proxy: another name or path, or no TLS between it and us."""
    rule = {"scheme": "hmac", "header": "X-S", "message": "{url}{body}"}
    calls = Provider(a_definition(verify=rule))
    key = invented(calls).sign
    made = calls.prove(
        event="e", body=b"{}", key=key, delivery_id="1", now_ms=NOW_MS, public_url=told
    )
    headers = [*made.headers, ("Host", "calls.example.com")]
    request = changed(a_request(headers), **{"public_url": PUBLIC_URL, **came})
    (said,) = found(request, a_case(calls))
    refused = calls.verify(request, a_case(calls).live, now_ms=NOW_MS)
    assert said.code == expected
    assert isinstance(refused, Refused)
    assert (f"set `public_url: {told}`" in said.fix) == (expected == "address_told")
    whole = f"fits the address {told}, and not {PUBLIC_URL}/wh_x"
    assert (whole in said.says) == (expected == "address_told" and not came)
    hint = f"fits {told} instead" if request.public_url else "set `public_url` of the endpoint"
    assert (hint in (refused.hint or "")) == (expected == "address_told")


@pytest.mark.parametrize("name", SIGNING)
def test_a_forgery_is_never_explained_away(name: str) -> None:
    """Nothing that a stranger signed with a key of their own is proved to be anything."""
    provider = builtin()[name]
    forged = a_delivery(provider, key=provider.invent_secret(other_bytes).sign)
    findings = found(forged, a_case(provider, came_ms=NOW_MS))
    assert [f for f in findings if f.sure] == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"x-hub-signature-256", b"stripe-signature", b"content-length", b"x"]),
            st.binary(max_size=80),
        ),
        max_size=5,
    ),
    st.binary(max_size=200),
    st.sampled_from(["shopify", "github", "sendgrid", "stripe", "gitlab", "token", "jwt", "basic"]),
    st.binary(max_size=40),
)
def test_any_bytes_have_a_finding(
    headers: list[tuple[bytes, bytes]], body: bytes, name: str, secret: bytes
) -> None:
    request = changed(a_delivery(SHOP), headers=tuple(headers), body=body)
    assert diagnose(request, a_case(builtin()[name], secret))


def test_a_large_body_is_diagnosed_in_bounded_time() -> None:
    body = json.dumps([{"n": i, "t": "x" * 50} for i in range(3_000)]).encode()
    assert 200_000 < len(body) < 256 * 1024
    request = changed(a_delivery(SHOP, body=b"{}"), body=body)
    assert codes(request, a_case(SHOP, fixed_bytes(32).hex().encode()), sure=False)


# -- each cause -----------------------------------------------------------------------------------

PLAIN = a_delivery(SHOP, body=b'{"a":1}')
KEYED, HUB_KEYED = a_delivery(SHOP, key=KEY), a_delivery(CODE, key=KEY)
BARE = with_header(HUB_KEYED, SIGNATURE, lambda v: v[7:])
HMAC = "x-shopify-hmac-sha256"
BATCH = a_delivery(MAIL, body=MAIL.compose(MAIL.sample("click"), "one", "two"))
STANDARD, TOKEN = builtin()["standard-webhooks"], builtin()["token"]
SHOWN = a_delivery(TOKEN, key=KEY)
OLD, NEIGHBOUR = (LiveSecret("old", KEY),), (OtherEndpoint("b", SHOP, (LiveSecret("b", KEY),)),)
HUB = (OtherEndpoint("hub", CODE, (LiveSecret("hub", KEY),)),)
OWN_KEY, UNSIGNED = b"one of its own, and long", a_case(unsigned=True)
RENAMED = changed(
    HUB_KEYED,
    headers=tuple(
        (n.replace(b"x-hub-signature-256", b"http_x_hub_signature_256"), v)
        for n, v in HUB_KEYED.headers
    ),
)


@pytest.mark.parametrize(
    ("came", "case", "wanted", "words"),
    [
        # the body
        (
            changed(BATCH, body=json.dumps(json.loads(BATCH.body)).encode()),
            a_case(MAIL),
            "body_parsed",
            "in lines",
        ),
        (
            changed(
                a_delivery(CODE, body=b"payload=%7B%22ref%22%3A%22a+b%22%7D"), body=b'{"ref":"a b"}'
            ),
            a_case(CODE),
            "body_wrapped",
            "",
        ),
        (plus(PLAIN, b"content-length", b"7", body=b'{"a":1}xx'), a_case(), "body_longer", ""),
        (plus(PLAIN, b"content-length", b"7", body=b'{"a"'), a_case(), "body_truncated?", ""),
        (changed(PLAIN, body=b'{"a"'), a_case(), "body_truncated?", ""),
        (changed(PLAIN, body='{"a":"\ufffd"}'.encode()), a_case(), "body_charset?", ""),
        (changed(PLAIN, body=b'{"a":1,"b":2,"c":3.0}'), a_case(), "body_parsed?", ""),
        (plus(PLAIN, b"content-encoding", b"br", body=b"??"), a_case(), "body_encoded?", ""),
        # the secret
        (a_delivery(SHOP, key=KEY + b"\n"), a_case(SHOP, KEY), "secret_miscopied", ""),
        (KEYED, a_case(SHOP, OWN_KEY, ended=OLD), "secret_ended", "old"),
        (KEYED, a_case(SHOP, live=(), ended=OLD), "secret_ended", "old"),
        (a_delivery(SHOP), a_case(SHOP, live=(), ended=OLD), "no_secret secret_wrong?", ""),
        (KEYED, a_case(SHOP, OWN_KEY, others=NEIGHBOUR), "other_endpoint", "endpoint b"),
        (HUB_KEYED, a_case(others=HUB), "other_endpoint", ""),
        (HUB_KEYED, a_case(SHOP, KEY), "other_provider", "provider: code-host"),
        (HUB_KEYED, a_case(), "other_provider?", ""),
        (KEYED, a_case(), "secret_wrong?", ""),
        (SHOWN, a_case(TOKEN, KEY), "genuine", ""),
        (SHOWN, a_case(TOKEN, b"'" + KEY + b"'"), "secret_miscopied", ""),
        (SHOWN, a_case(TOKEN, b"another token, also long"), "secret_wrong?", ""),
        (
            with_header(SHOWN, "authorization", lambda _: REMOVED.encode()),
            a_case(TOKEN, KEY),
            "hidden?",
            "",
        ),
        (a_delivery(SHOP), UNSIGNED, "unsigned", ""),
        (KEYED, UNSIGNED, "unsigned", ""),
        # headers and time
        (with_header(PLAIN, HMAC, lambda v: v.rstrip(b"=")), a_case(), "signature_form", ""),
        (
            with_header(PLAIN, HMAC, lambda v: base64.b64decode(v).hex().encode()),
            a_case(),
            "signature_form",
            "",
        ),
        (with_header(PLAIN, HMAC, lambda _: b"??"), a_case(), "signature_malformed?", ""),
        (BARE, a_case(CODE, KEY + b"\n"), "secret_miscopied signature_form", ""),
        (
            changed(
                with_header(a_delivery(CODE, body=b'{"a":1}'), SIGNATURE, lambda v: v[7:]),
                body=b'{"a": 1}',
            ),
            a_case(CODE),
            "body_parsed signature_form",
            "",
        ),
        (RENAMED, a_case(CODE, KEY), "header_renamed", "http_x_hub_signature_256"),
        (plus(PLAIN, HMAC.encode(), b"other"), a_case(), "header_twice", ""),
        (without(PLAIN, b"hmac"), a_case(), "signature_missing?", ""),
        (without(a_delivery(MAIL), b"timestamp"), a_case(MAIL), "header_missing", "timestamp"),
        # which two ways of proof miss
        (without(a_delivery(STANDARD), b"timestamp"), a_case(STANDARD), "header_missing", ""),
        # an old capture is no proof of a wrong clock
        (a_delivery(STRIPE), a_case(STRIPE, now_ms=NOW_MS + 10**7), "clock?", ""),
    ],
)
def test_what_is_the_matter(
    came: InboundRequest, case: DiagnosisInput, wanted: str, words: str
) -> None:
    """Each cause by itself; what is only suspected has a question mark here."""
    findings = found(came, case)
    assert " ".join(f.code + "?" * (not f.sure) for f in findings) == wanted
    assert words in f"{findings[0].says} {findings[0].fix}"


# -- handshakes -----------------------------------------------------------------------------------

META = Provider(
    a_definition(
        respond=[
            {"method": "GET", "when": {"mode": "subscribe"}, "echo": "challenge", "token": "token"}
        ]
    )
)


@pytest.mark.parametrize(
    ("query", "code", "says"),
    [
        (b"mode=subscribe&challenge=1&token=" + KEY.replace(b" ", b"+"), "genuine", "answers it"),
        (b"mode=subscribe&challenge=1&token=other", "handshake", "no secret of shop"),
        (b"mode=other&challenge=1", "handshake", "not a handshake of this sender"),
    ],
)
def test_what_is_the_matter_with_a_handshake(query: bytes, code: str, says: str) -> None:
    asked = changed(a_request(), method="GET", query_string=query, body=b"")
    (only,) = found(asked, a_case(META, KEY))
    assert (only.code, only.sure) == (code, True)
    assert says in only.says


def test_a_handshake_whose_token_was_not_kept_says_so() -> None:
    query = b"mode=subscribe&challenge=1&token=secret"
    kept = META.hidden(changed(a_request(), method="GET", query_string=query, body=b""))
    (only,) = found(kept, a_case(META, KEY))
    assert (only.code, only.sure) == ("hidden", False)
    assert [f.code for f in diagnose(kept, DiagnosisInput("shop", META, (), NOW_MS))] == ["hidden"]
