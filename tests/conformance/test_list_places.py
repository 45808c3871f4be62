"""Long lists go on after a place: a text of the store's own, which nobody else takes apart."""

import pytest

from router.errors import UsageError
from router.store.protocol import Store
from router.store.values import Selector
from tests.conformance.rig import DATABASES
from tests.store_values import FAR, Maker, a_settlement

pytestmark = pytest.mark.parametrize("store", DATABASES, indirect=True)
"""The model has no such lists."""

ONE = Selector(limit=1)


async def test_events_go_on_behind_the_one_that_ended_a_page(store: Store, make: Maker) -> None:
    for _ in range(2):
        await store.accept(make.acceptance(events=(make.event(0), make.event(1))))
    expected = await store.reads.events(Selector())
    assert len(expected) == 4
    found, after = [], None
    for _ in expected:
        (one,) = await store.reads.events(ONE, after)
        found.append(one)
        after = one.at
    assert tuple(found) == expected
    assert await store.reads.events(ONE, after) == ()


async def test_attempts_go_on_behind_the_one_that_ended_a_page(store: Store, make: Maker) -> None:
    await store.accept(make.acceptance(jobs=[make.job(), make.job()]))
    for number in range(2):
        for one in (await store.lease({"erp": 2}, lease=f"b/{number}", now=FAR)).jobs:
            assert await store.settle(a_settlement(one.job, "retryable", due_at=FAR))
    expected = await store.reads.attempts(Selector())
    assert len(expected) == 4
    found, after = [], None
    for _ in expected:
        (one,) = await store.reads.attempts(ONE, after)
        found.append(one)
        after = one.at
    assert tuple(found) == expected
    assert await store.reads.attempts(ONE, after) == ()


@pytest.mark.parametrize("place", ["", "dlv_1", "dlv_1/", "dlv_1/-1", "dlv_1/1/1", "x/" + "9" * 16])
async def test_a_place_that_the_store_did_not_give_is_refused(store: Store, place: str) -> None:
    for asked in (store.reads.events, store.reads.attempts):
        with pytest.raises(UsageError, match="no page of this list"):
            await asked(ONE, place)
