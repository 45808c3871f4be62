"""Before a server serves: recorded and real work stay apart."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from router.errors import StoreRefused, StoreUnavailable
from router.model.store_address import SqliteFile, StoreAddress
from router.store.protocol import Store
from router.wiring.launch import _keep_apart, run
from router.wiring.live import GenerationSource
from router.wiring.rules import Overrides
from router.wiring.serve_options import ServeOptions
from router.wiring.stores import open_store
from tests.clocks import ManualClock
from tests.conformance.model_store import ModelStore
from tests.store_values import Maker


async def start(store: Any, address: StoreAddress, *, dry: bool) -> Mapping[str, Any]:
    await _keep_apart(store, address, dry=dry)
    kept: Mapping[str, Any] = await store.recall("dry")
    return kept


async def filled(store: Store) -> None:
    await store.accept(Maker().acceptance())


@pytest.fixture
def address(tmp_path: Path) -> SqliteFile:
    return SqliteFile(str(tmp_path / "router.db"))


@pytest.mark.parametrize("dry", [False, True])
async def test_a_store_that_holds_jobs_stays_what_it_was(address: SqliteFile, dry: bool) -> None:
    store = await open_store(address, clock=ManualClock())
    try:
        for first in (not dry, dry):  # while it is empty, whoever comes says
            assert bool((await start(store, address, dry=first)).get("dry")) is first
        await filled(store)
        await start(store, address, dry=dry)
        with pytest.raises(StoreRefused, match="normal run" if not dry else "--dry run"):
            await start(store, address, dry=not dry)
    finally:
        await store.close()


class Long(ModelStore):
    """It holds so many jobs that nobody should count them without need."""

    async def counts(self) -> Any:
        raise AssertionError("its jobs are counted")


@pytest.mark.parametrize("dry", [False, True])
async def test_jobs_are_not_counted_at_each_start(address: SqliteFile, dry: bool) -> None:
    store = Long(ManualClock())
    await store.remember({"dry": dry})
    assert await start(store, address, dry=dry) == {"dry": dry}
    with pytest.raises(AssertionError, match="are counted"):
        await start(store, address, dry=not dry)


async def test_a_database_that_is_away_ends_the_start_and_it_is_said_what_to_do(
    tmp_path: Path,
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules: []\n")
    url = "postgresql://router:sesame@127.0.0.1:1/ledger"
    overrides = Overrides(store=url)
    source = GenerationSource(rules, environ={}, dev=False, overrides=overrides)
    options = ServeOptions(rules=rules, dev=False, dry=False, overrides=overrides)
    with pytest.raises(StoreUnavailable) as raised:
        await run(options, source, source.build())
    said = str(raised.value)
    assert said.startswith("postgresql://127.0.0.1:1/ledger cannot be reached: ")
    assert "start it again" in said
    assert "sesame" not in said


async def test_a_mark_that_a_former_router_left_counts(address: SqliteFile) -> None:
    mark = Path(f"{address.path}.dry")
    store = await open_store(address, clock=ManualClock())
    try:
        await filled(store)
        mark.touch()
        with pytest.raises(StoreRefused, match="--dry run"):
            await start(store, address, dry=False)
        assert not mark.exists()
        with pytest.raises(StoreRefused, match="--dry run"):
            await start(store, address, dry=False)
        assert await start(store, address, dry=True) == {"dry": True}
    finally:
        await store.close()


async def test_of_a_shared_store_the_first_says_though_it_is_empty(address: SqliteFile) -> None:
    """The other runs already, and may make jobs at any moment."""
    store = ModelStore(ManualClock())
    assert store.shared
    await start(store, address, dry=False)
    with pytest.raises(StoreRefused, match="normal run"):
        await start(store, address, dry=True)
