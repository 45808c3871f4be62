"""
What time could tell: every secret is tried on every signature, and only by constant-time compares.

Comparisons are counted where the standard library makes them; the clock is no witness here
(`python -m tests.faults.timing` measures).
"""

import base64
import hmac

import pytest

from router.model.delivery import InboundRequest, Refused
from router.providers import Provider, parse_definition
from router.providers.keys import verifies as ecdsa_verifies
from tests.unit.providers.makers import (
    a_definition,
    a_delivery,
    a_provider,
    a_request,
    a_secret,
    verdict,
)

SECRETS = (b"first-secret-of-all", b"second-secret-of-all", b"third-secret-of-all")
BODY = b'{"id": 1}'


class Counted:
    """How often two values were compared in constant time."""

    def __init__(self) -> None:
        self.calls = 0
        self.unequal_lengths = 0
        self._compare = hmac.compare_digest

    def __call__(self, a: bytes, b: bytes) -> bool:
        self.calls += 1
        self.unequal_lengths += len(a) != len(b)
        return self._compare(a, b)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    found = Counted()
    monkeypatch.setattr(hmac, "compare_digest", found)
    return found


def anew(name: str) -> Provider:
    """The built-in provider, made again: the one that all share was made before the counting."""
    return Provider(a_provider(name).definition)


def listed(*signatures: str) -> InboundRequest:
    """A Stripe delivery with these signatures."""
    return a_request([("Stripe-Signature", ",".join(["t=1705312200", *signatures]))], BODY)


def hexed(secret: bytes) -> str:
    return "v1=" + hmac.new(secret, b"1705312200." + BODY, "sha256").hexdigest()


@pytest.mark.parametrize("right", [0, 1, 2, None])
def test_every_signature_is_compared_with_every_secret(counted: Counted, right: int | None) -> None:
    wrong = ["v1=" + f"{n:064x}" for n in range(3)]
    if right is not None:
        wrong[right] = hexed(SECRETS[right])
    found = verdict(anew("stripe"), listed(*wrong), *SECRETS)
    assert isinstance(found, Refused) is (right is None)
    assert (counted.calls >= 9, counted.unequal_lengths) == (True, 0)
    if right is not None:
        assert counted.calls == 9


@pytest.mark.parametrize("right", [0, 1, 2])
@pytest.mark.parametrize("name", ["shopify", "github"])
def test_a_single_signature_is_compared_with_every_secret(
    counted: Counted, name: str, right: int
) -> None:
    provider = anew(name)
    headers = provider.sign(
        event="push", body=BODY, key=SECRETS[right], delivery_id="1", now_ms=1_705_312_200_000
    )
    assert not isinstance(verdict(provider, a_request(headers, BODY), *SECRETS), Refused)
    assert (counted.calls, counted.unequal_lengths) == (3, 0)


@pytest.mark.parametrize("right", [0, 1, 2])
def test_a_signature_that_stands_elsewhere_is_compared_with_every_secret(
    counted: Counted, right: int
) -> None:
    acme = Provider(a_definition(verify={"scheme": "hmac", "query": "sig", "message": "{body}"}))
    request = a_delivery(acme, body=BODY, key=SECRETS[right])
    assert not isinstance(verdict(acme, request, *SECRETS), Refused)
    assert (counted.calls, counted.unequal_lengths) == (3, 0)


@pytest.mark.parametrize("right", [0, 1, 2])
def test_a_token_is_compared_with_every_secret_whatever_their_lengths(
    counted: Counted, right: int
) -> None:
    secrets = (b"short-secret-one", b"a-longer-secret-two", b"x" * 100)
    rule = {"scheme": "token", "header": "X-Token"}
    provider = Provider(
        parse_definition({"names": ["a"], "label": "A", "verify": rule, "event": {"header": "X-E"}})
    )
    request = a_request([("X-Token", secrets[right].decode())])
    assert not isinstance(verdict(provider, request, *secrets), Refused)
    assert (counted.calls, counted.unequal_lengths) == (3, 0)


@pytest.mark.parametrize("right", [0, 1, 2])
def test_a_password_is_compared_with_every_secret(counted: Counted, right: int) -> None:
    pair = base64.b64encode(b"me:" + SECRETS[right]).decode()
    secrets = tuple(b"me:" + secret for secret in SECRETS)
    request = a_request([("Authorization", f"Basic {pair}")])
    assert not isinstance(verdict(anew("basic"), request, *secrets), Refused)
    assert (counted.calls, counted.unequal_lengths) == (3, 0)


def test_a_public_key_that_fits_does_not_spare_the_others() -> None:
    """The check of ECDSA is no comparison: here the verdict alone can be looked at."""
    mail = a_provider("email")
    keys = [mail.invent_secret(lambda count, n=n: bytes([n]) * count) for n in (1, 2, 3)]
    for right, key in enumerate(keys):
        headers = mail.sign(
            event="bounce", body=b"[]", key=key.sign, delivery_id="1", now_ms=1_705_312_200_000
        )
        secrets = [a_secret(k.verify, f"s{n}") for n, k in enumerate(keys)]
        found = mail.verify(a_request(headers, b"[]"), secrets, now_ms=1_705_312_200_000)
        assert found.secret == f"s{right}"  # type: ignore[union-attr]
    assert not ecdsa_verifies(keys[0].verify, b"", b"\0" * 32)
