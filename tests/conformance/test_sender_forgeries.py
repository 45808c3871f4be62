"""What senders that sign a choice of fields leave unsigned is no way to another's messages."""

import json
from typing import Any

import pytest

from router.model.delivery import Refused, Verified
from tests.unit.providers.makers import a_delivery, a_provider, a_secret, changed, invented, settled

TOPIC = "arn:aws:sns:eu-central-1:123456789012:ours"
SNS, ADYEN = a_provider("aws-sns"), a_provider("adyen")
BEGINNING, KEY = invented(SNS).sign.split(b"\n", 1)


def signed_by(topic: str, **fields: str) -> dict[str, Any]:
    """A genuine message of a topic."""
    sample = {**SNS.sample("Notification"), "TopicArn": topic, **fields}
    sample.pop("Subject")
    body = json.dumps(sample).encode()
    made: dict[str, Any] = json.loads(
        a_delivery(SNS, body=body, key=topic.encode() + b"\n" + KEY).body
    )
    return made


def judged(message: dict[str, Any], topic: str = TOPIC) -> Verified | Refused:
    request = changed(a_delivery(SNS), body=json.dumps(message).encode())
    return settled(SNS, request, [a_secret(topic.encode())])


def test_a_message_is_of_its_own_topic_only() -> None:
    ours, theirs = signed_by(TOPIC), signed_by(TOPIC + "-of-another")
    assert isinstance(judged(ours), Verified)
    assert isinstance(judged(theirs), Refused)
    assert isinstance(judged(theirs | {"TopicArn": TOPIC}), Refused)


def test_a_text_within_a_message_of_another_topic_is_not_taken_for_ours() -> None:
    """Both messages are signed as the same text, were line breaks let in everywhere."""
    ours = {"Message": "pay", "MessageId": "1", "Timestamp": "2024-01-15T10:30:00.000Z"}
    tail = "Notification\nMessageId\n2\nTimestamp\n2024\nTopicArn\narn:theirs\nType\nNotification"
    within = (
        f"{ours['Message']}\nMessageId\n{ours['MessageId']}\nTimestamp\n{ours['Timestamp']}"
        f"\nTopicArn\n{TOPIC}\nType\nNotification"
    )
    theirs = signed_by("arn:theirs", Message=within, MessageId="2", Timestamp="2024")
    assert isinstance(judged(theirs, "arn:theirs"), Verified)
    forged = theirs | ours | {"TopicArn": TOPIC, "Type": tail}
    assert isinstance(judged(forged), Refused)


@pytest.mark.parametrize(
    ("path", "value", "kept"),
    [
        ("amount.value", 1, False),
        ("success", "false", False),
        ("merchantReference", "1002", False),
        ("eventCode", "REFUND", False),
        ("reason", "another", True),
    ],
)
def test_signed_fields_of_an_item_are_kept_by_its_signature(
    path: str, value: object, kept: bool
) -> None:
    request = a_delivery(ADYEN, "AUTHORISATION")
    body = json.loads(request.body)
    held = body["notificationItems"][0]["NotificationRequestItem"]
    *way, last = path.split(".")
    for key in way:
        held = held[key]
    held[last] = value
    other = changed(request, body=json.dumps(body).encode())
    secrets = [a_secret(invented(ADYEN).verify)]
    assert isinstance(settled(ADYEN, other, secrets), Verified) == kept


def test_each_item_of_a_delivery_is_proved() -> None:
    request = a_delivery(ADYEN, "AUTHORISATION")
    body = json.loads(request.body)
    forged = json.loads(json.dumps(body["notificationItems"][0]))
    forged["NotificationRequestItem"]["amount"]["value"] = 1
    body["notificationItems"].append(forged)
    secrets = [a_secret(invented(ADYEN).verify)]
    other = changed(request, body=json.dumps(body).encode())
    assert isinstance(settled(ADYEN, other, secrets), Refused)
