"""
One suite for every provider that signs: what is genuine is verified, everything else is refused.

Published vectors are in test_vectors.py, senders that show a secret in test_credentials.py.
"""

import base64
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider
from router.providers.definition import Names, spelled
from tests.unit.providers.makers import (
    SIGNING,
    a_definition,
    a_delivery,
    a_provider,
    a_request,
    changed,
    invented,
    other_bytes,
    verdict,
    with_header,
)

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


OF_A_USER = "a user's own, its events named by keys"


@pytest.fixture(params=(*SIGNING, OF_A_USER))
def provider(request: pytest.FixtureRequest) -> Provider:
    if request.param == OF_A_USER:
        names = ["message", "edited_message", "callback_query"]
        verify = {"scheme": "hmac", "header": "X-Acme-Signature", "timestamp": "X-Acme-Time"}
        return Provider(
            a_definition(
                verify={**verify, "message": "{timestamp}.{body}", "tolerance": "300s"},
                event={"key": names},
                id={"header": ["X-Acme-Id", "X-Old-Acme-Id"]},
                events=[{"group": "Chat", "names": names}],
                samples=[{"for": "*", "payload": {"message": {"text": "hi"}}}],
            )
        )
    return a_provider(request.param)


def reason(provider: Provider, request: InboundRequest, *secrets: bytes) -> str | None:
    found = verdict(provider, request, *secrets)
    if isinstance(found, Refused):
        assert found.status == provider.refuse_with
        return found.reason
    return None


def guarded(provider: Provider) -> Iterator[bytes]:
    """The headers that prove, date, name and number a request."""
    d = provider.definition
    sources = [d.verify.header, d.verify.stamp.header, d.event.header, d.id.header if d.id else ()]
    return (spelled(names)[0].lower().encode() for names in sources if names)


def spellings(provider: Provider) -> list[Names]:
    """The headers that play a part, each in its spellings."""
    d = provider.definition
    known = [d.verify.header, d.verify.stamp.header, d.event.header, d.id.header if d.id else ()]
    return [*known, *(s.header for s in d.fields.values())]


def respelled(provider: Provider, request: InboundRequest) -> InboundRequest:
    """The same request with every header in its last spelling."""
    known = spellings(provider)
    other = {spelled(n)[0].lower().encode(): spelled(n)[-1].lower().encode() for n in known if n}
    return changed(request, headers=tuple((other.get(n, n), v) for n, v in request.headers))


def test_genuine_deliveries_of_every_event(provider: Provider) -> None:
    for name in [event.name for event in provider.events] or ["user.created"]:
        request = a_delivery(provider, name)
        assert verdict(provider, request) == Verified("s0")
        reading = provider.read(request)
        assert [e.name for e in reading.events] == [name]
        assert reading.flags == ()
        other = provider.read(a_delivery(provider, name, delivery_id="id-2"))
        numbers = {read.events[0].provider_id for read in (reading, other)}
        assert len(numbers - {None}) == (2 if provider.sends_ids else 0)


def test_both_spellings_are_the_same_request(provider: Provider) -> None:
    request = a_delivery(provider)
    other = respelled(provider, request)
    several = any(len(spelled(names)) > 1 for names in spellings(provider))
    assert (other.headers != request.headers) == several
    assert isinstance(verdict(provider, other), Verified)
    assert provider.read(other) == provider.read(request)


