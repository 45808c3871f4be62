"""Handshakes are bounded and inert: a short harmless text comes back, and nothing happens."""

import base64
import hmac
import json
from typing import Any

import pytest

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider
from router.providers.handshakes import HandshakeAnswer
from tests.unit.providers.makers import a_definition, a_provider, a_request, a_secret, changed

FIRST, SECOND = b"first-secret", b"second"
SECRETS = [a_secret(FIRST), a_secret(SECOND, "other")]
TEXT = "text/plain; charset=utf-8"


def asking(*handshakes: dict[str, Any], **keys: Any) -> Provider:
    return Provider(a_definition(respond=list(handshakes), **keys))


def sent(method: str, query: bytes = b"", **headers: str) -> InboundRequest:
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return changed(a_request(pairs), method=method, query_string=query, body=b"")


def posted(body: Any, **headers: str) -> InboundRequest:
    pairs = [(name.replace("_", "-"), value) for name, value in headers.items()]
    return a_request(pairs, json.dumps(body).encode())


def answered(
    provider: Provider, request: InboundRequest, by: str | None = "main"
) -> HandshakeAnswer | None:
    """What a request gets that is proved by this secret."""
    return provider.answer(request, SECRETS, Verified(by))


def text(found: HandshakeAnswer | Refused | None) -> bytes | None:
    return found.body if isinstance(found, HandshakeAnswer) else None


META = asking(
    {
        "method": "GET",
        "when": {"hub.mode": "subscribe"},
        "echo": "hub.challenge",
        "token": "hub.verify_token",
    }
)


def test_the_url_verification_of_slack() -> None:
    provider = a_provider("slack")
    known = {"type": "url_verification", "challenge": "3eZbrw1aBm2rZgRNFdxV"}
    assert answered(provider, posted(known)) == HandshakeAnswer(b"3eZbrw1aBm2rZgRNFdxV", TEXT)
    others = [
        posted(known | {"type": "event_callback"}),
        posted({"type": "event_callback", "text": "url_verification"}),
        a_request([], b"url_verification"),
        a_request([], b'["url_verification"]'),
        posted(known | {"pad": "x" * 9000}),
    ]
    assert [answered(provider, request) for request in others] == [None] * 5
    assert provider.unproved(posted(known), SECRETS) is None


@pytest.mark.parametrize(
    "challenge",
    [
        "",
        "<script>alert(1)</script>",
        " a",
        "a ",
        "a\nb",
        "a\n",
        "é",
        "x" * 257,
        None,
        1.5,
        ["a"],
        "a\x00",
        "%3C",
        '","admin":"true',
    ],
)
def test_only_short_harmless_texts_are_echoed(challenge: Any) -> None:
    asked = posted({"type": "url_verification", "challenge": challenge})
    assert answered(a_provider("slack"), asked) is None
    unsigned = asking({"when": {"type": "*"}, "echo": "challenge", "unsigned": True})
    assert unsigned.unproved(asked, SECRETS) is None


def test_a_question_by_get_is_answered_to_who_knows_the_token() -> None:
    query = b"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
    for right in (FIRST, SECOND):
        assert text(META.unproved(sent("GET", query + right), SECRETS)) == b"1158201444"
    for wrong in (b"", b"third", b"first-secret&hub.verify_token=x"):
        found = META.unproved(sent("GET", query + wrong), SECRETS)
        assert isinstance(found, Refused)
        assert (found.reason, found.status) == ("bad_token", 401)
    assert isinstance(META.unproved(sent("GET", query), [a_secret(b"")]), Refused)


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
    found = META.unproved(sent("GET", query), SECRETS)
    assert isinstance(found, Refused)
    assert (found.reason, found.status) == ("no_handshake", 400)


def test_a_question_without_a_token() -> None:
    open_one = asking({"method": "GET", "echo": "challenge"})
    assert text(open_one.unproved(sent("GET", b"challenge=abc"), [])) == b"abc"


def test_methods_of_deliveries_and_handshakes() -> None:
    assert META.methods == {"POST"}
    assert META.admits == {"GET", "POST"}
    assert a_provider("slack").admits == {"POST"}
    shown = META.hidden(sent("GET", b"hub.verify_token=s")).query_string
    assert shown == b"hub.verify_token=[removed]"


