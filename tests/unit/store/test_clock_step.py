"""Due times on their way to the file while everything in it is moved."""

import asyncio
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from router.errors import StoreUnavailable
from router.model.operations import Replay, ReplayStep
from router.store.sqlite import clock_step
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.clocks import START_MS, ManualClock
from tests.store_values import FAR, Maker, a_settlement

DAY_MS = 86_400_000


async def opened(folder: Path) -> SqliteStore:
    return await open_store(str(folder / "router.db"), clock=ManualClock())


async def due_times(store: SqliteStore) -> list[int]:
    return sorted(job.due_at - START_MS for job in await store.reads.jobs(Selector(limit=1_000)))


async def test_whatever_is_asked_before_the_answer_moves_and_nothing_after(tmp_path: Path) -> None:
    """Whoever waits for the answer goes by the old clock: also in the same commit, and after it."""
    store, make = await opened(tmp_path), Maker()
    await store.accept(make.acceptance())
    [leased] = (await store.lease({"erp": 1}, lease="b.1", now=FAR)).jobs
    shift = asyncio.ensure_future(store.shift(DAY_MS, boot="b", now=START_MS + DAY_MS))
    settle = store.settle(a_settlement(leased.job, "retryable", due_at=START_MS + 5))
    before: list[asyncio.Future[Any]] = [asyncio.ensure_future(settle)]
    before += [asyncio.ensure_future(store.accept(make.acceptance())) for _ in range(300)]
    await asyncio.wait({shift}, return_when=asyncio.FIRST_COMPLETED)
    # The answer is there: from here on everything is by the new clock.
    after = [asyncio.ensure_future(store.accept(make.acceptance())) for _ in range(300)]
    await asyncio.gather(*before, *after)
    await store.accept(make.acceptance(jobs=[make.job(due_at=START_MS + 9)]))
    assert await due_times(store) == [0] * 300 + [9] + [DAY_MS] * 300 + [DAY_MS + 5]
    await store.close()


async def test_the_answer_parts_old_from_new_within_one_batch(tmp_path: Path) -> None:
    """Accepts go first in a batch, but none before the mark that it came after."""
    store, make = await opened(tmp_path), Maker()
    await store._writer.submit("work", lambda book: clock_step.shift(book, DAY_MS, "b", START_MS))
    gate = threading.Event()
    held = store._writer.submit("work", lambda _: gate.wait(10))
    old = asyncio.ensure_future(store.accept(make.acceptance()))
    await asyncio.sleep(0)
    store._writer.caught_up()
    new = asyncio.ensure_future(store.accept(make.acceptance()))
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(held, old, new)
    assert await due_times(store) == [0, DAY_MS]
    await store.close()


async def test_a_replay_s_step_meanwhile_keeps_its_pace(tmp_path: Path) -> None:
    store = await opened(tmp_path)
    await store.begin_replay(Replay("rpl_1", {}, START_MS))
    shift = asyncio.ensure_future(store.shift(-DAY_MS, boot="b", now=START_MS))
    await asyncio.sleep(0)
    step = ReplayStep("rpl_1", "", "dlv_a", False, (), {"erp": float(START_MS)}, 0)
    await asyncio.gather(shift, store.replay_step(step, now=START_MS))
    replay = await store.reads.replay("rpl_1")
    assert replay is not None
    assert replay.due == {"erp": START_MS - DAY_MS}
    await store.close()


async def test_what_is_leased_meanwhile_is_leased_by_the_new_clock(tmp_path: Path) -> None:
    """Else a clock that went back by a day would start all retries of the day at once."""
    store, make = await opened(tmp_path), Maker()
    later = make.job(due_at=START_MS + 60_000)
    await store.accept(make.acceptance(jobs=[make.job(), later]))
    shift = asyncio.ensure_future(store.shift(-DAY_MS, boot="b", now=START_MS - DAY_MS))
    await asyncio.sleep(0)
    batch = await store.lease({"erp": 5}, lease="b.1", now=START_MS + 1)
    await shift
    assert [one.job.due_at for one in batch.jobs] == [START_MS - DAY_MS]
    assert batch.jobs[0].job.started_at == START_MS + 1 - DAY_MS
    await store.close()


async def test_a_shift_that_cannot_be_written_moves_nothing(tmp_path: Path) -> None:
    store, make = await opened(tmp_path), Maker()
    await store.accept(make.acceptance())
    with pytest.raises(StoreUnavailable):
        await store.shift(1 << 70, boot="b", now=START_MS)
    await store.accept(make.acceptance())
    assert await due_times(store) == [0, 0]
    assert await store.recall("clock") == {}
    await store.close()


async def test_a_store_that_was_shifted_closes_and_opens(tmp_path: Path) -> None:
    store, make = await opened(tmp_path), Maker()
    await store.accept(make.acceptance())
    for total in (DAY_MS, 0, -DAY_MS):
        await store.shift(total, boot="b", now=START_MS)
        await store.accept(make.acceptance())
    await store.close()
    store = await opened(tmp_path)
    assert await due_times(store) == [-2 * DAY_MS, -DAY_MS, -DAY_MS, 0]
    await store.close()


async def test_who_leaves_before_the_answer_can_have_it_undone(tmp_path: Path) -> None:
    """As at a stop: he never knew of the new clock, and notes the time by the old one."""
    store, make = await opened(tmp_path), Maker()
    await store.accept(make.acceptance())
    shift = asyncio.ensure_future(store.shift(DAY_MS, boot="b", now=START_MS + DAY_MS))
    await asyncio.sleep(0)
    shift.cancel()
    await store.accept(make.acceptance())
    assert await due_times(store) == [DAY_MS, DAY_MS]
    assert await store.shift(0, boot="b", now=START_MS) == 2
    await store.accept(make.acceptance())
    assert await due_times(store) == [0, 0, 0]
    assert (await store.recall("clock"))["clock"]["at"] == START_MS
    await store.shift(5, boot="b", now=START_MS)
    assert await due_times(store) == [5, 5, 5]
    await store.close()


async def test_asked_twice_before_an_answer_it_moves_by_the_sum(tmp_path: Path) -> None:
    store, make = await opened(tmp_path), Maker()
    await store.accept(make.acceptance())
    for total in (DAY_MS, 2 * DAY_MS):
        await store._writer.submit("work", partial(clock_step.shift, total=total, boot="b", now=0))
        await store.accept(make.acceptance())
        assert await due_times(store) == [total] * (1 + total // DAY_MS)
    await store.close()
