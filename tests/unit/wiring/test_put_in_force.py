"""A router puts what it was given in force, at its start and with each reload."""

from pathlib import Path

import pytest

from router.model.settings import ServerSettings, Target
from router.model.store_address import SqliteFile
from router.operator.requests import TargetRequest
from router.rules.live import LiveRuleset, SecretValues
from router.store.sqlite.store import SqliteStore, open_store
from router.wiring.live import put_in_force
from router.wiring.offline import open_verbs
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


async def test_a_verb_without_a_server_puts_no_other_rules_in_force(tmp_path: Path) -> None:
    """It keeps what it was asked with; the next `serve` says what holds."""
    server = ServerSettings(store=SqliteFile(str(tmp_path / "router.db")))
    targets = {"erp": Target("erp", url="https://erp.example.net/x")}
    async with open_verbs(a_ruleset(generation="g1", server=server, targets=targets)) as verbs:
        await verbs.pause(TargetRequest("erp"))
    store = await open_store(str(server.store), clock=ManualClock())
    assert [one.id for one in await store.reads.generations(9)] == ["g1"]
    assert await in_force(store) is None
    await store.close()
