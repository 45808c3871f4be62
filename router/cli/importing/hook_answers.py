"""What a hook answers, as the endpoint's `answer`."""

from http import HTTPStatus
from typing import Any

from router.cli.importing.hooks_file import Hook, fields
from router.yaml_source import Mapping, Node

_HTML = ("<!doctype html", "<html", "<head", "<body", "<h1", "<div", "<p", "<b", "<!--")
"""Beginnings that Go's servers take for a page."""


def answer_of(hook: Hook) -> dict[str, Any]:
    """The keys of `answer`; empty: the router's own answer."""
    _unsaid(hook)
    message = hook.text(hook.get("response-message"))
    found: dict[str, Any] = {}
    if (status := _status(hook)) is not None:
        found["status"] = status
    if type_ := _media_type(hook, message):
        found["type"] = type_
    if "{{" in message:
        hook.differs(
            hook.get("response-message") or hook.node,
            "an answer that holds '{{' is not sent",
            "write another text into the endpoint's `answer`",
        )
        return found
    if message or found:
        found["body"] = "" if status == HTTPStatus.NO_CONTENT else message
    return found


def _status(hook: Hook) -> int | None:
    status = hook.status("success-http-response-code")
    if status is None or status == HTTPStatus.OK:
        return None
    node = hook.get("success-http-response-code") or hook.node
    if status not in set(HTTPStatus):
        hook.differs(node, f"webhook knows no status {status} and answers 200; so does the router")
        return None
    if not 200 <= status < 300:
        hook.differs(
            node,
            f"{status} would tell the sender that its delivery failed; the answer is 200",
            "an endpoint's `answer` has a status from 200 to 299",
        )
        return None
    return status


def _media_type(hook: Hook, message: str) -> str | None:
    found = None
    for item in hook.items(hook.get("response-headers")):
        given = fields(item) if isinstance(item, Mapping) else {}
        name, value = (
            hook.text(given[key][1]) if key in given else "" for key in ("name", "value")
        )
        if name.lower() == "content-type" and value:
            found = value
        else:
            hook.differs(
                item,
                f"the header '{name}' is not sent: an answer of the router has status, type, body",
                "a proxy in front of the router can add it",
            )
    if found is None and message.lstrip().lower().startswith(_HTML):
        return "text/html; charset=utf-8"
    return found


def _unsaid(hook: Hook) -> None:
    """What asks for an answer that waits for the command, or differs where no rule matches."""
    if hook.flag("include-command-output-in-response"):
        hook.differs(
            _at(hook, "include-command-output-in-response"),
            "the sender is answered before the command runs, so its output is no answer",
            "`router show JOB` has the output; let the command send it where it is needed",
        )
    status = hook.status("trigger-rule-mismatch-http-response-code")
    success = hook.status("success-http-response-code") or HTTPStatus.OK
    if status is not None and status != success and status in set(HTTPStatus):
        hook.differs(
            _at(hook, "trigger-rule-mismatch-http-response-code"),
            f"{status} is not answered: no rule refuses what is genuine, it is stored as "
            f"`unmatched` and answered {int(success)}",
            "what proves the sender belongs into `verify`: without it the answer is 401",
        )


def _at(hook: Hook, key: str) -> Node:
    return hook.get(key) or hook.node
