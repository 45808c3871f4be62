"""What is handed over of a delivery: its events' own words, and nothing of others'."""

from typing import Any

import msgspec
import pytest

from router.expressions import encode_json
from router.model.delivery import Redaction
from router.model.job import Attempt
from router.operator.subject import SubjectData, exported
from router.store.values import DeliveryRecord, EventEntry, Stored
from tests.builders import NOW, a_delivery, a_job, a_rule, a_ruleset

RULES = a_ruleset(a_rule("one"))
BATCH = b'[{"email":"ann@x.de","event":"open"},{"email":"bob@x.de","event":"open"}]'


def a_record(covers: tuple[int, ...] = (), **given: Any) -> DeliveryRecord:
    """Its job has one attempt, that said `done`."""
    job = a_job(state="dead", reason="said done", covers=covers, ended_at=NOW)
    said = {"text": "done", "json": "done"}
    attempt = Attempt(job.id, 1, NOW, NOW + 5, "dead", "said done", said, "g")
    entry = EventEntry(0, "evt_1", "orders/paid")
    return DeliveryRecord(a_delivery(**given), (entry,), 1, NOW, (job,), (attempt,))


def handed_over(
    record: DeliveryRecord, events: frozenset[int] = frozenset([0]), *, whole: bool = True
) -> dict[str, Any]:
    stored = Stored("1", record.delivery, record.events, (), record.jobs)
    data = SubjectData(stored, events, whole=whole, jobs=record.jobs)
    return exported(data, record, RULES)


def test_numbers_are_the_sender_s_and_the_body_is_not_repeated() -> None:
    found = handed_over(a_record(body=b'{"id": 1, "total": 12.50}'))
    assert b'"payload":{"id":1,"total":12.50}' in encode_json(found["events"])
    assert not found.keys() & {"body", "body_base64", "redacted"}
    assert (found["copies"], found["last_seen_at"]) == (1, "2026-09-21T14:13:20.000Z")
    [job] = found["jobs"]
    assert (job["reason"], [a["result"] for a in job["attempts"]]) == (
        "said done",
        [{"text": "done"}],
    )


def test_of_a_batch_the_others_are_left_out() -> None:
    record = a_record(provider="sendgrid", body=BATCH, event_count=2)
    found = handed_over(record, whole=False)
    assert [event["payload"]["email"] for event in found["events"]] == ["ann@x.de"]
    assert "bob" not in repr(found)
    assert found["jobs"][0]["attempts"] is not None


def test_what_came_of_a_job_for_others_too_is_left_out() -> None:
    record = a_record((0, 1), provider="sendgrid", body=BATCH, event_count=2)
    [job] = handed_over(record, whole=False)["jobs"]
    assert (job["covers"], job["reason"], job["attempts"]) == ((0, 1), None, None)
    [job] = handed_over(record, frozenset([0, 1]))["jobs"]
    assert job["reason"] == "said done"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"body": b"a=1", "headers": ()}, "body"),
        ({"body": b"\xff"}, "body_base64"),
        ({"provider": "former"}, "body"),
    ],
)
def test_what_no_event_says_stands_in_the_body(given: dict[str, Any], key: str) -> None:
    found = handed_over(a_record(**given))
    assert (found["events"], key in found) == ([], True)


def test_that_something_was_taken_out_is_said() -> None:
    record = a_record()
    marked = msgspec.structs.replace(
        record.delivery, redacted=Redaction(NOW, "ab", ("payload.id",))
    )
    found = handed_over(msgspec.structs.replace(record, delivery=marked))
    assert found["redacted"] == {
        "at": "2026-09-21T14:13:20.000Z", "sha256": "ab", "paths": ("payload.id",)
    }  # fmt: skip
