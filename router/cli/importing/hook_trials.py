"""Tests of an imported hook: a request that runs it, and a forged one that does not."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from router.cli.importing.conditions import NULL
from router.cli.importing.hooks_file import Hook, HookParameter
from router.cli.importing.proofs import ImportedSender
from router.cli.importing.trigger_rule import All, AnyOf, Equals, Trigger

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Unmade(Exception):
    """No request can be made that is sure to fit."""


class ImportedTrials:
    """The tests that can be made of one hook."""

    def __init__(
        self, hook: Hook, name: str, sender: ImportedSender, definition: Mapping[str, Any]
    ) -> None:
        self._hook = hook
        self._name = name
        self._sender = sender
        self._definition = definition
        self._payload: dict[str, Any] = {}
        self._headers: dict[str, str] = {}

    def made(self, shell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Each test as it stands in the file; `shell` is what the hook runs."""
        try:
            self._fulfil()
        except _Unmade:
            return
        arguments = self._arguments()
        call: dict[str, Any] = {"times": 1}
        if arguments is not None and len(shell["argv"]) == len(arguments) + 1:
            call["argv"] = [shell["argv"][0], *arguments]
        send = self._send()
        expected = {"status": self._status(), "calls": {f"{self._name}/shell": call}}
        yield {"name": f"{self._hook.id} runs", "send": send, "expect": expected}
        if self._definition["verify"]["scheme"] != "none":
            yield {
                "name": f"a forged {self._hook.id} does not",
                "send": {**send, "tamper": "signature"},
                "expect": {"status": 401, "matched": []},
            }

    def _send(self) -> dict[str, Any]:
        headers = dict(self._headers)
        source = self._definition.get("event", {}).get("header", "").lower()
        event = headers.pop(source, "unknown")
        send = {"endpoint": self._name, "event": event, "payload": self._payload}
        return send | ({"headers": headers} if headers else {})

    def _status(self) -> int:
        status = self._hook.status("success-http-response-code") or 200
        return status if 200 <= status < 300 else 200

    def _fulfil(self) -> None:
        """Put what the rule needs into the request."""
        for leaf in self._needed(self._sender.rest):
            value, parameter = self._hook.text(leaf.value), leaf.parameter
            if parameter.source == "header":
                self._headers[parameter.name.lower()] = value
            elif self._put(parameter, value) != value:
                raise _Unmade

    def _needed(self, trigger: Trigger | None) -> list[Equals]:
        """What the rule needs; of its choices, the first of which a request can be made."""
        if trigger is None or trigger in self._sender.proofs:
            return []
        if isinstance(trigger, All):
            return [leaf for rule in trigger.rules for leaf in self._needed(rule)]
        if isinstance(trigger, AnyOf):
            return self._first_way(trigger)
        hidden, text = self._sender.hidden, self._hook.text
        if not isinstance(trigger, Equals) or trigger in hidden or text(trigger.value) == NULL:
            raise _Unmade
        return [trigger]

    def _first_way(self, trigger: AnyOf) -> list[Equals]:
        for rule in trigger.rules:
            with contextlib.suppress(_Unmade):
                return self._needed(rule)
        raise _Unmade

    def _arguments(self) -> list[str] | None:
        """What the command is given; None where a test does not know."""
        found = []
        for given in self._hook.parameters("pass-arguments-to-command"):
            if given.source == "string":
                found.append(given.name)
                continue
            try:
                found.append(self._put(given, given.name.rpartition(".")[2]))
            except _Unmade:
                return None
        return found

    def _put(self, parameter: HookParameter, value: str) -> str:
        """The text at this place of the payload: what is there already, else this."""
        *steps, last = parameter.name.split(".")
        read = self._definition["read"]
        if parameter.source != "payload" or read == "text" or parameter.proves:
            raise _Unmade
        if not all(map(_PLAIN.fullmatch, (*steps, last))):
            raise _Unmade
        place = self._payload
        for step in steps:
            place = place.setdefault(step, {})
            if not isinstance(place, dict):
                raise _Unmade
        found = place.setdefault(last, value)
        if not isinstance(found, str):
            raise _Unmade
        return found
