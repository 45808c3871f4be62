"""The three tables of action kinds say the same, and nobody else says what a kind is."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from router.actions import ACTIONS
from router.config.kinds import SCHEMAS
from router.kinds import ADDRESSED, KINDS
from router.kinds.kind import Kind
from router.typing.scenes import RESULT_TYPES

ROUTER = Path(__file__).parents[3] / "router"
OWN_EVENTS = (ROUTER / "providers" / "definitions" / "router.yaml").read_text("utf-8")
GLOSSARY = (ROUTER.parent / "docs" / "glossary.md").read_text("utf-8")
ROWS = sorted(KINDS.values(), key=lambda kind: kind.number)
STORED = {"http": 0, "shell": 1, "python": 2, "log": 3}
"""Ledgers hold these numbers: a row may be added, none may change."""
EXCUSED = {
    "asgi.py": "the kind of an ASGI scope",
    "web/admin/asgi.py": "the kind of an ASGI scope",
    "cli/admin.py": "the scheme of an address",
    "cli/importing/webhook.py": "a hook becomes a command",
    "cli/login.py": "the scheme of an address",
    "cli/listening/target.py": "the scheme of an address",
    "cli/send_requests.py": "the scheme of an address",
    "cli/subscription_plan.py": "the scheme of an address",
    "config/settings.py": "the scheme of an address",
    "diagnosis/message_candidates.py": "the scheme of an address",
    "providers/hints.py": "the scheme of an address",
    "wiring/listeners.py": "the scheme of an address",
    "wiring/fingerprints.py": "secrets that sign http calls",
    "wiring/live.py": "the scheme of an address",
    "wiring/server.py": "the scheme of an address",
    "web/admin/openapi.py": "OpenAPI's word for a bearer token",
    "cli/completion.py": "the user's own shell",
    "config/schema.py": "an example of a rule's actions",
    "config/foreign_keys.py": "what other tools call our keys",
    "config/rule_schema.py": "an example of a rule's actions",
    "config/removed.py": "what went, by name",
    "config/json_schema.py": "the methods that an editor offers",
    "wiring/terminal.py": "the word before a line of the log",
    "log/__init__.py": "the class of a logger",
    "model/settings.py": "the limits that a rules file settles",
    "actions/request_auth.py": "signs http calls",
    "actions/kept_response.py": "keeps answers to http calls",
    "actions/http_client/request.py": "writes http calls",
    "actions/process_limits.py": "limits shell calls",
    "actions/live_output.py": "follows shell calls",
    "config/kinds/repository_dispatch.py": "is an http call",
    "config/checks/attempts.py": "knows what http calls accept",
    "config/checks/calls.py": "warns of where http calls go",
    "config/checks/commands.py": "warns of what shell calls run",
    "cli/addresses.py": "the scheme of a proof",
}
"""Files that have the word for a reason of their own."""


def test_the_three_tables_have_the_same_kinds() -> None:
    assert KINDS.keys() == ACTIONS.keys() == {row.kind for row in SCHEMAS.values()}
    assert {name: kind.name for name, kind in KINDS.items()} == {name: name for name in KINDS}
    assert ADDRESSED in KINDS


def test_stored_numbers_never_change() -> None:
    assert {name: kind.number for name, kind in KINDS.items()} == STORED


@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.name)
def test_a_row_agrees_with_its_classes(kind: Kind[Any, Any]) -> None:
    assert kind.call.kind == kind.name
    assert set(kind.result.types.values()) <= set(RESULT_TYPES)
    assert kind.result.code is None or kind.result.code in kind.result.types
    assert kind.result.code is None or kind.result.shown.format(7) != kind.result.shown
    assert set(kind.reply.waits if kind.reply else ()) <= set(
        kind.reply.values if kind.reply else ()
    )


def test_keys_of_tests_are_the_same_to_every_kind() -> None:
    """`calls` and `replies` have one schema for all: a key must not be two things."""
    forms = defaultdict(set)
    for kind in KINDS.values():
        for key, field in kind.calls.items():
            forms[key].add((field.form, field.about))
    assert {key: found for key, found in forms.items() if len(found) > 1} == {}
    keys = [kind.reply.key for kind in KINDS.values() if kind.reply is not None]
    assert len(keys) == len(set(keys))


def test_the_router_s_own_events_name_every_kind() -> None:
    """What `check` knows of `payload.kind` under `from: router`."""
    listed = re.findall(r"\bkind: \{values: \[(.+)\]\}", OWN_EVENTS)
    assert [set(row.split(", ")) for row in listed] == [set(KINDS)]


def test_the_glossary_names_every_kind() -> None:
    row = next(line for line in GLOSSARY.splitlines() if line.startswith("| action |"))
    assert [name for name in KINDS if f"`{name}`" not in row] == []


@pytest.mark.parametrize("package", ["kinds", "config/kinds", "actions"])
def test_a_kind_is_a_file_of_each_package(package: str) -> None:
    assert [name for name in KINDS if not (ROUTER / package / f"{name}.py").is_file()] == []


def knowing(name: str) -> set[str]:
    """The files that quote a kind's name, or name a class of it."""
    classes = f"{name.capitalize()}(Spec|Call|Entry|Action|LimitsEntry|Limits)"
    word = re.compile(rf"""(["'])'?{name}'?\1|\b_?{classes}\b""")
    files = ((path, path.read_text("utf-8")) for path in ROUTER.rglob("*.py"))
    return {path.relative_to(ROUTER).as_posix() for path, text in files if word.search(text)}


@pytest.mark.long
@pytest.mark.parametrize("name", list(KINDS))
def test_a_kind_is_known_to_its_files_and_tables_alone(name: str) -> None:
    tables = {"config/kinds/__init__.py", "actions/__init__.py"}
    own = {f"{package}/{name}.py" for package in ("kinds", "config/kinds", "actions")}
    assert own <= knowing(name), "it finds them"
    assert knowing(name) - own - tables - EXCUSED.keys() == set()
