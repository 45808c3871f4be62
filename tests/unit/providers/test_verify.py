"""The engine beyond what the conformance suite asks of every provider: templates and times."""

import hmac
from typing import Any

import jwt
import pytest

from router.model.delivery import Refused, Verified
from router.providers import Provider, bearer, ed25519
from tests.unit.providers.makers import (
    NOW_MS,
    a_definition,
    a_delivery,
    a_provider,
    a_request,
    a_secret,
    changed,
    fixed_bytes,
    invented,
    verdict,
)

STAMPED = Provider(
    a_definition(
        verify={
            "scheme": "hmac",
            "header": "X-Acme-Signature",
            "timestamp": "X-Acme-Time",
            "prefix": "v0=",
            "message": "v0:{timestamp}:{id}:{header:X-Acme-Event}:{body}",
            "tolerance": "300s",
        },
        id={"header": "X-Acme-Id"},
    )
)
NOW_S = NOW_MS // 1000


def stamped(stamp: str, *, event: str = "ping") -> list[tuple[str, str]]:
    signed = f"v0:{stamp}:7:{event}:{{}}".encode("latin-1")
    return [
        ("X-Acme-Event", event),
        ("X-Acme-Id", "7"),
        ("X-Acme-Time", stamp),
        ("X-Acme-Signature", "v0=" + hmac.new(b"key", signed, "sha256").hexdigest()),
    ]


def reason(headers: list[tuple[str, str]], tolerance_s: int | None = None) -> str | None:
    found = verdict(STAMPED, a_request(headers), b"key", tolerance_s=tolerance_s)
    return found.reason if isinstance(found, Refused) else None


def test_every_placeholder_is_signed() -> None:
    assert reason(stamped(str(NOW_S))) is None
    for index, other in [(0, "pong"), (1, "8"), (2, str(NOW_S + 1))]:
        headers = stamped(str(NOW_S))
        headers[index] = (headers[index][0], other)
        assert reason(headers) == "bad_signature"


def test_a_signed_header_that_did_not_come_is_named() -> None:
    for index in (0, 1, 2):
        headers = stamped(str(NOW_S))
        del headers[index]
        assert reason(headers) == "missing_header"


@pytest.mark.parametrize(
    "stamp",
    ["", "abc", "-1", "+5", " 12", "12 ", "1_2", "1.5", "9" * 13, "9" * 5000, "\xb2", "\xa0\xb3"],
)
def test_only_plain_digits_are_a_timestamp(stamp: str) -> None:
    assert reason(stamped(stamp)) == "malformed_timestamp"


@pytest.mark.parametrize(
    ("offset_s", "expected"),
    [(0, None), (300, None), (-300, None), (301, "stale_timestamp"), (-301, "stale_timestamp")],
)
def test_the_tolerance_holds_both_ways(offset_s: int, expected: str | None) -> None:
    assert reason(stamped(str(NOW_S + offset_s))) == expected


def test_an_endpoint_may_set_another_tolerance() -> None:
    assert reason(stamped(str(NOW_S + 301)), tolerance_s=400) is None
    assert reason(stamped(str(NOW_S + 301)), tolerance_s=10) == "stale_timestamp"
    assert reason(stamped("0")) == "stale_timestamp"
    assert reason(stamped("9" * 12)) == "stale_timestamp"


def test_a_forgery_is_called_a_forgery_however_old() -> None:
    headers = stamped("1")
    headers[0] = ("X-Acme-Event", "pong")
    assert reason(headers) == "bad_signature"


def test_mail_has_no_tolerance_unless_the_endpoint_sets_one() -> None:
    mail = a_provider("email")
    request = a_delivery(mail)
    later = NOW_MS + 86_400_000
    assert isinstance(verdict(mail, request, now_ms=later), Verified)
    refused = verdict(mail, request, now_ms=later, tolerance_s=300)
    assert isinstance(refused, Refused)
    assert (refused.reason, refused.status) == ("stale_timestamp", 403)


def test_a_tolerance_means_nothing_where_no_time_is_signed() -> None:
    shop = a_provider("shopify")
    assert isinstance(verdict(shop, a_delivery(shop), tolerance_s=1, now_ms=0), Verified)


