"""Targets that an older router had paused are paused after the upgrade, and their jobs wait on."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router.model.target import Pause, TargetMemory, paused_targets
from router.store.sqlite import schema, upgrading
from router.store.sqlite.store import open_store
from tests.clocks import START_MS, ManualClock

BEFORE = 6
PAUSED = {"state": "paused", "since": START_MS, "reason": "they migrate", "by": "ann"}


async def upgraded(path: Path, facts: dict[str, bytes]) -> dict[str, Any]:
    """Those facts of a store of that time, as they are today."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        schema.migrate(db, schema.MIGRATIONS[:BEFORE])
        db.executemany("INSERT INTO facts VALUES (?, ?, 5)", facts.items())
    assert upgrading.upgrade(path).before == BEFORE
    store = await open_store(str(path), clock=ManualClock())
    found = dict(await store.recall(""))
    await store.close()
    return found


@pytest.mark.parametrize(
    ("given", "pause", "left"),
    [
        (PAUSED, Pause("they migrate", "ann", START_MS), TargetMemory()),
        (
            PAUSED | {"openings": 3, "failing_since": 5, "usual": 2.5},
            Pause("they migrate", "ann", START_MS),
            TargetMemory(openings=3, usual=2.5),
        ),
        ({"state": "paused"}, Pause("", "router", 0), TargetMemory()),
        ({"state": "paused", "by": 7, "since": "x"}, Pause(), TargetMemory()),
    ],
)
async def test_a_paused_target_has_a_fact_of_its_own(
    path: Path, given: dict[str, Any], pause: Pause, left: TargetMemory
) -> None:
    found = await upgraded(path, {"target/erp": msgspec.json.encode(given)})
    assert paused_targets({"paused/erp": found["paused/erp"]}) == {"erp": pause}
    left.state, left.reason = "recovering", "resumed"
    assert TargetMemory.read(found["target/erp"]) == left


@pytest.mark.parametrize(
    "value",
    [
        b'{"state":"failing","since":7,"reason":"paused"}',
        b'{"state":"open"}',
        b'{"recovering":true}',
        b'["paused"]',
        b'"paused"',
        b"7",
    ],
)
async def test_what_was_not_paused_is_as_it_was(path: Path, value: bytes) -> None:
    found = await upgraded(path, {"target/erp": value, "own/target/erp": b'{"state":"paused"}'})
    own = {"own/target/erp": {"state": "paused"}}
    assert found == own | {"target/erp": msgspec.json.decode(value)}


@pytest.mark.parametrize("value", [b'{"state":"paused"', b"\xff", b""])
async def test_what_a_disk_had_spoilt_keeps_nobody_from_upgrading(path: Path, value: bytes) -> None:
    assert await upgraded(path, {"target/erp": value, "target/crm": b'{"state":"paused"}'}) == {
        "paused/crm": {"reason": "", "by": "router", "at": 0},
        "target/crm": {"state": "recovering", "reason": "resumed"},
    }
