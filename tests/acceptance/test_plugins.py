"""The running program with a plugin: an event in, its effect out; reload; hostile work; the end."""

from pathlib import Path

import pytest

from tests import ledger
from tests.acceptance.conftest import MakeRig, Send
from tests.acceptance.process import Rig
from tests.acceptance.senders import code

pytestmark = pytest.mark.long

PLUGIN = """
import os
from router.plugin import Event, PlainContext

def note(event: Event, context: PlainContext, *, number: int) -> dict:
    line = f"VERSION {event.name} {number} {event.idempotency_key[:4]} {event.body[:1].decode()}"
    with open("notes.txt", "a") as notes:
        print(line, file=notes)
    return {"pid": os.getpid()}

def crash(event: Event, context: PlainContext) -> None:
    os._exit(9)
"""
RULES = """
rules:
  - id: note
    from: all
    actions: {python: {call: "notes:note", args: {number: "{{ payload.number }}"}}}
"""


def a_site(rig: Rig, version: str = "one") -> Path:
    plugins = rig.folder / "plugins"
    plugins.mkdir(exist_ok=True)
    (plugins / "notes.py").write_text(PLUGIN.replace("VERSION", version))
    return rig.folder / "notes.txt"


def lines(notes: Path) -> list[str]:
    return notes.read_text().splitlines() if notes.exists() else []


def test_a_delivery_reaches_the_plugin_and_a_new_version_is_taken(
    make_rig: MakeRig, send: Send
) -> None:
    rig = make_rig(RULES)
    notes = a_site(rig)
    with rig.router() as router:
        assert send(rig, code(), 1).status_code == 200
        router.until(lambda: len(lines(notes)) == 1, "the first note")
        a_site(rig, "two")
        router.until(lambda: '"reloaded' in router.output(), "the reload")
        assert send(rig, code(), 2).status_code == 200
        router.until(lambda: ledger.counts(rig.store).succeeded == 2, "two jobs to succeed")
    assert lines(notes) == ["one push 1 job_ {", "two push 2 job_ {"]


def test_a_plugin_that_crashes_leaves_the_router_and_other_work_alone(
    make_rig: MakeRig, send: Send
) -> None:
    rig = make_rig(
        RULES
        + '  - {id: crash, from: all, actions: {python: {call: "notes:crash"}}, retry: none}\n'
    )
    notes = a_site(rig)
    with rig.router() as router:
        for number in (1, 2, 3):
            assert send(rig, code(), number).status_code == 200
        router.until(lambda: len(lines(notes)) == 3, "three notes")
        router.until(lambda: ledger.counts(rig.store).succeeded == 3, "three jobs to succeed")
        router.until(lambda: "ended its process: exit 9" in router.output(), "the crash's line")
        assert router.running


def test_a_plugin_that_is_wrong_is_refused_at_start(make_rig: MakeRig) -> None:
    rig = make_rig(RULES.replace("number:", "numbr:"))
    a_site(rig)
    router = rig.router().launch()
    assert router.ended(within=20) == 1
    assert "did you mean 'number'?" in router.output()