def test_without_a_usable_secret_nothing_is_verified() -> None:
    shop = a_provider("shopify")
    forged = a_delivery(shop, key=b"")  # signed with the empty key, which anybody has
    for secrets in ([], [a_secret(b"")], [a_secret(b""), a_secret(b"")]):
        found = shop.verify(forged, secrets, now_ms=NOW_MS)
        assert isinstance(found, Refused)
        assert found.reason == "no_secret"


def test_a_provider_that_signs_nothing_verifies_nothing() -> None:
    unsigned = Provider(a_definition(verify={"scheme": "none"}))
    assert not unsigned.signed
    found = verdict(unsigned, a_request([("X-Acme-Event", "a")]), b"key")
    assert isinstance(found, Refused)
    assert found.reason == "unsigned_provider"


def test_an_unsigned_endpoint_still_refuses_what_is_ambiguous() -> None:
    hub = a_provider("github")
    assert hub.accept_unsigned(a_request([("X-GitHub-Event", "push")])) == Verified(None)
    twice = [("X-GitHub-Event", "push"), ("x-host-event", "fork")]
    refused = hub.accept_unsigned(a_request(twice))
    assert isinstance(refused, Refused)
    assert refused.reason == "ambiguous_header"


def test_a_weaker_header_is_no_replacement() -> None:
    hub = a_provider("github")
    digest = hmac.new(invented(hub).sign, b"{}", "sha1").hexdigest()
    for name in ("X-Hub-Signature", "X-Hub-Signature-256"):
        found = verdict(hub, a_request([(name, f"sha1={digest}")]))
        assert isinstance(found, Refused)


def test_a_signature_of_any_length_is_not_even_decoded() -> None:
    mail = a_provider("sendgrid")
    header = mail.definition.verify.header[0]
    long = a_request([(header, "A" * 1028)])
    found = verdict(mail, long)
    assert isinstance(found, Refused)
    assert found.reason == "malformed_signature"


def test_a_doubled_header_of_no_part_is_no_contradiction() -> None:
    shop = a_provider("shopify")
    request = a_delivery(shop)
    more = ((b"accept", b"a"), (b"accept", b"b"))
    assert isinstance(verdict(shop, changed(request, headers=request.headers + more)), Verified)


def test_sha512_and_base64_are_a_matter_of_data() -> None:
    rule = {"scheme": "hmac", "header": "X-S", "algorithm": "sha512", "encoding": "base64"}
    acme = Provider(a_definition(verify=rule))
    request = a_delivery(acme, "any", body=b"{}", key=b"k" * 32)
    assert verdict(acme, request, b"k" * 32) == Verified("s0")
    assert isinstance(verdict(acme, changed(request, body=b"{ }"), b"k" * 32), Refused)


def test_of_several_ways_the_one_that_fits_counts_wherever_it_stands() -> None:
    """And of several refusals the one that came nearest, whichever way it is of."""
    one, two, three = (
        {"scheme": "hmac", "header": "X-One"},
        {"scheme": "hmac", "header": "X-Two"},
        {"scheme": "token", "header": "X-Three"},
    )
    several = Provider(a_definition(verify=one, also=[two, three]))
    mark = hmac.new(b"s3cret", b"{}", "sha256").hexdigest()
    for headers in ([("X-One", mark)], [("X-Two", mark)], [("X-Three", "s3cret")]):
        assert verdict(several, a_request(headers), b"s3cret") == Verified("s0")
    both = a_request([("X-One", "0" * 64), ("X-Two", mark)])
    assert verdict(several, both, b"s3cret") == Verified("s0")
    for headers, reason in (
        ([("X-One", "junk"), ("X-Two", "0" * 64)], "bad_signature"),
        ([("X-One", "0" * 64), ("X-Two", "junk")], "bad_signature"),
        ([("X-Two", "junk")], "malformed_signature"),
        ([], "missing_signature"),
    ):
        found = verdict(several, a_request(headers), b"s3cret")
        assert isinstance(found, Refused)
        assert found.reason == reason


