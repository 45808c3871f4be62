"""A router puts what it was given in force, at its start and with each reload."""

from pathlib import Path

import pytest

from router.rules.live import LiveRuleset, SecretValues
from router.store.sqlite.store import SqliteStore, open_store
from router.wiring.live import put_in_force
from tests.builders import a_ruleset
from tests.clocks import ManualClock


async def in_force(store: SqliteStore) -> str | None:
    found = await store.reads.in_force()
    return found and found.generation


@pytest.mark.parametrize("shared", [False, True])
async def test_who_comes_back_with_old_rules_has_them_in_force_only_if_it_is_alone(
    tmp_path: Path, shared: bool
) -> None:
    """A ledger that was moved to another machine, and back again."""
    clock = ManualClock()
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    store.shared = shared

    async def given(generation: str, node: str) -> None:
        live = LiveRuleset(a_ruleset(generation=generation), SecretValues({}, {}))
        await put_in_force(store, live, node=node, clock=clock)

    await given("g1", "here")
    await given("g2", "there")
    assert await in_force(store) == "g2"
    await given("g1", "here")
    assert await in_force(store) == ("g2" if shared else "g1")
    assert {one.id for one in await store.reads.generations(9)} == {"g1", "g2"}
    await store.close()