def test_a_challenge_in_a_header_answered_as_json() -> None:
    okta = asking(
        {
            "method": "GET",
            "echo": "header:X-Okta-Verification-Challenge",
            "answer": {"verification": "{echo}"},
        }
    )
    found = okta.unproved(sent("GET", X_Okta_Verification_Challenge="a+b/c="), SECRETS)
    assert found == HandshakeAnswer(b'{"verification":"a+b/c="}', "application/json")
    assert isinstance(okta.unproved(sent("GET"), SECRETS), Refused)
    twice = sent("GET", X_Okta_Verification_Challenge="a")
    twice = changed(twice, headers=twice.headers * 2)
    assert isinstance(okta.unproved(twice, SECRETS), Refused)


def test_an_unsigned_question_by_post_is_answered_before_the_proof() -> None:
    graph = asking(
        {"when": {"query:validationToken": "*"}, "echo": "query:validationToken", "unsigned": True}
    )
    asked = changed(posted({}), query_string=b"validationToken=Validation%3A+a+Request-Id%3A+1")
    assert text(graph.unproved(asked, SECRETS)) == b"Validation: a Request-Id: 1"
    assert graph.unproved(posted({"value": []}), SECRETS) is None
    assert answered(graph, asked) is None, "it was answered already, or was none"


def test_a_secret_that_is_given_in_a_header_comes_back_in_one() -> None:
    asana = asking(
        {
            "when": {"header:X-Hook-Secret": "*"},
            "echo": "header:X-Hook-Secret",
            "answer": "",
            "answer_headers": {"X-Hook-Secret": "{echo}"},
            "status": 202,
            "unsigned": True,
        }
    )
    found = asana.unproved(posted({}, X_Hook_Secret="abc"), [])
    assert found == HandshakeAnswer(b"", TEXT, 202, ((b"x-hook-secret", b"abc"),))


def test_a_static_answer_to_one_event_alone() -> None:
    discord = asking({"when": {"type": 1}, "answer": {"type": 1}})
    assert text(answered(discord, posted({"type": 1, "id": "7"}))) == b'{"type":1}'
    for other in ({"type": 2}, {"type": True}, {"type": [1]}, {"id": 1}):
        assert answered(discord, posted(other)) is None


def test_a_code_in_a_list_by_its_number() -> None:
    grid = asking(
        {
            "when": {"field:0.eventType": "Validate"},
            "echo": "field:0.data.validationCode",
            "answer": {"validationResponse": "{echo}"},
        }
    )
    event = {"eventType": "Validate", "data": {"validationCode": "512d38b6"}}
    assert text(answered(grid, posted([event]))) == b'{"validationResponse":"512d38b6"}'
    for other in ([], [{}], [[event]], {"0": 1}, [{"eventType": "Validate"}]):
        assert answered(grid, posted(other)) is None


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD"])
def test_questions_by_other_methods(method: str) -> None:
    events = asking(
        {
            "method": method,
            "echo": "header:WebHook-Request-Origin",
            "answer": "",
            "answer_headers": {"WebHook-Allowed-Origin": "{echo}"},
        }
    )
    assert events.admits == {"POST", method}
    found = events.unproved(sent(method, WebHook_Request_Origin="eventgrid.example.net"), [])
    assert isinstance(found, HandshakeAnswer)
    assert found.headers == ((b"webhook-allowed-origin", b"eventgrid.example.net"),)
    assert isinstance(events.unproved(sent(method), []), Refused)


def test_an_address_is_asked_for_by_head() -> None:
    trello = asking({"method": "HEAD"})
    assert trello.unproved(sent("HEAD"), []) == HandshakeAnswer(b"", TEXT)


def test_a_ping_that_is_a_form() -> None:
    shop = asking({"when": {"webhook_id": "*"}, "answer": "pong", "unsigned": True})
    form = "application/x-www-form-urlencoded"
    ping = a_request([("Content-Type", form)], b"webhook_id=17")
    assert text(shop.unproved(ping, SECRETS)) == b"pong"
    for body in (b"webhook=17", b"webhook_id=%zz", b"a=1&" * 200 + b"webhook_id=1"):
        assert shop.unproved(a_request([("Content-Type", form)], body), SECRETS) is None


