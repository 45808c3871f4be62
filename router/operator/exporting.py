"""What is stored about one person, to be handed over: JSON values of one delivery at a time."""

import base64
from typing import Any

import msgspec

from router.expressions import is_json
from router.model.job import Attempt, Job
from router.model.packed import plain_body
from router.operator.subject import SubjectData
from router.operator.times import dates
from router.operator.where import indexes
from router.rules.ruleset import Ruleset
from router.rules.scope import shown_path
from router.store.values import DeliveryRecord

_JOB = (
    "id", "event_index", "covers", "rule", "action", "kind", "target", "state", "created_at",
    "ended_at", "reason", "replay_of",
)  # fmt: skip
_DELIVERY = ("id", "endpoint", "received_at", "state", "method")


def exported(data: SubjectData, record: DeliveryRecord, ruleset: Ruleset) -> dict[str, Any]:
    """
    What of a delivery is meant. The body stands there where its events do not say the same; of a
    job that is for other events too, what came of it is left out: it is of others as well.
    """
    d = record.delivery
    events = _events(data, record, ruleset)
    found = {name: getattr(d, name) for name in _DELIVERY} | {
        "provider": ruleset.provider_name(d.endpoint, d.provider),
        "path": shown_path(d.path),
        "query": d.query,
        "headers": d.headers,
        "peer": d.peer,
        "copies": record.duplicates,
        "last_seen_at": record.last_seen_at,
        "flags": d.flags,
        "whole": data.whole,
        "event_count": d.event_count,
        "events": events,
        "jobs": [_job(job, record, data) for job in record.jobs if indexes(job) & data.events],
    }
    if d.redacted is not None:
        found["redacted"] = dates(msgspec.to_builtins(d.redacted))
    body = plain_body(d)
    if data.whole and not (events and is_json(body)):
        found |= body_json(body)
    return dates(found)


def body_json(body: bytes) -> dict[str, str]:
    """The body as text, or in base64 if it is none."""
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def _events(data: SubjectData, record: DeliveryRecord, ruleset: Ruleset) -> list[dict[str, Any]]:
    """Those that are meant, read again; none where that cannot be done."""
    provider = ruleset.providers.get(record.delivery.provider)
    if provider is None:
        return []
    ids = {entry.index: entry.id for entry in record.events}
    read = provider.read_stored(record.delivery).events
    return [
        {"index": e.index, "id": ids.get(e.index), "name": e.name, "action": e.action,
         "payload": e.payload}
        for one in read
        if one.index in data.events
        for e in [one.event()]
    ]  # fmt: skip


def _job(job: Job, record: DeliveryRecord, data: SubjectData) -> dict[str, Any]:
    found = dates({name: getattr(job, name) for name in _JOB})
    if not data.whole and not indexes(job) <= data.events:
        return found | {"reason": None, "attempts": None}
    attempts = [_attempt(attempt) for attempt in record.attempts if attempt.job == job.id]
    return found | {"attempts": attempts}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    found = msgspec.structs.asdict(attempt)
    result = {n: v for n, v in found.pop("result").items() if n != "json"}  # `text` says the same
    return dates({n: v for n, v in found.items() if n != "job"} | {"result": result})
