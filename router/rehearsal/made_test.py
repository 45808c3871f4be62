"""A delivery that came, as a test of a rules file that expects what the rules make of it now."""

import re
from collections.abc import Iterator
from textwrap import indent
from typing import Any

from router.config.yaml_json import yaml_json
from router.errors import UsageError
from router.expressions import JSON, Expression, Template, rfc3339
from router.kinds.templates import texts_in
from router.model.delivery import REMOVED, Delivery
from router.model.headers import joined_headers
from router.model.trial import Expected, Sending, Trial
from router.providers import Provider
from router.providers.definition import spelled
from router.rehearsal.run import TrialRunner
from router.rules.index import as_one
from router.rules.ruleset import Ruleset

_PLAIN = re.compile(r"[A-Za-z][\w/.-]*")
_WORDS = ("true", "false", "null")


def sending_of(ruleset: Ruleset, delivery: Delivery, *, exact: bool) -> Sending:
    """
    What a test sends to get the same; `exact`: with the ids that it has.

    Raises:
        UsageError: no test can be made of it; the text says why.
    """
    if (endpoint := ruleset.endpoints.get(delivery.endpoint)) is None:
        raise UsageError(f"the rules file has no endpoint {delivery.endpoint!r} that could get it")
    provider = ruleset.providers[endpoint.provider]
    if not delivery.body:
        raise UsageError(f"the body of {delivery.id} is not to be had")
    events = provider.read_stored(delivery).events
    if not events:
        raise UsageError(f"{delivery.id} is {delivery.state}: no event can be read of it")
    payloads = [event.payload for event in events]
    return Sending(
        endpoint=endpoint.name,
        event=events[0].name,
        payload=payloads if provider.splits else payloads[0],
        exact=exact,
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


def expected(runner: TrialRunner, sending: Sending, clock: int) -> dict[str, JSON]:
    """What the rules make of it now, as `expect`; `clock` in Unix milliseconds."""
    seen = runner.run(Trial("", "", 0, (sending,), {}, Expected(), clock=clock)).seen
    calls: JSON = {"/".join(key): {"times": len(made)} for key, made in seen.calls.items()}
    found: dict[str, JSON] = {"status": seen.statuses[0], "matched": list(seen.matched)}
    further = {
        "shadow": list(seen.shadow),
        "calls": calls,
        "dead": ["/".join(k) for k in seen.dead],
    }
    return found | {key: value for key, value in further.items() if value}


def test_of(
    sending: Sending, payload: JSON, expect: dict[str, JSON], delivery: Delivery
) -> dict[str, Any]:
    """One entry of `tests`; `payload` may also name a file."""
    send: dict[str, JSON] = {"endpoint": sending.endpoint, "event": sending.event}
    send |= {"payload": payload} | ({"headers": dict(sending.headers)} if sending.headers else {})
    name = f"{sending.event} {delivery.id}"
    return {"name": name, "clock": rfc3339(delivery.received_at), "send": send, "expect": expect}


def as_text(test: dict[str, Any]) -> str:
    """It as YAML, below `tests:`."""
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
