"""What built-in senders ask before they send is answered as each of them wants it."""

import json
from typing import Any

import msgspec
import pytest

from router.model.delivery import InboundRequest, Verified
from router.providers.handshakes import HandshakeAnswer
from tests.unit.providers.makers import a_provider, a_request, a_secret, changed

SECRET = "a-secret-of-the-endpoint"


class Asked(msgspec.Struct, frozen=True):
    """A question of a sender and the answer that it wants; `other`: what makes it none."""

    provider: str
    method: str = "POST"
    query: str = ""
    headers: dict[str, str] = {}
    body: Any = None
    answer: str = ""
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
]


def answered(asked: Asked) -> HandshakeAnswer | None:
    """What the question gets, with or without a proof."""
    provider, secrets = a_provider(asked.provider), [a_secret(SECRET.encode())]
    found = provider.unproved(asked.request, secrets)
    if found is None:
        verdict = provider.verify(asked.request, secrets, now_ms=0)
        proved = isinstance(verdict, Verified)
        found = provider.answer(asked.request, secrets, verdict) if proved else None
    return found if isinstance(found, HandshakeAnswer) else None


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: f"{asked.provider}-{asked.method}")
def test_a_question_is_answered_as_the_sender_wants(asked: Asked) -> None:
    found = answered(asked)
    assert found is not None
    assert found.body == asked.answer.encode()
    assert dict(found.headers) == asked.answer_headers
    assert answered(msgspec.structs.replace(asked, **asked.other)) is None
