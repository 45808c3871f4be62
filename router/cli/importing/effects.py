"""What a hook runs, as a `shell` action, and what it answers, as the endpoint's `answer`."""

import re
from http import HTTPStatus
from typing import Any

from router.cli.importing.hooks_file import Hook, HookParameter, fields, is_yes
from router.cli.importing.request_values import RequestValues, literal
from router.config.spelling import GIVEN_VARIABLE

_TIMEOUT = "1h"
"""webhook has no limit; a command that hangs must not hold one of the few places for ever."""
_NAMESPACE = "HOOK_"
_DECODE = 'base64 -d <"${0}" >"${0}.bin"; {0}="${0}.bin"; '
_HTML = ("<!doctype html", "<html", "<head", "<body", "<h1", "<div", "<p", "<b", "<!--")
"""Beginnings that Go's servers take for a page."""


def shell_of(hook: Hook, values: RequestValues) -> dict[str, Any]:
    """The action's keys; what cannot be said is reported, and the hook is left out."""
    program = hook.text(hook.get("execute-command"))
    folder = hook.text(hook.get("command-working-directory"))
    if not program:
        hook.refuse(hook.node, "without 'execute-command' nothing is run")
    if folder and not program.startswith(("/", "./", "../")):
        program = f"./{program}"
    arguments = [values.template(given) for given in hook.parameters("pass-arguments-to-command")]
    argv, files, decoded = [literal(program), *arguments], {}, ""
    for given in hook.parameters("pass-file-to-command"):
        name = _variable(hook, given, given.name.upper())
        files[name] = "body" if given.source == "raw-request-body" else values.template(given)
        if given.source == "string" and given.name == "body":
            files[name] = "{{ 'body' }}"
        decoded += _DECODE.format(name) if given.encoded else ""
    env = {
        _variable(hook, given, given.name): values.template(given)
        for given in hook.parameters("pass-environment-to-command")
    }
    env = {name: text for name, text in env.items() if name not in files}
    if decoded:
        argv = ["sh", "-c", decoded + 'exec "$@"', "sh", *argv]
    optional = {"cwd": folder, "env": env, "files": files}
    given_keys = {key: value for key, value in optional.items() if value}
    return {"argv": argv, "stdin": "none", **given_keys, "timeout": _TIMEOUT}


def _variable(hook: Hook, given: HookParameter, name: str) -> str:
    found = given.variable or _NAMESPACE + name
    if GIVEN_VARIABLE.fullmatch(found):
        return found
    fit = re.sub(r"\W", "_", found, flags=re.ASCII)
    fit = fit if GIVEN_VARIABLE.fullmatch(fit) else _NAMESPACE + fit
    message = f"no variable of a command may be called '{found}' here; it is {fit}"
    hook.differs(given.node, message, f"say `envname: {fit}`")
    return fit


def answer_of(hook: Hook) -> dict[str, Any]:
    """The keys of `answer`; empty: the router's own answer."""
    message, status = hook.text(hook.get("response-message")), _status(hook)
    type_ = _media_type(hook)
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
    if is_yes(output := hook.at("include-command-output-in-response")):
        hook.differs(
            output,
            "the sender is answered before the command runs, so its output is no answer",
            "`router show JOB` has the output; let the command send it where it is needed",
        )
    key, other = "success-http-response-code", "trigger-rule-mismatch-http-response-code"
    status, mismatch = hook.status(key) or 200, hook.status(other)
    if mismatch != status and mismatch in set(HTTPStatus):
        hook.differs(
            hook.at(other),
            f"{mismatch} is not answered: no rule refuses what is genuine, it is stored as "
            f"`unmatched` and answered {status}",
            "what proves the sender belongs into `verify`: without it the answer is 401",
        )
    if status not in set(HTTPStatus):
        message = f"webhook knows no status {status} and answers 200; so does the router"
        hook.differs(hook.at(key), message)
        return HTTPStatus.OK
    if not 200 <= status < 300:
        hook.differs(
            hook.at(key),
            f"{status} would tell the sender that its delivery failed; the answer is 200",
            "an endpoint's `answer` has a status from 200 to 299",
        )
        return HTTPStatus.OK
    return status


def _media_type(hook: Hook) -> str:
    found = ""
    for item in hook.items(hook.get("response-headers")):
        name, value = (hook.text(fields(item).get(key)) for key in ("name", "value"))
        if name.lower() == "content-type" and value:
            found = value
        else:
            message = f"the header '{name}' is not sent"
            hook.differs(item, message, "write it into `headers` of the endpoint's `answer`")
    return found
