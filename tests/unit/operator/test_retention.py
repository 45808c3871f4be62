"""Retention at an operator's word, in bounded pieces, on a real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from router.model.settings import KeepFor
from router.operator import retention
from router.store.removal import Retain
from router.store.sqlite.pruning import removable
from router.store.sqlite.reader import open_reader
from router.store.sqlite.store import SqliteStore, open_store
from tests.builders import a_ruleset
from tests.clocks import START_MS, JumpingClock
from tests.store_values import Maker

DAY = 86_400_000
NOW = START_MS + 2 * DAY
RULES = a_ruleset()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """30 deliveries without jobs, two days old, and one with a job that has not run."""
    store = await open_store(str(tmp_path / "router.db"), clock=JumpingClock(NOW))
    make = Maker()
    for _ in range(30):
        await store.accept(make.acceptance(jobs=[]))
    await store.accept(make.acceptance())
    yield store
    await store.close()


async def test_the_file_s_word_alone_removes_nothing_young(store: SqliteStore) -> None:
    wish = retention.retain(RULES, NOW)
    done = await retention.prune(store, wish, clock=JumpingClock(NOW))
    assert (done.deliveries, done.more) == (0, False)


async def test_an_endpoint_s_own_word_counts_for_its_deliveries(store: SqliteStore) -> None:
    endpoints = {
        name: msgspec.structs.replace(RULES.endpoints["shop"], name=name, retention=keep)
        for name, keep in (("shop", KeepFor(unmatched=DAY)), ("other", KeepFor(0, 0, 0)))
    }
    wish = retention.retain(msgspec.structs.replace(RULES, endpoints=endpoints), NOW)
    done = await retention.prune(store, wish, clock=JumpingClock(NOW))
    assert (done.deliveries, done.more) == (30, False)


@pytest.mark.parametrize(("age", "gone"), [(3 * DAY, 0), (DAY, 30), (0, 30)])
async def test_an_age_removes_what_has_ended_and_nothing_open(
    store: SqliteStore, tmp_path: Path, age: int, gone: int
) -> None:
    """The dry look says the same beforehand."""
    wish = retention.retain(RULES, NOW, finished_before=NOW - age)
    reader = open_reader(str(tmp_path / "router.db"))
    assert (await reader.ask(removable, wish, NOW))[0] == gone
    await reader.close()
    done = await retention.prune(store, wish, clock=JumpingClock(NOW))
    assert (done.deliveries, done.more) == (gone, False)
    assert sum((await store.reads.counts())["paid"].values()) == 1


async def test_a_call_is_bounded_and_says_that_there_is_more(store: SqliteStore) -> None:
    wish = retention.retain(RULES, NOW, finished_before=NOW)
    one = Retain(**{f: getattr(wish, f) for f in wish.__struct_fields__} | {"limit": 1})
    clock = JumpingClock(NOW)
    done = await retention.prune(store, one, clock=clock)
    assert (done.deliveries, done.more) == (30, False)
    assert len(clock.slept) >= 30, "others commit in between"
