"""Signatures in lists, timestamps in them, and several ways of one sender."""

import base64
import hashlib
import hmac
from typing import Any

import pytest

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider
from router.providers.signed import ENTRIES_MAX
from tests.unit.providers.makers import (
    NOW_MS,
    a_definition,
    a_delivery,
    a_provider,
    a_request,
    changed,
    verdict,
)

NOW = NOW_MS // 1000
SECRET = b"whsec_" + base64.b64encode(b"k" * 24)


def reason(name: str, request: InboundRequest, *secrets: bytes, **given: Any) -> str | None:
    found = verdict(a_provider(name), request, *secrets, **given)
    return found.reason if isinstance(found, Refused) else None


def stripe(header: str, body: bytes = b"{}") -> InboundRequest:
    return a_request([("Stripe-Signature", header)], body)


def hexed(stamp: object, body: bytes = b"{}", key: bytes = b"s3cret") -> str:
    return hmac.new(key, f"{stamp}.".encode() + body, "sha256").hexdigest()


@pytest.mark.parametrize(
    "body",
    [b'{ "b": 1.0,"a":"\\u00e9" }\n', b'{"a":1,"a":2}', b"\xef\xbb\xbf{}", b"not json at all", b""],
)
def test_the_body_is_signed_byte_for_byte(body: bytes) -> None:
    """Not as somebody who had read it would write it again."""
    assert reason("stripe", stripe(f"t={NOW},v1={hexed(NOW, body)}", body), b"s3cret") is None
    for other in (body + b" ", b" " + body, body.replace(b" ", b"") + b"\n"):
        signed = f"t={NOW},v1={hexed(NOW, body)}"
        assert reason("stripe", stripe(signed, other), b"s3cret") == "bad_signature"


def test_one_good_of_many_is_enough() -> None:
    good, bad = f"v1={hexed(NOW)}", "v1=" + "0" * 64
    for entries in ([good], [bad, good], [good, bad], ["v0=x", good, "", "v1=junk"]):
        header = ",".join([f"t={NOW}", *entries])
        assert reason("stripe", stripe(header), b"s3cret") is None
    many = ",".join([f"t={NOW}", *[bad] * (ENTRIES_MAX - 2), good])
    assert reason("stripe", stripe(many), b"s3cret") is None


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"t={NOW},v1={'0' * 64}", "bad_signature"),
        (f"t={NOW},v0={hexed(NOW)}", "malformed_signature"),
        (f"t={NOW}", "malformed_signature"),
        (f"t={NOW},v1=", "malformed_signature"),
        (f"t={NOW},v1={hexed(NOW).upper()}", "malformed_signature"),
        (f"t={NOW};v1={hexed(NOW)}", "malformed_signature"),
        (f"t={NOW}, v1={hexed(NOW)} ", None),
        (f"v1={hexed(NOW)}", "missing_header"),
        (f"t={NOW},t={NOW + 1},v1={hexed(NOW)}", "malformed_signature"),
        (f"t=,v1={hexed('')}", "malformed_timestamp"),
        (f"t=+{NOW},v1={hexed(f'+{NOW}')}", "malformed_timestamp"),
        (f"t={NOW - 301},v1={hexed(NOW - 301)}", "stale_timestamp"),
        (f"t={NOW + 301},v1={hexed(NOW + 301)}", "stale_timestamp"),
        (f"t={NOW - 300},v1={hexed(NOW - 300)}", None),
        (f"t={NOW},t={NOW},v1={hexed(NOW)}", None),
        (f"v1={hexed(NOW)},t={NOW}", None),
        (",".join([f"t={NOW}", *[f"v1={hexed(NOW)}"] * ENTRIES_MAX]), "malformed_signature"),
        (f"t={NOW},v1={hexed(NOW)}" + "," * 9000, "malformed_signature"),
    ],
)
def test_lists(header: str, expected: str | None) -> None:
    assert reason("stripe", stripe(header), b"s3cret") == expected


def test_a_stripe_secret_is_used_as_it_is() -> None:
    request = stripe(f"t={NOW},v1={hexed(NOW, key=SECRET)}")
    assert reason("stripe", request, SECRET) is None


def standard(signatures: str, family: str = "webhook", number: str = "msg_1") -> InboundRequest:
    names = {"id": number, "timestamp": str(NOW), "signature": signatures}
    return a_request([(f"{family}-{n}", v) for n, v in names.items()])


def v1(key: bytes = b"k" * 24, number: str = "msg_1") -> str:
    raw = hmac.new(key, f"{number}.{NOW}.".encode() + b"{}", hashlib.sha256).digest()
    return "v1," + base64.b64encode(raw).decode()


