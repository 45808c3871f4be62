"""Tests of an imported hook: a request that runs it, and a forged one that does not."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from router.cli.importing.conditions import NULL
from router.cli.importing.hooks_file import Hook, Parameter
from router.cli.importing.proofs import Sender
from router.cli.importing.trigger_rule import All, AnyOf, Equals, Trigger

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Unmade(Exception):
    """No request can be made that is sure to fit."""


def trials_of(
    hook: Hook, name: str, sender: Sender, definition: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """The tests that can be made of it."""
    try:
        request = _request(hook, sender, definition)
    except _Unmade:
        return
    send = {"endpoint": name, "event": "unknown", **request}
    event = definition.get("event", {}).get("header", "").lower()
    if event in request.get("headers", {}):
        send["event"] = request["headers"].pop(event)
    if not request.get("headers"):
        send.pop("headers", None)
    ran = {f"{name}/shell": {"times": 1}}
    expected = {"status": _status(hook), "calls": ran}
    yield {"name": f"{hook.id} runs", "send": send, "expect": expected}
    if definition["verify"]["scheme"] != "none":
        forged = {**send, "tamper": "signature"}
        yield {
            "name": f"a forged {hook.id} does not",
            "send": forged,
            "expect": {"status": 401, "matched": []},
        }


def _status(hook: Hook) -> int:
    status = hook.status("success-http-response-code") or 200
    return status if 200 <= status < 300 else 200


def _request(hook: Hook, sender: Sender, definition: Mapping[str, Any]) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    headers: dict[str, str] = {}
    for leaf in _needed(sender, sender.rest):
        value, parameter = hook.text(leaf.value), leaf.parameter
        if value == NULL or parameter.proves:
            raise _Unmade
        if parameter.source == "header":
            headers[parameter.name.lower()] = value
        elif parameter.source == "payload" and definition["read"] != "text":
            _put(payload, parameter, value)
        else:
            raise _Unmade
    found: dict[str, Any] = {"payload": payload}
    return found | ({"headers": headers} if headers else {})


def _needed(sender: Sender, trigger: Trigger | None) -> Iterator[Equals]:
    """What the first way through the rule needs."""
    if isinstance(trigger, All):
        for rule in trigger.rules:
            yield from _needed(sender, rule)
    elif isinstance(trigger, AnyOf) and trigger.rules:
        yield from _needed(sender, trigger.rules[0])
    elif isinstance(trigger, Equals) and trigger not in sender.proofs:
        yield trigger
    elif trigger is not None and trigger not in sender.proofs:
        raise _Unmade


def _put(payload: dict[str, Any], parameter: Parameter, value: str) -> None:
    *steps, last = parameter.name.split(".")
    if not all(map(_PLAIN.fullmatch, (*steps, last))):
        raise _Unmade
    for step in steps:
        payload = payload.setdefault(step, {})
        if not isinstance(payload, dict):
            raise _Unmade
    if payload.setdefault(last, value) != value:
        raise _Unmade
