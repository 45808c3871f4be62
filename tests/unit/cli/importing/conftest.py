"""Hooks made of a few keys, imported."""

import json
from typing import Any

import yaml

from tests.importing import Imported, imported


def import_of(*hooks: dict[str, Any], flags: tuple[str, ...] = ()) -> Imported:
    """What the import makes of these hooks, each with an id and a command unless it says."""
    whole = [{"id": f"h{at}", "execute-command": "/bin/x"} | hook for at, hook in enumerate(hooks)]
    return imported(json.dumps(whole, indent=1, ensure_ascii=False), *flags)


def rules_of(*hooks: dict[str, Any], flags: tuple[str, ...] = ()) -> dict[str, Any]:
    """The rules file as data."""
    found: dict[str, Any] = yaml.safe_load(import_of(*hooks, flags=flags).text)
    return found


def said(*hooks: dict[str, Any]) -> list[str]:
    """What is listed: severity and message."""
    return [f"{one.severity}: {one.message}" for one in import_of(*hooks).listed]


def signed(
    secret: str, header: str = "X-Sig", type_: str = "payload-hmac-sha256"
) -> dict[str, Any]:
    """A match of a signature."""
    parameter = {"source": "header", "name": header}
    return {"match": {"type": type_, "secret": secret, "parameter": parameter}}


def match_of(rule: dict[str, Any], **more: Any) -> Any:
    """The condition that becomes of a trigger rule."""
    return rules_of({"trigger-rule": rule, **more})["rules"][0].get("match")
