"""Pages of whole deliveries: bounded, and never through the middle of a delivery's jobs."""

import pytest

from router.errors import UsageError
from router.store.common.lists import BYTES, ROWS
from router.store.protocol import Store
from router.store.values import Selector
from tests.conformance.rig import DATABASES
from tests.store_values import Maker

pytestmark = pytest.mark.parametrize("store", DATABASES, indirect=True)
"""The model has no bounds."""


async def walked(store: Store, *, jobs: bool, newest: bool = False) -> list[list[int]]:
    """How many jobs each delivery of each page had."""
    pages: list[list[int]] = []
    after: str | None = None
    while True:
        page = await store.reads.page(Selector(), jobs=jobs, newest=newest, after=after)
        pages.append([len(stored.jobs) for stored in page.found])
        after = page.reached
        if after is None:
            return pages


async def test_the_jobs_of_a_delivery_are_together(store: Store, make: Maker) -> None:
    """However many: those of one run must be made again as one."""
    for count in (ROWS - 1, ROWS + 50, 3):
        await store.accept(make.acceptance(jobs=[make.job() for _ in range(count)]))
    assert await walked(store, jobs=True) == [[ROWS - 1, ROWS + 50], [3]]
    newest = await walked(store, jobs=True, newest=True)
    assert sum(map(len, newest)) == 2 * ROWS + 52


@pytest.mark.long
async def test_large_bodies_make_small_pages(store: Store, make: Maker) -> None:
    """One is always taken."""
    for size in (BYTES + 1, BYTES // 2, BYTES // 2, BYTES // 2):
        await store.accept(make.acceptance(body=b"x" * size))
    assert [len(page) for page in await walked(store, jobs=False)] == [1, 2, 1]


async def test_a_condition_is_not_for_the_store(store: Store) -> None:
    """It would select too much without it."""
    wanted = Selector(where="payload.id")
    for asking in (
        store.reads.jobs(wanted),
        store.reads.deliveries(wanted),
        store.reads.causes(wanted),
    ):
        with pytest.raises(UsageError):
            await asking
    with pytest.raises(UsageError):
        await store.cancel(wanted, reason="", now=0)