@pytest.mark.parametrize("family", ["webhook", "svix"])
def test_both_families_of_headers(family: str) -> None:
    assert reason("svix", standard(v1(), family), SECRET) is None
    assert reason("svix", standard("v1,x v2,y " + v1(), family), SECRET) is None
    assert reason("svix", standard(v1(), family), SECRET.removeprefix(b"whsec_")) is None


def test_what_is_signed_must_be_there() -> None:
    assert reason("svix", standard(v1(number=""), number=""), SECRET) == "missing_header"
    assert reason("svix", standard("v1a," + v1()[3:]), SECRET) == "malformed_signature"
    for secret in (b"whsec_", b"whsec_===", b"whsec_ ", b"k" * 24):
        assert reason("svix", standard(v1(b"")), secret) is not None


def test_two_families_that_differ_are_ambiguous() -> None:
    request = standard(v1())
    twice = changed(request, headers=(*request.headers, (b"svix-id", b"msg_2")))
    assert reason("svix", twice, SECRET) == "ambiguous_header"


def test_gitlab_by_token_or_by_signature() -> None:
    lab = a_provider("gitlab")
    by_token = a_delivery(lab, "push", key=b"a-secret-token")
    by_signature = a_delivery(lab, "push", key=SECRET)
    assert verdict(lab, by_token, b"a-secret-token") == Verified("s0")
    assert verdict(lab, by_signature, SECRET) == Verified("s0")
    assert b"x-gitlab-token" not in dict(by_signature.headers)
    assert reason("gitlab", by_signature, b"a-secret-token") == "bad_signature"
    assert reason("gitlab", by_token, SECRET) == "bad_signature"
    late = verdict(lab, by_signature, SECRET, now_ms=NOW_MS + 301_000)
    assert isinstance(late, Refused)
    assert late.reason == "stale_timestamp"


@pytest.mark.parametrize(
    ("verify", "header"),
    [
        ({"encoding": "base64url"}, "X-Acme-Signature"),
        ({"key": "hex", "algorithm": "sha512"}, "X-Acme-Signature"),
        ({"key": "base64", "encoding": "base64"}, "X-Acme-Signature"),
        ({"message": "{header:X-Acme-Event}|{body}"}, "X-Acme-Signature"),
        ({"header": ["X-One", "X-Two"], "prefix": "sig="}, "X-One"),
    ],
)
def test_definitions_of_users_sign_and_verify(verify: dict[str, Any], header: str) -> None:
    rule = {"scheme": "hmac", "header": "X-Acme-Signature"} | verify
    acme = Provider(a_definition(verify=rule))
    request = a_delivery(acme, "made")
    assert header.lower().encode() in dict(request.headers)
    assert isinstance(verdict(acme, request), Verified)
    assert isinstance(verdict(acme, changed(request, body=b"[]")), Refused)


def test_one_part_with_two_names_that_overlap() -> None:
    acme = Provider(
        a_definition(
            verify={
                "scheme": "hmac",
                "header": "X-Sig",
                "message": "{id}.{body}",
            },
            id={"header": ["X-Id", "X-Acme-Event"]},
        )
    )
    assert isinstance(verdict(acme, a_delivery(acme, "id-1")), Verified)


EXTRA = Provider(
    a_definition(
        verify={
            "scheme": "hmac",
            "header": "X-Acme-Signature",
            "timestamp": "X-Acme-Time",
            "message": "{timestamp}.{header:X-Acme-Extra}.{body}",
            "tolerance": "5m",
        }
    )
)


def extra(stamp: str, *values: str) -> InboundRequest:
    """A request over a header that is signed, which comes so often."""
    message = f"{stamp}.{values[0] if values else ''}.{{}}".encode()
    mark = hmac.new(b"s3cret", message, "sha256").hexdigest()
    headers = [("X-Acme-Signature", mark), ("X-Acme-Time", stamp)]
    return a_request([*headers, *[("X-Acme-Extra", value) for value in values]])


def extra_reason(request: InboundRequest, **given: Any) -> str | None:
    found = verdict(EXTRA, request, b"s3cret", **given)
    return found.reason if isinstance(found, Refused) else None