STAMP = {"message": "{timestamp}.{body}", "tolerance": "300s", "timestamp": "X-Time"}
BY_SECRET = Provider(
    a_definition(
        verify={"scheme": "hmac", "header": "X-One"} | STAMP,
        also=[
            {"scheme": "hmac", "header": "X-Two"} | STAMP | {"timestamp": "X-Other-Time"},
            {"scheme": "token", "query": "key"},
        ],
    )
)
BY_KEYS = Provider(
    a_definition(
        verify={"scheme": "ed25519", "header": "X-One"} | STAMP,
        also=[
            {"scheme": "jwt", "header": "X-Three", "audience": "us"},
            {"scheme": "jwt", "header": "X-Four", "audience": "us"},
        ],
    )
)
PRIVATE = ed25519.invent(fixed_bytes)
KEYS = (ed25519.public_of(PRIVATE), bearer.key_set_of(PRIVATE))
OLD = str(NOW_S - 301)


def token(**claims: Any) -> str:
    claimed = {"aud": "us", "exp": NOW_S + 60} | claims
    return jwt.encode(claimed, PRIVATE, algorithm="EdDSA")


def marked(stamp: str, key: bytes = b"key") -> str:
    return hmac.new(key, f"{stamp}.{{}}".encode(), "sha256").hexdigest()


MARK = ed25519.sign(PRIVATE, f"{OLD}.{{}}".encode()).hex()
WRONG = marked(OLD, b"other")


@pytest.mark.parametrize(
    ("one", "two", "query", "reason"),
    [
        (("X-One", marked(OLD)), ("X-Two", WRONG), b"", "stale_timestamp"),
        (("X-One", WRONG), ("X-Two", marked(OLD)), b"", "stale_timestamp"),
        (("X-One", WRONG), ("X-Other-Time", "soon"), b"", "bad_signature"),
        (("X-Two", WRONG), ("X-Time", "soon"), b"", "bad_signature"),
        (("X-One", WRONG), ("X-Two", "junk"), b"key=a&key=b", "bad_signature"),
        (("X-Two", "junk"), ("X-None", ""), b"key=a&key=b", "malformed_signature"),
        (("X-None", ""), ("X-None", ""), b"key=a&key=b", "ambiguous_header"),
        (("X-None", ""), ("X-None", ""), b"", "missing_signature"),
    ],
)
def test_of_several_refusals_the_one_that_came_nearest_is_reported(
    one: tuple[str, str], two: tuple[str, str], query: bytes, reason: str
) -> None:
    """A signed time too old is nearer than a wrong signature, that nearer than a malformed one."""
    headers = {"X-Time": OLD, "X-Other-Time": OLD} | dict([one, two])
    request = changed(a_request(headers.items()), query_string=query)
    found = verdict(BY_SECRET, request, b"key")
    assert isinstance(found, Refused)
    assert found.reason == reason


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ({"X-Time": "soon"}, {"X-One": marked("soon"), "X-Two": WRONG}, "malformed_timestamp"),
        ({"X-Time": "soon"}, {"X-One": WRONG, "X-Two": "junk"}, "malformed_timestamp"),
        ({}, {"X-One": WRONG, "X-Two": "junk"}, "missing_header"),
    ],
)
def test_a_time_that_is_none_is_nearer_than_one_that_did_not_come(
    first: dict[str, str], second: dict[str, str], reason: str
) -> None:
    for headers in (first | second, second | first):
        found = verdict(BY_SECRET, a_request(headers.items()), b"key")
        assert isinstance(found, Refused)
        assert found.reason == reason


@pytest.mark.parametrize(
    ("mark", "three", "four", "reason"),
    [
        (MARK, token(exp=NOW_S), token(aud="nobody"), "stale_timestamp"),
        ("00" * 64, token(exp=NOW_S), token(aud="nobody"), "expired_token"),
        ("00" * 64, token(aud="nobody"), token(exp=NOW_S), "expired_token"),
        ("00" * 64, token(aud="nobody"), "junk", "wrong_claims"),
        ("00" * 64, "junk", token(aud="nobody"), "wrong_claims"),
        ("00" * 64, "junk", "junk", "bad_signature"),
        ("junk", "junk", token(exp=NOW_S), "expired_token"),
    ],
)
def test_a_token_that_was_good_is_nearer_than_one_that_never_was(
    mark: str, three: str, four: str, reason: str
) -> None:
    sent = {"X-One": mark, "X-Time": OLD, "X-Three": three, "X-Four": four}
    found = verdict(BY_KEYS, a_request(sent.items()), *KEYS)
    assert isinstance(found, Refused)
    assert found.reason == reason
