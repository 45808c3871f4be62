"""The tests' second opinions agree with the router: signatures, numbers of states, defaults."""

import pytest

from router.model.delivery import InboundRequest, LiveSecret, Refused, Verified
from router.model.settings import ServerSettings
from router.providers import builtin
from router.serving import socket_activation
from router.store.common import states
from tests import ledger
from tests.builders import NOW, a_request
from tests.deploy import rules
from tests.signing import SENDERS, Headers, Secret, new_secret, signed

BODY = b'{"id": 1, "note": "T\xc3\xbcr"}'
EVENT, ID = "orders/paid", "00000000-0000-4000-8000-000000000001"
DIFFERENT = {"X-Twilio-Email-Event-Webhook-Signature", "Authorization"}
"""Headers in which two signatures of one body may differ."""


def headers_of(sender: str, secret: Secret) -> Headers:
    return signed(sender, BODY, secret.sign, event=EVENT, delivery_id=ID, now_ms=NOW)


def request_of(headers: Headers) -> InboundRequest:
    pairs = tuple((name.lower().encode(), value.encode()) for name, value in headers)
    return a_request(headers=pairs, body=BODY)


@pytest.mark.parametrize("sender", SENDERS)
def test_the_router_verifies_what_the_tests_sign(sender: str) -> None:
    provider, secret, other = builtin()[sender], new_secret(sender), new_secret(sender)
    known = [LiveSecret("known", secret.verify)]
    assert isinstance(
        provider.verify(request_of(headers_of(sender, secret)), known, now_ms=NOW), Verified
    )
    assert isinstance(
        provider.verify(request_of(headers_of(sender, other)), known, now_ms=NOW), Refused
    )


@pytest.mark.parametrize("sender", SENDERS)
def test_the_router_signs_as_the_tests_do(sender: str) -> None:
    """The tests may send more headers, as the sender does, but none of the router's is missing."""
    secret = new_secret(sender)
    of_router = dict(
        builtin()[sender].sign(event=EVENT, body=BODY, key=secret.sign, delivery_id=ID, now_ms=NOW)
    )
    own = dict(headers_of(sender, secret))
    assert of_router.keys() <= own.keys()
    same = of_router.keys() - (DIFFERENT if secret.sign != secret.verify else set())
    assert {name: of_router[name] for name in same} == {name: own[name] for name in same}


def test_the_ledger_numbers_states_as_the_stores_do() -> None:
    assert ledger.STATES == states.STATES
    assert ledger.OUTCOMES == states.OUTCOMES
    assert ledger.DELIVERY_STATES == states.DELIVERY_STATES


def test_deploy_reckons_with_the_router_s_defaults() -> None:
    settings = ServerSettings()
    assert settings.grace_s == rules.GRACE_S
    assert settings.listen.rpartition(":")[2] == rules.PORT
    assert socket_activation.NAMES == rules.SOCKETS