# -- an HMAC of the question ----------------------------------------------------------------------

ZOOM = asking(
    {
        "when": {"event": "endpoint.url_validation"},
        "echo": "payload.plainToken",
        "answer": {"plainToken": "{echo}", "encryptedToken": "{hmac_hex}"},
    }
)
CRC = {"method": "GET", "echo": "crc_token", "answer": {"response_token": "sha256={hmac_base64}"}}


@pytest.mark.parametrize(("secret", "key"), [("main", FIRST), ("other", SECOND)])
def test_an_hmac_by_the_secret_that_proved_the_question(secret: str, key: bytes) -> None:
    asked = posted({"event": "endpoint.url_validation", "payload": {"plainToken": "qgg8vlvZ"}})
    found = answered(ZOOM, asked, secret)
    assert json.loads(text(found) or b"") == {
        "plainToken": "qgg8vlvZ",
        "encryptedToken": hmac.new(key, b"qgg8vlvZ", "sha256").hexdigest(),
    }
    assert ZOOM.answer(asked, [], Verified(None)) is None, "without a secret it is a delivery"


def test_an_hmac_for_who_asks_is_by_the_first_secret() -> None:
    found = asking(CRC).unproved(sent("GET", b"crc_token=abc"), SECRETS)
    right = base64.b64encode(hmac.digest(FIRST, b"abc", "sha256")).decode()
    assert json.loads(text(found) or b"") == {"response_token": f"sha256={right}"}
    refused = asking(CRC).unproved(sent("GET", b"crc_token=abc"), [])
    assert isinstance(refused, Refused)
    assert refused.reason == "no_secret"


def test_what_an_answer_has_signed_proves_no_delivery() -> None:
    """Else anybody could have the router itself sign a small body."""
    provider = asking(CRC)
    token = sent("GET", b"crc_token=12345")
    assert isinstance(provider.unproved(token, SECRETS), HandshakeAnswer)
    signed = hmac.new(FIRST, b"12345", "sha256").hexdigest()
    forged = a_request([("X-Acme-Signature", signed)], b"12345")
    assert isinstance(provider.verify(forged, SECRETS, now_ms=0), Verified)
    found = provider.unproved(forged, SECRETS)
    assert isinstance(found, Refused)
    assert found.reason == "bad_signature"
    assert provider.unproved(posted({"a": 1}), SECRETS) is None


# -- addresses to visit ---------------------------------------------------------------------------

SNS = asking(
    {
        "when": {"Type": "SubscriptionConfirmation"},
        "visit": "SubscribeURL",
        "hosts": [".amazonaws.com", "sns.example.com"],
    }
)


def confirming(address: Any) -> InboundRequest:
    return posted({"Type": "SubscriptionConfirmation", "SubscribeURL": address})


@pytest.mark.parametrize(
    "address",
    [
        "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&Token=1",
        "https://SNS.example.com:443/a",
    ],
)
def test_the_address_of_a_proved_question_is_to_be_visited(address: str) -> None:
    assert answered(SNS, confirming(address)) == HandshakeAnswer(b"", TEXT, visit=address)
    assert answered(SNS, confirming(address), None) is None, "nothing proved it"


@pytest.mark.parametrize(
    "address",
    [
        "http://sns.example.com/",
        "https://sns.example.com:8443/",
        "https://sns.example.com:x/",
        "https://a.sns.example.com/",
        "https://amazonaws.com/",
        "https://.amazonaws.com/",
        "https://amazonaws.com.evil.example/",
        "https://evil.example/?.amazonaws.com",
        "https://evil.example\\.amazonaws.com/",
        "https://user@sns.example.com/",
        "https://sns.example.com/ a",
        "https://sns.example.com/\r\nA: b",
        "https://sns.example.com/" + "a" * 2048,
        "https://[::1/",
        "https://127.0.0.1/",
        "sns.example.com",
        "",
        None,
        7,
    ],
)
def test_no_other_address_is_visited(address: Any) -> None:
    assert answered(SNS, confirming(address)) is None
