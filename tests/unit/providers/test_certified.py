"""Signatures by a certificate that the request names: whose is believed, and what is asked for."""

import json
from typing import Any

import pytest

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider, certificates, certified, rsa
from router.providers.allowed_hosts import is_allowed
from router.providers.definition import CertificateRule
from router.providers.keys import UnusableKeyError
from router.providers.waiting import PublishedKey, Waiting
from tests.unit.providers.makers import (
    NOW_MS,
    a_definition,
    a_delivery,
    a_provider,
    a_secret,
    changed,
    invented,
    verdict,
)

PLACE = {"field": "Cert", "hosts": [".cloud.example"], "names": ["sign.cloud.example"]}
VERIFY: dict[str, Any] = {
    "scheme": "rsa",
    "field": "Signature",
    "encoding": "base64",
    "equals": "Topic",
    "partial": True,
    "message": "Message\n{json:Message}\n[Subject\n{json:Subject}\n]Topic\n{json:Topic}\n"
    "Type\n{json:Type}\n",
    "certificate": PLACE,
}
GIVEN: dict[str, Any] = {
    "event": {"field": "Type"},
    "samples": [{"for": "*", "payload": {"Message": "one\ntwo", "Type": "made"}}],
}
SENDER = Provider(a_definition(verify=VERIFY, **GIVEN))
SECRET = a_secret(invented(SENDER).verify)
ADDRESS = certified.address_of(SENDER.definition.verify.certificate or CertificateRule())
PRIVATE = rsa.load_private(certified.parted(invented(SENDER).sign)[1])


def delivered() -> InboundRequest:
    return a_delivery(SENDER, "made")


def asked(request: InboundRequest) -> Any:
    """What the verdict waits for, or why it is refused at once."""
    found = SENDER.judge(request, [SECRET], now_ms=NOW_MS)
    return found.ask if isinstance(found, Waiting) else getattr(found, "reason", found)


def by(certificate: bytes | None, now_ms: int = NOW_MS) -> Any:
    found = SENDER.judge(delivered(), [SECRET], now_ms=now_ms)
    assert isinstance(found, Waiting)
    said = found.then(certificate)
    return (said.reason, said.status) if isinstance(said, Refused) else said


def with_fields(request: InboundRequest, **fields: Any) -> InboundRequest:
    return changed(request, body=json.dumps(json.loads(request.body) | fields).encode())


def test_a_request_waits_for_the_certificate_that_it_names() -> None:
    ask = PublishedKey(ADDRESS, "certificate", (".cloud.example",), ("sign.cloud.example",))
    assert asked(delivered()) == ask
    assert by(certificates.self_signed(PRIVATE, ["sign.cloud.example"])) == Verified("main")


def test_until_it_is_known_the_sender_tries_again() -> None:
    assert by(None) == ("unknown_key", 503)
    assert by(b"") == ("unknown_key", 503)
    assert by(certificates.self_signed(PRIVATE, ["sign.cloud.example.evil"])) == (
        "unknown_key",
        503,
    )
    whole = certificates.self_signed(PRIVATE, ["sign.cloud.example"])
    assert by(whole, now_ms=-1) == ("unknown_key", 503)


def test_another_s_certificate_proves_nothing() -> None:
    other = rsa.load_private(rsa.invent(lambda count: b"another" * count))
    assert by(certificates.self_signed(other, ["sign.cloud.example"])) == ("bad_signature", 401)


@pytest.mark.parametrize(
    "address",
    [
        "http://sign.cloud.example/certificate.pem",
        "https://evil.example/certificate.pem",
        "https://cloud.example.evil.example/c.pem",
        "https://evilcloud.example/c.pem",
        "https://sign.cloud.example@evil.example/c.pem",
        "https://sign.cloud.example:8443/c.pem",
        "https://evil.example\\.cloud.example/c.pem",
        "https://127.0.0.1/c.pem",
        "//sign.cloud.example/c.pem",
        "https://sign.cloud.example/" + "c" * 3000,
    ],
)
def test_only_hosts_of_the_list_are_asked(address: str) -> None:
    assert asked(with_fields(delivered(), Cert=address)) == "untrusted_certificate"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"Topic": "another's"}, "bad_signature"),
        ({"Topic": None}, "bad_signature"),
        ({"Signature": ""}, "missing_signature"),
        ({"Cert": ["a"]}, "missing_signature"),
        ({"Cert": ""}, "missing_signature"),
    ],
)
def test_nothing_is_asked_for_what_cannot_hold(fields: dict[str, Any], reason: str) -> None:
    assert asked(with_fields(delivered(), **fields)) == reason
    assert asked(changed(delivered(), body=b"no JSON")) == "unreadable_body"


@pytest.mark.parametrize("field", ["Subject", "Type"])
def test_parts_of_a_genuine_message_are_not_taken_for_others(field: str) -> None:
    """A message in whose text another message stands, cut anew where its line breaks are."""
    assert verdict(SENDER, delivered()) == Verified("s0")
    found = verdict(SENDER, with_fields(delivered(), **{field: "x\nType\nmade"}))
    assert isinstance(found, Refused)
    assert (found.reason, "line break" in str(found.hint)) == ("malformed_signature", True)


def test_where_nobody_can_be_asked() -> None:
    found = SENDER.verify(delivered(), [SECRET], now_ms=NOW_MS)
    assert isinstance(found, Refused)
    assert found.status == 503


@pytest.mark.parametrize(
    ("region", "name"),
    [
        ("af-south-1", "sns-signing.af-south-1.amazonaws.com"),
        ("us-gov-east-1", "sns-us-gov-west-1.amazonaws.com"),
        ("cn-north-1", "sns-cn-north-1.amazonaws.com.cn"),
        ("eu-central-1", "sns.amazonaws.com"),
    ],
)
def test_amazon_signs_under_another_name_in_some_regions(region: str, name: str) -> None:
    """As the names in its own library for Java say."""
    rule = a_provider("aws-sns").definition.verify.certificate or CertificateRule()
    host = f"sns.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
    assert is_allowed(f"https://{host}/SimpleNotificationService-1.pem", rule.hosts)
    assert certificates.public_key(certificates.self_signed(PRIVATE, [name]), rule.names, NOW_MS)
    with pytest.raises(UnusableKeyError):
        certificates.public_key(
            certificates.self_signed(PRIVATE, [f"evil-{name}"]), rule.names, NOW_MS
        )
