"""What a hook runs, as a `shell` action; what it answers; and tests of both."""

import contextlib
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from router.cli.importing.conditions import NULL
from router.cli.importing.hooks_file import Hook, HookParameter
from router.cli.importing.request_values import RequestValues, literal
from router.cli.importing.sender import ImportedSender, proves
from router.cli.importing.trigger_rule import Trigger
from router.config.spelling import GIVEN_VARIABLE

_TIMEOUT = "1h"
"""webhook has no limit; a command that hangs must not hold one of the few places for ever."""
_DECODE = 'base64 -d <"${0}" >"${0}.bin"; {0}="${0}.bin"; '
_HTML = ("<!doctype html", "<html", "<head", "<body", "<h1", "<div", "<p", "<b", "<!--")
"""Beginnings that Go's servers take for a page."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*")


def shell_of(hook: Hook, values: RequestValues) -> dict[str, Any]:
    """The action's keys; what cannot be said is reported, and the hook is left out."""
    program, folder = hook.execute_command, hook.command_working_directory
    if not program:
        hook.note(hook.node, "no-command")
    here = folder and not program.startswith(("/", "./", "../"))
    argv = [literal(f"./{program}" if here else program)]
    argv += map(values.template, hook.pass_arguments_to_command)
    files, decoded = {}, ""
    for given in hook.pass_file_to_command:
        name = _variable(hook, given, given.name.upper())
        files[name] = "body" if given.source == "raw-request-body" else values.template(given)
        if (given.source, given.name) == ("string", "body"):
            files[name] = "{{ 'body' }}"
        decoded += _DECODE.format(name) if given.base64decode.is_yes else ""
    env = {_variable(hook, one): values.template(one) for one in hook.pass_environment_to_command}
    env = {name: text for name, text in env.items() if name not in files}
    if decoded:
        argv = ["sh", "-c", decoded + 'exec "$@"', "sh", *argv]
    optional = {"cwd": folder, "env": env, "files": files}
    given_keys = {key: value for key, value in optional.items() if value}
    return {"argv": argv, "stdin": "none", **given_keys, "timeout": _TIMEOUT}


def _variable(hook: Hook, given: HookParameter, name: str = "") -> str:
    found = given.envname or f"HOOK_{name or given.name}"
    if GIVEN_VARIABLE.fullmatch(found):
        return found
    fit = re.sub(r"\W", "_", found, flags=re.ASCII)
    fit = fit if GIVEN_VARIABLE.fullmatch(fit) else f"HOOK_{fit}"
    hook.note(given.node, "variable", found=found, fit=fit)
    return fit


def answer_of(hook: Hook) -> dict[str, Any]:
    """The keys of `answer`; empty: the router's own answer."""
    message, status, type_ = hook.response_message, _status(hook), ""
    for header in hook.response_headers:
        if header.name.lower() == "content-type" and header.value:
            type_ = header.value
        else:
            hook.note(header.node, "header", name=header.name)
    if not type_ and message.lstrip().lower().startswith(_HTML):
        type_ = "text/html; charset=utf-8"
    found: dict[str, Any] = {"status": status} if status != HTTPStatus.OK else {}
    found |= {"type": type_} if type_ else {}
    if message or found:
        bodiless = status in (HTTPStatus.NO_CONTENT, HTTPStatus.RESET_CONTENT)
        found["body"] = "" if bodiless else literal(message)
    return found


def _status(hook: Hook) -> int:
    """The status; and what asks for one where no rule matches, or after the command."""
    if (output := hook.include_command_output_in_response).is_yes:
        hook.note(output.node, "output")
    given, other = hook.success_http_response_code, hook.trigger_rule_mismatch_http_response_code
    status, mismatch = (int(text) if text.isdigit() else 0 for text in (given, other))
    status = status or HTTPStatus.OK
    if mismatch != status and mismatch in set(HTTPStatus):
        hook.note(other.node, "mismatch", mismatch=mismatch, status=status)
    if status in set(HTTPStatus) and 200 <= status < 300:
        return status
    hook.note(given.node, "failure" if status in set(HTTPStatus) else "status", status=status)
    return HTTPStatus.OK


class _Unmade(Exception):
    """No request can be made that is sure to fit."""


class HookTrials:
    """Tests of a hook: a request that runs it, and a forged one that does not."""

    def __init__(self, hook: Hook, sender: ImportedSender) -> None:
        self._hook, self._sender = hook, sender
        self._payload, self._headers = dict[str, Any](), dict[str, str]()

    def made(self, name: str, argv: list[str], status: int) -> Iterator[dict[str, Any]]:
        """Each test as it stands in the file; `argv` is what the hook runs."""
        sender, call = self._sender, dict[str, Any](times=1)
        try:
            for leaf in self._needed(sender.rest):
                self._put(leaf.parameter, leaf.given, needed=True)
        except _Unmade:
            return
        with contextlib.suppress(_Unmade):  # what a test does not know it does not compare
            arguments = [*map(self._argument, self._hook.pass_arguments_to_command)]
            if len(argv) == len(arguments) + 1:
                call["argv"] = [argv[0], *arguments]
        event = self._headers.pop(sender.known[0].lower() if sender.known else "", "unknown")
        send: dict[str, Any] = {"endpoint": name, "event": event, "payload": self._payload}
        send |= {"headers": self._headers} if self._headers else {}
        expected = {"status": status, "calls": {f"{name}/shell": call}}
        yield {"name": f"{self._hook.id} runs", "send": send, "expect": expected}
        if sender.proofs:
            forged, refused = {**send, "tamper": "signature"}, {"status": 401, "matched": []}
            yield {"name": f"a forged {self._hook.id} does not", "send": forged, "expect": refused}

    def _needed(self, rule: Trigger) -> list[Trigger]:
        """What the rule needs; of its choices, the first of which a request can be made."""
        if rule in self._sender.proofs:
            return []
        if rule.kind == "and":
            return [leaf for one in rule.rules for leaf in self._needed(one)]
        for one in rule.rules if rule.kind == "or" else ():
            with contextlib.suppress(_Unmade):
                return self._needed(one)
        if rule.kind != "value" or rule in self._sender.hidden or rule.given == NULL:
            raise _Unmade
        return [rule]

    def _put(self, parameter: HookParameter, value: str, *, needed: bool = False) -> str:
        """The text at this place of the payload: what is there already, else this."""
        if needed and parameter.source == "header":
            self._headers[parameter.name.lower()] = value
            return value
        has_fields = self._sender.provider["read"] != "text"
        if parameter.source != "payload" or not has_fields or proves(parameter):
            raise _Unmade
        if not _PLAIN.fullmatch(parameter.name):
            raise _Unmade
        *steps, last = parameter.name.split(".")
        place: Any = self._payload
        for step in steps:
            place = place.setdefault(step, {}) if isinstance(place, dict) else None
        found = place.setdefault(last, value) if isinstance(place, dict) else None
        if not isinstance(found, str) or (needed and found != value):
            raise _Unmade
        return found

    def _argument(self, given: HookParameter) -> str:
        """What the command is given."""
        if given.source == "string":
            return given.name
        return self._put(given, given.name.rpartition(".")[2])
