"""`router new test`: a test made of a delivery that came."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import click

from router.cli.operator_access import ask
from router.cli.options import Options
from router.cli.output import note, print_json
from router.cli.whole_file import write_whole
from router.cli.yaml_json import yaml_json
from router.errors import UsageError, os_errors_refused
from router.expressions import JSON, Expression, Template, rfc3339
from router.kinds.templates import texts_in
from router.model.delivery import REMOVED, Delivery, as_request
from router.model.headers import joined_headers
from router.model.trial import Expected, Sending, Trial
from router.providers import Provider
from router.providers.definition import spelled
from router.rehearsal import TrialRunner
from router.rehearsal.record import TrialRecord
from router.rules.index import as_one
from router.rules.ruleset import Ruleset

INLINE_MAX = 1_024
"""Bytes of a payload that stands in the test itself."""
PAYLOADS = "payloads"
_PLAIN = re.compile(r"[A-Za-z][\w/.-]*")
_WORDS = ("true", "false", "null")


def make(place: Options, identity: str) -> None:
    """
    Print the test, and write its payload into a file if that is large.

    Raises:
        NotFound, AmbiguousId: there is no such delivery, or several.
        UsageError: no test can be made of it; the text says why.
    """
    ruleset = place.ruleset()
    show = ask(place, lambda questions: questions.show(identity))
    delivery = show.delivery
    sending = _sending(ruleset, delivery)
    seen = _tried(ruleset, sending, delivery)
    payload: Any = sending.payload
    if len(delivery.body) > INLINE_MAX:
        payload = {"file": _written(place.rules, sending, delivery)}
    if place.as_json:
        print_json(_as_json(sending, payload, seen, delivery))
    else:
        click.echo(_text(sending, payload, seen, delivery), nl=False)


def _sending(ruleset: Ruleset, delivery: Delivery) -> Sending:
    if (endpoint := ruleset.endpoints.get(delivery.endpoint)) is None:
        raise UsageError(f"the rules file has no endpoint {delivery.endpoint!r} that could get it")
    provider = ruleset.providers[endpoint.provider]
    if not delivery.body:
        raise UsageError(f"the body of {delivery.id} is not to be had")
    events = provider.read(as_request(delivery)).events
    if not events:
        raise UsageError(f"{delivery.id} is {delivery.state}: no event can be read of it")
    payloads = [event.payload for event in events]
    return Sending(
        endpoint=endpoint.name,
        event=events[0].name,
        payload=payloads if provider.splits else payloads[0],
        exact=len(delivery.body) > INLINE_MAX,
        headers=dict(_headers(ruleset, provider, events[0].name, delivery)),
    )


def _headers(
    ruleset: Ruleset, provider: Provider, event: str, delivery: Delivery
) -> Iterator[tuple[str, str]]:
    """Those that rules read and that the sender's requests do not have anyway."""
    own = {name.lower() for name, _ in provider.unsigned(event, delivery.id)}
    for way in provider.definition.ways:
        own |= {name.lower() for n in (way.place, way.stamp.header) for name in spelled(n)}
    received = joined_headers(delivery.headers)
    for name in sorted(_read_by_rules(ruleset) - own):
        if (value := received.get(name)) is not None and REMOVED not in value:
            yield name, value


def _read_by_rules(ruleset: Ruleset) -> set[str]:
    texts: list[Expression | Template] = list(ruleset.defines.values())
    for rule in ruleset.rules:
        texts.append(as_one(rule.match))
        for action in rule.actions:
            texts += texts_in(action.when, action.spec, action.given)
    return {field for text in texts for root, field in text.uses if root == "headers"}


def _tried(ruleset: Ruleset, sending: Sending, delivery: Delivery) -> TrialRecord:
    """What the rules make of it now."""
    runner = TrialRunner(ruleset, environ=os.environ, random_bytes=os.urandom)
    trial = Trial("", "", 0, (sending,), {}, Expected(), clock=delivery.received_at)
    return runner.run(trial).seen


def _written(rules: Path, sending: Sending, delivery: Delivery) -> str:
    name = re.sub(r"[^\w.-]+", "-", sending.event) or "event"
    file = rules.parent / PAYLOADS / f"{name}-{delivery.id}.json"
    with os_errors_refused(f"cannot write {file}"):
        file.parent.mkdir(exist_ok=True)
        write_whole(file, (yaml_json(sending.payload, indent=2) + "\n").encode("utf-8"))
    note(f"{file} holds what the sender sent: look through it before others can read it")
    return f"{PAYLOADS}/{file.name}"


# -- as it is printed


def _expect(seen: TrialRecord) -> dict[str, JSON]:
    calls: JSON = {"/".join(key): {"times": len(made)} for key, made in seen.calls.items()}
    found: dict[str, JSON] = {"status": seen.statuses[0], "matched": list(seen.matched)}
    further = {
        "shadow": list(seen.shadow),
        "calls": calls,
        "dead": ["/".join(k) for k in seen.dead],
    }
    return found | {key: value for key, value in further.items() if value}


def _as_json(
    sending: Sending, payload: JSON, seen: TrialRecord, delivery: Delivery
) -> dict[str, Any]:
    send: dict[str, JSON] = {"endpoint": sending.endpoint, "event": sending.event}
    send |= {"payload": payload} | ({"headers": dict(sending.headers)} if sending.headers else {})
    name = f"{sending.event} {delivery.id}"
    clock = rfc3339(delivery.received_at)
    return {"name": name, "clock": clock, "send": send, "expect": _expect(seen)}


def _text(sending: Sending, payload: JSON, seen: TrialRecord, delivery: Delivery) -> str:
    test = _as_json(sending, payload, seen, delivery)
    send = "".join(f"      {key}: {_value(value)}\n" for key, value in test["send"].items())
    expect = "".join(f"      {key}: {_flow(value)}\n" for key, value in test["expect"].items())
    head = f"  - name: {_flow(test['name'])}\n    clock: {test['clock']}\n"
    return f"tests:\n{head}    send:\n{send}    expect:\n{expect}"


def _value(value: JSON) -> str:
    plain = isinstance(value, str) or (isinstance(value, dict) and value.keys() == {"file"})
    if plain:
        return _flow(value)
    return indent(yaml_json(value, indent=2), " " * 8).lstrip()


def _flow(value: JSON) -> str:
    """On one line, words without quotes."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_flow(k)}: {_flow(v)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    plain = isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _WORDS
    return str(value) if plain else yaml_json(value)
