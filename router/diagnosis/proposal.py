"""A definition for the sender of one captured request: what is found, and what is likely."""

from collections.abc import Iterable
from typing import Any

from router.diagnosis.message_candidates import stamps
from router.diagnosis.proof_candidates import (
    SIZES,
    SignatureCandidate,
    payload_of,
    request_headers,
    scalars,
    signatures,
    texts,
    titled,
)
from router.diagnosis.scheme_finder import FittingScheme, Rule, jwt_rules, key_pairs
from router.model.delivery import JSON, InboundRequest
from router.providers.forms import is_form

SPLIT_MAX = 1000
_EVENT_HEADERS = ("event", "topic", "event-type", "event-key", "event-name", "message-type")
_EVENT_FIELDS = (
    *("type", "event", "event_type", "eventType", "event_name", "eventName", "topic"),
    *("trigger", "eventCode", "notification_type", "notificationType", "kind", "action", "name"),
)
_ID_HEADERS = (
    *("webhook-id", "delivery", "delivery-id", "event-id", "message-id", "request-id"),
    *("notification-id", "uuid", "nonce"),
)
_ID_FIELDS = (
    *("id", "event_id", "eventId", "uuid", "message_id", "messageId", "delivery_id"),
    *("deliveryId", "notification_id", "notificationId", "reference"),
)
_SIGNED = ("signature", "hmac", "digest", "sign", "sig", "mac", "hash")
_SHOWN = ("token", "secret", "key", "authorization")
_DEPTH = 2


def proposed(request: InboundRequest, fit: FittingScheme | None) -> Rule:
    """The keys of a definition; `verify` is a guess where no scheme fits."""
    payload, batch = _event_of(payload_of(request))
    definition: Rule = {"verify": fit.verify if fit else guessed(request)} | batch
    headers = {} if batch else dict(request_headers(request))
    held = dict(scalars(payload, depth=_DEPTH))
    event = _source(headers, held, _EVENT_HEADERS, _EVENT_FIELDS)
    number = (fit and fit.id) or _number(headers, held, event) or {"body": True}
    definition |= ({"event": event} if event else {}) | {"id": number}
    definition |= _kind(request, payload)
    if request.method != "POST":
        definition["methods"] = [request.method]
    name = _value(event or {}, headers, held)
    return definition | ({"events": [name]} if isinstance(name, str) and name else {})


def _kind(request: InboundRequest, payload: JSON) -> Rule:
    kind = dict(request.headers).get(b"content-type", b"")
    if is_form(kind):
        return {"read": "form"}
    return {"read": "text"} if payload is None and kind.startswith(b"text/") else {}


def _event_of(payload: JSON) -> tuple[JSON, Rule]:
    """The first event of a body, and the keys that part a batch."""
    if _is_batch(payload):
        return payload[0], {"split": SPLIT_MAX}
    if isinstance(payload, dict) and not {*payload} & {*_EVENT_FIELDS}:
        for path, value in payload.items():
            if _is_batch(value):
                return value[0], {"split": SPLIT_MAX, "split_at": path}
    return payload, {}


def _is_batch(value: JSON) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _number(headers: dict[str, str], held: dict[str, str | int], event: Rule | None) -> Rule | None:
    """What numbers the event: what stands beside its name rather than in what it is about."""
    beside = str((event or {}).get("field", "")).rpartition(".")[0]
    near = {path: value for path, value in held.items() if path.rpartition(".")[0] == beside}
    outside = {path: value for path, value in held.items() if "." not in path}
    return _source(headers, outside | near, _ID_HEADERS, _ID_FIELDS) or _source(
        headers, held, _ID_HEADERS, _ID_FIELDS
    )


def _source(
    headers: dict[str, str],
    held: dict[str, str | int],
    names: Iterable[str],
    fields: tuple[str, ...],
) -> Rule | None:
    usual = [name for name, value in headers.items() if 0 < len(value) <= 200]
    named = [n for ending in names for n in usual if f"-{n}".endswith(f"-{ending}")]
    if named:
        return {"header": titled(named[0])}
    known = [path for path in held if path.rpartition(".")[2] in fields]
    # What stands outside comes first, then what is named first.
    known.sort(key=lambda path: (path.count("."), fields.index(path.rpartition(".")[2])))
    return {"field": known[0]} if known else None


def _value(source: Rule, headers: dict[str, str], held: dict[str, str | int]) -> object:
    if "header" in source:
        return headers.get(source["header"].lower())
    return held.get(source.get("field", ""))


# -- without a secret -----------------------------------------------------------------------------


def guessed(request: InboundRequest) -> Rule:
    """How the request seems to prove itself, by the names and sizes of what came."""
    found = texts(request)
    signed = [one for one in signatures(found) if _named(f"{one.name} {one.lead}", _SIGNED)]
    if signed:
        return _signature(signed[0]) | _dated(request)
    for text in found:
        if text.value.count(".") == 2 and (rule := next(jwt_rules(request, text), None)):
            return rule
    shown = next((text for text in found if _named(text.name, _SHOWN)), None)
    if shown is None:
        return {"scheme": "none"}
    if shown.name == "authorization":
        basic = shown.value.lower().startswith("basic ")
        return {"scheme": "basic" if basic else "token"}
    return {"scheme": "token"} | shown.place


def _named(name: str, words: tuple[str, ...]) -> bool:
    return any(word in name.lower() for word in words)


def _signature(proof: SignatureCandidate) -> Rule:
    encoded = {} if proof.encoding == "hex" else {"encoding": proof.encoding}
    pair = next(key_pairs(proof), None)
    if pair is not None and len(proof.raw) != 64:
        return pair | proof.place | encoded
    algorithm = SIZES.get(len(proof.raw), "sha256")
    named = {} if algorithm == "sha256" else {"algorithm": algorithm}
    return {"scheme": "hmac"} | named | proof.place | encoded


def _dated(request: InboundRequest) -> Rule:
    """A time in a header is likely to be signed before the body."""
    outside = [text for text in texts(request) if "header" in text.place]
    stamp: Any = next(stamps(outside), None)
    if stamp is None:
        return {}
    return {**stamp.keys, "message": "{timestamp}.{body}", "tolerance": "300s"}
