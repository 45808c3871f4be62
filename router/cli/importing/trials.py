"""Tests of an imported hook: a request that runs it, and a forged one that does not."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from router.cli.importing.conditions import NULL
from router.cli.importing.hooks_file import Hook, HookParameter
from router.cli.importing.senders import ImportedSender
from router.cli.importing.trigger_rule import Trigger

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


class _Unmade(Exception):
    """No request can be made that is sure to fit."""


def trials_of(
    hook: Hook, name: str, sender: ImportedSender, action: Mapping[str, Any], status: int
) -> Iterator[dict[str, Any]]:
    """Each test as it stands in the file; `action` is what the hook runs."""
    request = _TrialRequest(sender.provider["read"] != "text")
    call: dict[str, Any] = {"times": 1}
    try:
        for leaf in _needed(hook, sender, sender.rest):
            request.put(leaf.parameter, hook.text(leaf.given), needed=True)
    except _Unmade:
        return
    with contextlib.suppress(_Unmade):  # what a test does not know it does not compare
        arguments = [*map(request.argument, hook.parameters("pass-arguments-to-command"))]
        if len(action["argv"]) == len(arguments) + 1:
            call["argv"] = [action["argv"][0], *arguments]
    event = request.headers.pop(sender.known[0].lower() if sender.known else "", "unknown")
    send = {"endpoint": name, "event": event, "payload": request.payload}
    send |= {"headers": request.headers} if request.headers else {}
    expected = {"status": status, "calls": {f"{name}/shell": call}}
    yield {"name": f"{hook.id} runs", "send": send, "expect": expected}
    if sender.proofs:
        yield {
            "name": f"a forged {hook.id} does not",
            "send": {**send, "tamper": "signature"},
            "expect": {"status": 401, "matched": []},
        }


def _needed(hook: Hook, sender: ImportedSender, trigger: Trigger) -> list[Trigger]:
    """What the rule needs; of its choices, the first of which a request can be made."""
    if trigger in sender.proofs:
        return []
    if trigger.kind == "and":
        return [leaf for rule in trigger.rules for leaf in _needed(hook, sender, rule)]
    for rule in trigger.rules if trigger.kind == "or" else ():
        with contextlib.suppress(_Unmade):
            return _needed(hook, sender, rule)
    hidden = trigger in sender.hidden
    if trigger.kind != "value" or hidden or hook.text(trigger.given) == NULL:
        raise _Unmade
    return [trigger]


class _TrialRequest(msgspec.Struct):
    """The request of a test, as it is being made."""

    has_fields: bool
    payload: dict[str, Any] = {}
    headers: dict[str, str] = {}

    def put(self, parameter: HookParameter, value: str, *, needed: bool = False) -> str:
        """The text at this place of the payload: what is there already, else this."""
        if needed and parameter.source == "header":
            self.headers[parameter.name.lower()] = value
            return value
        if parameter.source != "payload" or not self.has_fields or parameter.proves:
            raise _Unmade
        if not _PLAIN.fullmatch(parameter.name):
            raise _Unmade
        *steps, last = parameter.name.split(".")
        place: Any = self.payload
        for step in steps:
            place = place.setdefault(step, {}) if isinstance(place, dict) else None
        found = place.setdefault(last, value) if isinstance(place, dict) else None
        if not isinstance(found, str) or (needed and found != value):
            raise _Unmade
        return found

    def argument(self, given: HookParameter) -> str:
        """What the command is given."""
        if given.source == "string":
            return given.name
        return self.put(given, given.name.rpartition(".")[2])
