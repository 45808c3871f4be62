"""What only the primary has is acknowledged to nobody, however often it is sent."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from router.clock import SystemClock
from router.errors import StoreUnavailable
from router.store.postgres.store import open_store
from router.store.values import Accepted
from tests.fleet.site import SAFE, until
from tests.fleet.standby import Pair, private_pair
from tests.store_values import Maker

pytestmark = pytest.mark.long


@pytest.fixture
async def pair(postgres_binaries: Path) -> AsyncIterator[Pair]:
    async with private_pair(postgres_binaries, SAFE) as pair:
        yield pair


async def a_commit_waits(pair: Pair) -> bool:
    said = pair.primary.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
    return bool(said)


@pytest.mark.parametrize(("events", "keys"), [(1, ()), (1, (b"key",)), (2, ())])
async def test_what_the_standby_has_not_is_not_acknowledged_when_it_is_sent_again(
    pair: Pair, events: int, keys: tuple[bytes, ...]
) -> None:
    make = Maker()
    one = make.acceptance(events=[make.event(n, *keys) for n in range(events)])
    store = await open_store(pair.primary.address(), clock=SystemClock())
    await store.accept(make.acceptance())  # its generation is known: one commit is left
    pair.link.hold_up()
    first = asyncio.ensure_future(store.accept(one))
    await until(lambda: a_commit_waits(pair), "the commit waits for the standby")
    await asyncio.to_thread(pair.primary.stop, "immediate")
    await asyncio.to_thread(pair.primary.start)
    found = pair.primary.execute("SELECT count(*) FROM deliveries", database="router")
    assert found == "2"  # a crash has made it visible, and the standby has not got it
    with pytest.raises(StoreUnavailable):
        await first
    with pytest.raises(StoreUnavailable):
        await store.accept(one)
    pair.link.mend()
    assert await store.accept(one) == Accepted(one.delivery.id)
    await store.close()