def test_a_header_that_is_signed_comes_once_and_may_be_empty() -> None:
    assert extra_reason(extra(str(NOW), "a")) is None
    assert extra_reason(extra(str(NOW), "a", "a")) is None
    assert extra_reason(extra(str(NOW), "a", "b")) == "ambiguous_header"
    assert extra_reason(extra(str(NOW), "")) is None
    assert extra_reason(extra(str(NOW))) == "missing_header"


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        (str(NOW), None),
        (f"00{NOW}", None),
        (f"000{NOW}", "malformed_timestamp"),
        ("", "malformed_timestamp"),
        ("soon", "malformed_timestamp"),
        (f"-{NOW}", "malformed_timestamp"),
        (f"{NOW}.0", "malformed_timestamp"),
        (str(NOW - 300), None),
        (str(NOW - 301), "stale_timestamp"),
        (str(NOW + 300), None),
        (str(NOW + 301), "stale_timestamp"),
    ],
)
def test_a_timestamp_is_up_to_twelve_digits_and_near(stamp: str, expected: str | None) -> None:
    assert extra_reason(extra(stamp, "a")) == expected


def test_an_endpoint_s_tolerance_takes_the_place_of_the_sender_s() -> None:
    late = extra(str(NOW - 400), "a")
    assert extra_reason(late, tolerance_s=400) is None
    assert extra_reason(late, tolerance_s=399) == "stale_timestamp"
    near = extra(str(NOW - 1), "a")
    assert extra_reason(near, tolerance_s=0) == "stale_timestamp"
    assert extra_reason(extra(str(NOW), "a"), tolerance_s=0) is None


def test_of_several_secrets_the_first_that_fits_is_named() -> None:
    request = extra(str(NOW), "a")
    for secrets, name in (
        ((b"no", b"s3cret"), "s1"),
        ((b"s3cret", b"no"), "s0"),
        ((b"s3cret", b"s3cret"), "s0"),
    ):
        assert verdict(EXTRA, request, *secrets) == Verified(name)


def test_the_bounds_of_a_list() -> None:
    """8,192 bytes and 32 entries are looked at."""
    good = f"t={NOW},v1={hexed(NOW)}"
    for size, expected in ((8192, None), (8193, "malformed_signature")):
        header = good + ",x=" + "y" * (size - len(good) - 3)
        assert reason("stripe", stripe(header), b"s3cret") == expected
    for entries, expected in ((32, None), (33, "malformed_signature")):
        header = ",".join([good, *["x"] * (entries - 2)])
        assert reason("stripe", stripe(header), b"s3cret") == expected


@pytest.mark.parametrize(
    ("prefix", "size", "expected"),
    [("abcd", 1_020, "bad_signature"), ("a", 1_024, "malformed_signature")],
)
def test_a_signature_of_no_fixed_size_has_at_most_1024_bytes(
    prefix: str, size: int, expected: str
) -> None:
    """With what stands before it."""
    rule = {"scheme": "ecdsa", "header": "X-Sig", "prefix": prefix, "encoding": "base64"}
    acme = Provider(a_definition(verify=rule))
    found = verdict(acme, a_request([("X-Sig", prefix + "A" * size)]))
    assert isinstance(found, Refused)
    assert found.reason == expected


@pytest.mark.parametrize("size", [0, 31, 33, 64])
def test_a_digest_of_another_size_is_no_signature(size: int) -> None:
    acme = Provider(a_definition())
    found = verdict(acme, a_request([("X-Acme-Signature", "00" * size)]), b"s3cret")
    assert isinstance(found, Refused)
    assert found.reason == ("malformed_signature" if size else "missing_signature")


def test_a_refusal_has_the_status_that_the_sender_is_to_get() -> None:
    rule = {
        "scheme": "hmac",
        "header": "X-Sig",
        "timestamp": "X-Time",
        "message": "{timestamp}.{body}",
        "tolerance": "5m",
    }
    acme = Provider(a_definition(verify=rule, refuse_with=403))

    def mark(stamp: object) -> str:
        return hmac.new(b"s3cret", f"{stamp}.{{}}".encode(), "sha256").hexdigest()

    for sent, expected in (
        ({}, "missing_signature"),
        ({"X-Sig": "junk", "X-Time": "1"}, "malformed_signature"),
        ({"X-Sig": "0" * 64}, "missing_header"),
        ({"X-Sig": mark("x"), "X-Time": "x"}, "malformed_timestamp"),
        ({"X-Sig": "0" * 64, "X-Time": str(NOW)}, "bad_signature"),
        ({"X-Sig": mark(NOW - 301), "X-Time": str(NOW - 301)}, "stale_timestamp"),
    ):
        found = verdict(acme, a_request(sent.items()), b"s3cret")
        assert isinstance(found, Refused)
        assert (found.reason, found.status) == (expected, 403)


def test_a_list_s_timestamp_is_that_of_its_own_request() -> None:
    """A header that is named like a placeholder is none of ours."""
    request = stripe(f"v1={hexed(NOW)}")
    for name in (b"{timestamp}", b"timestamp", b"t"):
        other = changed(request, headers=(*request.headers, (name, str(NOW).encode())))
        assert reason("stripe", other, b"s3cret") == "missing_header"