def test_every_changed_byte_of_the_body_is_found(provider: Provider) -> None:
    request = a_delivery(provider)
    body = request.body
    # Where a form is signed, an escape in it may be broken.
    found = (
        {"bad_signature", "unreadable_body"}
        if "form" in provider.definition.reads
        else {"bad_signature"}
    )
    for index in range(0, len(body), max(1, len(body) // 60)):
        altered = body[:index] + bytes([body[index] ^ 1]) + body[index + 1 :]
        assert reason(provider, changed(request, body=altered)) in found
    for altered in (b"", body[:-1], body + b"\n", b" " + body, body + body):
        assert reason(provider, changed(request, body=altered)) in found


def test_every_changed_character_of_the_signature_is_found(provider: Provider) -> None:
    request = a_delivery(provider)
    name = next(guarded(provider))
    signature = dict(request.headers)[name]
    for index in range(0, len(signature), max(1, len(signature) // 60)):
        for character in b"A=\xff" + bytes([signature[index] ^ 1]):
            if character != signature[index]:
                near = signature[:index] + bytes([character]) + signature[index + 1 :]
                assert reason(provider, with_header(request, name, near)) is not None
    odd = odd_signatures(signature)
    # Where signatures come in a list, more of the same and empty entries are nothing odd.
    listed = provider.definition.verify.separator
    fine = {signature + b"," + signature, signature + b" " + signature, b" " + signature}
    fine |= {signature + b" "}
    for near in [o for o in odd if not (listed and o in fine)]:
        assert reason(provider, with_header(request, name, near)) is not None


def odd_signatures(good: bytes) -> list[bytes]:
    return [
        b"",
        b" ",
        good[:-1],
        good + b"=",
        good + b" ",
        b" " + good,
        good + b"," + good,
        good + b" " + good,
        good * 1000,
        good.swapcase(),
        b"sha1=" + good,
        b"SHA256=" + good.removeprefix(b"sha256="),
        b"\xff\xfe\x00",
        "ä".encode("latin-1") * 1000,
        b"None",
        b"A" * 44,
        b"0" * 64,
        b"sha256=" + b"0" * 64,
    ]


def test_a_missing_signature_is_refused(provider: Provider) -> None:
    request = a_delivery(provider)
    name = next(guarded(provider))
    bare = changed(request, headers=tuple(h for h in request.headers if h[0] != name))
    assert reason(provider, bare) == "missing_signature"
    assert reason(provider, a_request()) == "missing_signature"
    assert reason(provider, with_header(request, name, b"")) == "missing_signature"


def test_doubled_headers_that_differ_are_ambiguous(provider: Provider) -> None:
    request = a_delivery(provider)
    other = dict(
        zip(dict(request.headers), dict(respelled(provider, request).headers), strict=True)
    )
    for name in guarded(provider):
        value = dict(request.headers)[name]
        for spelling in {name, other[name]}:
            extra = ((spelling, value + b"x"),)
            for headers in (request.headers + extra, extra + request.headers):
                assert reason(provider, changed(request, headers=headers)) == "ambiguous_header"
            same = (*request.headers, (spelling, value))
            assert reason(provider, changed(request, headers=same)) is None


def test_the_wrong_secret_is_refused(provider: Provider) -> None:
    wrong = provider.invent_secret(other_bytes).verify
    assert reason(provider, a_delivery(provider), wrong) == "bad_signature"


def test_rotated_secrets_are_all_tried_and_the_right_one_named(provider: Provider) -> None:
    right, wrong = invented(provider).verify, provider.invent_secret(other_bytes).verify
    request = a_delivery(provider)
    assert verdict(provider, request, wrong, right) == Verified("s1")
    assert verdict(provider, request, right, wrong) == Verified("s0")
    assert verdict(provider, request, wrong, wrong, wrong, right) == Verified("s3")
    assert verdict(provider, request, b"", b"junk", b"\xff", right) == Verified("s3")


def test_no_secrets_is_closed(provider: Provider) -> None:
    found = provider.verify(a_delivery(provider), [], now_ms=0)
    assert isinstance(found, Refused)
    assert found.reason == "no_secret"


def test_an_ecdsa_signature_has_one_encoding_and_its_twin() -> None:
    """(r, n - s) is as good as (r, s): why a signature is never a dedupe key. Nothing else is."""
    mail = a_provider("email")
    request = a_delivery(mail)
    name = next(guarded(mail))
    good = base64.b64decode(dict(request.headers)[name])
    r, s = decode_dss_signature(good)

    def judged(raw: bytes) -> str | None:
        return reason(mail, with_header(request, name, base64.b64encode(raw)))

    assert judged(encode_dss_signature(r, P256_ORDER - s)) is None
    others = [encode_dss_signature(*pair) for pair in ((0, s), (r, 0), (r + P256_ORDER, s), (s, r))]
    others += [good + b"\0", good[:-1], good[:1] + b"\x81" + good[1:], b"0\0", b"\0" * 64]
    assert [judged(raw) for raw in others] == ["bad_signature"] * len(others)
