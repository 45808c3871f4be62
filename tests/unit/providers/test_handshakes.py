"""Handshakes are bounded and inert: a short harmless token comes back, and nothing happens."""

import json
from typing import Any

import pytest

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider
from tests.unit.providers.makers import a_definition, a_provider, a_request, a_secret, changed

ASKS = {
    "method": "GET",
    "when": {"hub.mode": "subscribe"},
    "echo": "hub.challenge",
    "token": "hub.verify_token",
}
META = Provider(a_definition(respond=[ASKS]))
SECRETS = [a_secret(b"first-secret"), a_secret(b"second", "other")]


def asking(query: bytes) -> InboundRequest:
    return changed(a_request(), method="GET", query_string=query, body=b"")


def slack(**body: Any) -> InboundRequest:
    return a_request([], json.dumps(body).encode())


def test_the_url_verification_of_slack() -> None:
    provider = a_provider("slack")
    known = {"type": "url_verification", "challenge": "3eZbrw1aBm2rZgRNFdxV"}
    assert provider.answer(slack(**known)) == b"3eZbrw1aBm2rZgRNFdxV"
    assert provider.answer(slack(**known | {"type": "event_callback"})) is None
    assert provider.answer(slack(type="event_callback", text="url_verification")) is None
    assert provider.answer(a_request([], b"url_verification")) is None
    assert provider.answer(a_request([], b'["url_verification"]')) is None
    assert provider.answer(slack(**known, pad="x" * 9000)) is None


@pytest.mark.parametrize(
    "challenge",
    [
        "",
        "<script>alert(1)</script>",
        "a b",
        "a\nb",
        "é",
        "x" * 257,
        None,
        5,
        ["a"],
        "a\x00",
        "%3C",
    ],
)
def test_only_short_harmless_tokens_are_echoed(challenge: Any) -> None:
    provider = a_provider("slack")
    assert provider.answer(slack(type="url_verification", challenge=challenge)) is None


def test_a_question_by_get_is_answered_to_who_knows_the_token() -> None:
    query = b"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    assert META.verify_handshake(asking(query + b"first-secret"), SECRETS) == Verified("main")
    assert META.verify_handshake(asking(query + b"second"), SECRETS) == Verified("other")
    assert META.answer(asking(query + b"second")) == b"1158201444"
    for wrong in (b"", b"third", b"first-secret&hub.verify_token=x"):
        found = META.verify_handshake(asking(query + wrong), SECRETS)
        assert isinstance(found, Refused)
        assert (found.reason, found.status) == ("bad_token", 401)
    assert isinstance(META.verify_handshake(asking(query), [a_secret(b"")]), Refused)


@pytest.mark.parametrize(
    "query",
    [
        b"",
        b"hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=second",
        b"hub.mode=subscribe&hub.challenge=%3Cb%3E&hub.verify_token=second",
        b"hub.mode=subscribe&hub.challenge=1&hub.challenge=2&hub.verify_token=second",
        b"hub.mode=subscribe&hub.verify_token=second",
        b"a=1&" * 200 + b"hub.mode=subscribe&hub.challenge=1&hub.verify_token=second",
        b"\xff=\xfe",
    ],
)
def test_what_asks_nothing_known_is_refused(query: bytes) -> None:
    found = META.verify_handshake(asking(query), SECRETS)
    assert isinstance(found, Refused)
    assert (found.reason, found.status) == ("no_handshake", 400)
    assert META.answer(asking(query)) is None


def test_a_question_without_a_token() -> None:
    open_one = Provider(a_definition(respond=[{"method": "GET", "echo": "challenge"}]))
    assert open_one.verify_handshake(asking(b"challenge=abc"), []) == Verified(None)
    assert open_one.answer(asking(b"challenge=abc")) == b"abc"


def test_methods_of_deliveries_and_handshakes() -> None:
    assert META.methods == {"POST"}
    assert META.admits == {"GET", "POST"}
    assert a_provider("slack").admits == {"POST"}
    assert META.hidden(asking(b"hub.verify_token=s")).query_string == b"hub.verify_token=[removed]"
