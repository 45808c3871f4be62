"""A captured request and its secret are enough to tell the scheme."""

from typing import Any

import pytest

from router.diagnosis.probe import known_senders
from router.diagnosis.scheme_finder import fits
from router.model.delivery import LiveSecret, Verified
from router.providers import Provider
from tests.unit.providers.makers import (
    AT_HAND,
    EVERY,
    a_definition,
    a_delivery,
    a_provider,
    changed,
    invented,
    other_bytes,
    verdict,
)

HMAC = {"scheme": "hmac", "header": "X-Sig"}
WRITTEN: list[dict[str, Any]] = [
    HMAC,
    HMAC | {"encoding": "base64url", "algorithm": "sha512", "key": "hex"},
    HMAC | {"prefix": "sig=", "encoding": "base64", "key": "base64"},
    HMAC | {"message": "{header:X-Acme-Event}|{body}"},
    HMAC | {"message": "{body}:{timestamp}", "timestamp": "X-Time"},
    {"scheme": "token", "header": "X-Key", "prefix": "key-"},
    {"scheme": "token", "query": "key"},
    {"scheme": "basic", "user": "ada"},
    {
        "scheme": "ed25519",
        "header": "X-Sig",
        "timestamp": "X-Time",
        "message": "{timestamp}{body}",
    },
]


def remade(verify: dict[str, Any], number: dict[str, Any] | None) -> Provider:
    keys = {"id": number} if number else {}
    return Provider(a_definition(verify=verify, **keys))


TOLD = [
    name
    for name in EVERY
    for rule in [a_provider(name).definition.verify]
    if "{json:" not in rule.message and rule.certificate is None
]
"""Who signs a choice of fields, or by a certificate, is known by name only."""
KINDS = {"basic", "discord", "gitlab", "jwt", "mailgun", "slack", "stripe", "twilio"}
"""One of each kind of proof; all others are long."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in KINDS else pytest.mark.long) for n in TOLD]
)
def test_the_scheme_of_every_provider_is_found(name: str) -> None:
    provider = a_provider(name)
    request, secret = a_delivery(provider), invented(provider).verify
    found = fits(request, secret)
    assert found
    assert found[0].verify["scheme"] in {rule.scheme for rule in provider.definition.ways}
    again = remade(found[0].verify, found[0].id)
    assert isinstance(verdict(again, request, secret), Verified)
    assert fits(request, provider.invent_secret(other_bytes).verify) == []


@pytest.mark.parametrize("rule", WRITTEN, ids=range(len(WRITTEN)))
def test_schemes_of_users_are_found(rule: dict[str, Any]) -> None:
    provider = Provider(a_definition(verify=rule))
    found = fits(a_delivery(provider), invented(provider).verify)
    for key, value in rule.items():
        assert found[0].verify[key] == value


@pytest.mark.parametrize("name", AT_HAND)
def test_known_senders_are_recognised(name: str) -> None:
    provider = a_provider(name)
    every = [a_provider(n) for n in EVERY]
    request, secret = a_delivery(provider), invented(provider).verify
    assert provider in known_senders(request, [LiveSecret("given", secret)], every)
    assert known_senders(request, [LiveSecret("given", b"another")], every) == []


def test_a_body_that_lost_its_end_is_reported() -> None:
    provider = Provider(a_definition(verify=HMAC))
    request = a_delivery(provider, "made", body=b'{"a": 1}\n')
    (found,) = fits(changed(request, body=b'{"a": 1}'), invented(provider).verify)
    assert found.note == "with a line break at its end"


@pytest.mark.long
def test_nothing_is_found_in_nothing() -> None:
    request = changed(a_delivery(a_provider("github")), headers=())
    assert fits(request, b"secret") == []
    many = tuple((b"x-%d" % i, b"1705312200") for i in range(100))
    assert fits(changed(request, headers=many), b"secret") == []
