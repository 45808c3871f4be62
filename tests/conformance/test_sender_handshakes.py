"""
What built-in senders ask before they send is answered as each of them wants it; nothing else is.
"""

import json
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.model.delivery import InboundRequest, Refused, Verified
from router.providers import Provider, questions
from router.providers.handshakes import HandshakeAnswer
from router.providers.respond import Handshake
from tests.unit.providers.makers import (
    EVERY,
    NOW_MS,
    a_delivery,
    a_provider,
    a_request,
    a_secret,
    changed,
    invented,
    other_bytes,
    settled,
)

SECRET = "a-secret-of-the-endpoint"


class Asked(msgspec.Struct, frozen=True):
    """
    A question of a sender and the answer that it wants; `other`: what makes it none. `proved`: it
    comes with a proof, which other tests judge.
    """

    provider: str
    method: str = "POST"
    query: str = ""
    headers: dict[str, str] = {}
    body: Any = None
    proved: bool = False
    answer: str = ""
    status: int = 200
    answer_headers: dict[bytes, bytes] = {}
    other: dict[str, Any] = {}

    @property
    def request(self) -> InboundRequest:
        content = self.body or b""
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        bare = a_request(self.headers.items(), content)
        return changed(bare, method=self.method, query_string=self.query.encode())


VALIDATION = {"id": "1", "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent"}
ASKED = [
    Asked(
        "azure-event-grid",
        query=f"code={SECRET}",
        headers={"aeg-event-type": "SubscriptionValidation"},
        body=[VALIDATION | {"data": {"validationCode": "512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}}],
        answer='{"validationResponse":"512d38b6-c7b8-40c8-89fe-f46f9e9622b6"}',
        other={"headers": {"aeg-event-type": "Notification"}},
    ),
    Asked(
        "azure-event-grid",
        method="OPTIONS",
        query=f"code={SECRET}",
        headers={"WebHook-Request-Origin": "eventgrid.azure.net"},
        answer_headers={b"webhook-allowed-origin": b"eventgrid.azure.net"},
        other={"query": "code=another"},
    ),
    Asked("intercom", method="HEAD", other={"method": "GET"}),
    Asked(
        "microsoft-graph",
        query="validationToken=Validation%3A+Testing+reachability+Request-Id%3A+6d8f8b1e",
        answer="Validation: Testing reachability Request-Id: 6d8f8b1e",
        other={"query": "validationtoken=x"},
    ),
    Asked(
        "meta",
        method="GET",
        query=f"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={SECRET}",
        answer="1158201444",
        other={"query": "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=another"},
    ),
    Asked(
        "twitch",
        headers={
            "Twitch-Eventsub-Message-Type": "webhook_callback_verification",
            "Twitch-Eventsub-Message-Id": "m-1",
            "Twitch-Eventsub-Message-Timestamp": "1970-01-01T00:00:00Z",
            "Twitch-Eventsub-Message-Signature": "sha256="
            "0b886d18a48fcc5011b36e260cea335cc412a8a3f0370bb238b0af8f81844117",
        },
        body={"challenge": "pogchamp-kappa-360", "subscription": {"type": "channel.follow"}},
        answer="pogchamp-kappa-360",
        other={"body": {"challenge": "another"}},
    ),
    Asked("dropbox", method="GET", query="challenge=abc123", answer="abc123", other={"query": ""}),
    Asked(
        "x",
        method="GET",
        query="crc_token=MDM0ODczZTEtNTY4",
        answer='{"response_token":"sha256=RlDin2b+ZrzxaBitDGcFChcgEWtdi6hklSsg7PlAfY0="}',
        other={"query": "crc=MDM0ODczZTEtNTY4"},
    ),
    Asked(
        "okta",
        method="GET",
        headers={"x-okta-verification-challenge": "ZGfVQSRYyFpS3YT0mKxB"},
        answer='{"verification":"ZGfVQSRYyFpS3YT0mKxB"}',
        other={"headers": {}},
    ),
    Asked(
        "woocommerce",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        body=b"webhook_id=7",
        other={"body": b"webhook=7"},
    ),
    Asked("mandrill", method="HEAD", other={"method": "GET"}),
    Asked(
        "discord",
        body={"version": 1, "application_id": "1234560123453231555", "type": 0},
        proved=True,
        status=204,
        other={"body": {"version": 1, "type": 1, "event": {"type": "ENTITLEMENT_CREATE"}}},
    ),
    Asked(
        "discord",
        body={"id": "787053080478613555", "token": "t", "type": 1, "version": 1},
        proved=True,
        answer='{"type":1}',
        other={"proved": False},
    ),
]


def answered(asked: Asked) -> HandshakeAnswer | None:
    """What the question gets, with or without a proof."""
    provider, secrets = a_provider(asked.provider), [a_secret(SECRET.encode())]
    found = provider.unproved(asked.request, secrets)
    if found is None:
        verdict = provider.verify(asked.request, secrets, now_ms=0)
        verdict = Verified(secrets[0].name) if asked.proved else verdict
        proved = isinstance(verdict, Verified)
        found = provider.answer(asked.request, secrets, verdict) if proved else None
    return found if isinstance(found, HandshakeAnswer) else None


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: f"{asked.provider}-{asked.method}")
def test_a_question_is_answered_as_the_sender_wants(asked: Asked) -> None:
    found = answered(asked)
    assert found is not None
    assert (found.status, found.body) == (asked.status, asked.answer.encode())
    assert dict(found.headers) == asked.answer_headers
    assert answered(msgspec.structs.replace(asked, **asked.other)) is None


# -- every handshake of every sender --------------------------------------------------------------

ECHO = "3eZbrw1aBm2rZgRNFdxV"
EACH = [
    pytest.param(provider, one, id=f"{provider.name}-{index}-{one.method}")
    for provider in map(a_provider, EVERY)
    for index, one in enumerate(provider.definition.respond)
]
each_handshake = pytest.mark.parametrize(("provider", "one"), EACH)
Found = HandshakeAnswer | Refused | None


def question(
    provider: Provider, one: Handshake, *, key: bytes | None = None, echo: str = ECHO
) -> InboundRequest:
    """As its sender asks it, with a proof where there is one."""
    sign = invented(provider).sign if key is None else key
    made = questions.asked(provider.definition, one, key=sign, echo=echo, now_ms=NOW_MS)
    bare = a_request(made.headers, made.body)
    return changed(bare, method=made.method, query_string=made.query.encode())


def judged(provider: Provider, request: InboundRequest) -> Found | Verified:
    """What becomes of it at an endpoint with one secret: an answer, a refusal, or a delivery."""
    secrets = [a_secret(invented(provider).verify)]
    found = provider.unproved(request, secrets)
    if found is not None:
        return found
    proof = settled(provider, request, secrets)
    return (
        proof if isinstance(proof, Refused) else provider.answer(request, secrets, proof) or proof
    )


@each_handshake
def test_the_right_question_is_answered(provider: Provider, one: Handshake) -> None:
    assert one.method in provider.admits
    found = judged(provider, question(provider, one))
    assert isinstance(found, HandshakeAnswer)
    sent = found.body.decode() + repr(found.headers)
    assert (ECHO in sent) == ("{echo}" in str([one.template, one.answer_headers]))
    assert len(found.body) < 1000
    assert (found.visit is None) == (one.visit is None)


@each_handshake
def test_a_question_that_has_to_be_proved_is_not_answered_to_others(
    provider: Provider, one: Handshake
) -> None:
    if one.is_open:
        assert judged(provider, question(provider, one, key=b"")) == judged(
            provider, question(provider, one)
        )
        return
    wrong = provider.invent_secret(other_bytes).sign
    assert isinstance(judged(provider, question(provider, one, key=wrong)), Refused)
    right = question(provider, one)
    if provider.definition.verify.field is None:
        assert isinstance(judged(provider, changed(right, headers=(), query_string=b"")), Refused)
    if one.method == "POST" and provider.definition.verify.signs_body:
        assert isinstance(judged(provider, changed(right, body=right.body + b" ")), Refused)


@each_handshake
@pytest.mark.parametrize(
    "echo", ["", "x" * 257, "<b>", "a\nb", "\u00e4", '","a":"', "%0d", "{echo}"]
)
def test_what_is_no_harmless_text_is_not_sent_back(
    provider: Provider, one: Handshake, echo: str
) -> None:
    if one.echo is None:
        return
    request = question(provider, one)
    there, sent = ECHO.encode(), quote(echo).encode()
    headers = tuple((n, v.replace(there, echo.encode())) for n, v in request.headers)
    query = request.query_string.replace(there, sent)
    body = request.body.replace(there, json.dumps(echo).encode()[1:-1])
    odd = changed(request, headers=headers, query_string=query, body=body)
    found = judged(provider, odd)
    assert not isinstance(found, HandshakeAnswer)
    assert one.method == "POST" or isinstance(found, Refused)


@each_handshake
def test_what_is_asked_otherwise_is_no_question(provider: Provider, one: Handshake) -> None:
    """Each condition counts, and a sender's ordinary delivery is none."""
    for name in one.when:
        fewer = {key: value for key, value in one.when.items() if key != name}
        other = msgspec.structs.replace(one, when={**fewer, name: "another"})
        if one.when[name] != "*":
            assert not isinstance(judged(provider, question(provider, other)), HandshakeAnswer)
    assert judged(provider, a_delivery(provider)) == Verified("main")


@given(raw=st.binary(max_size=200), query=st.binary(max_size=60), header=st.binary(max_size=60))
@pytest.mark.parametrize("provider", list({p.values[0].name: p.values[0] for p in EACH}.values()))
def test_any_bytes_are_judged_and_never_taken_for_a_proof(
    provider: Provider, raw: bytes, query: bytes, header: bytes
) -> None:
    names = [b"content-type", b"webhook-request-origin", b"aeg-event-type", b"x-hook-secret"]
    headers = tuple((name, header) for name in names)
    for method in provider.admits:
        request = changed(a_request([], raw), method=method, query_string=query, headers=headers)
        assert not isinstance(judged(provider, request), Verified)
