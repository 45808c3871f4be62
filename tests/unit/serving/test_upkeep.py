"""Upkeep on a real SQLite file: retention, the size cap, paused rules."""

from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from router import log
from router.expressions import compile as compiled
from router.model.job import Group, Predecessor, Turn
from router.model.settings import Retention, ServerSettings
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.rules.specs import CompiledRule, Concurrency
from router.serving.upkeep import JOURNAL_MOST, Upkeep
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Selector
from tests.builders import a_rule, a_ruleset
from tests.clocks import START_MS, ManualClock
from tests.store_values import Maker

DAY = 86_400
FAR = START_MS + DAY * 1000


class World:
    """A store, its upkeep, and a clock."""

    def __init__(self, store: SqliteStore, clock: ManualClock, **given: Any) -> None:
        self.store, self.clock = store, clock
        self.live = LiveRef(LiveRuleset(a_ruleset(), SecretValues({}, {})))
        self.woken: list[str] = []
        self.upkeep = Upkeep(
            store=store,
            live=self.live,
            dispatch=SimpleNamespace(  # type: ignore[arg-type]
                wake=lambda target, due_at: self.woken.append(target),
            ),
            clock=clock,
            log=given.pop("log", log.get("test")),
            **given,
        )

    def say(self, *rules: object, **retention: int) -> None:
        """Put other rules and retention in force."""
        server = ServerSettings(retention=msgspec.structs.replace(Retention(), **retention))
        self.live.swap(LiveRuleset(a_ruleset(*rules, server=server), SecretValues({}, {})))  # type: ignore[arg-type]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """An empty store."""
    clock = ManualClock()
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    yield World(store, clock)
    await store.close()


async def test_what_is_past_its_time_goes_and_open_jobs_stay(world: World) -> None:
    """A week for unmatched deliveries, never for those with work to do."""
    make = Maker()
    await world.store.accept(make.acceptance(jobs=[]))
    await world.store.accept(make.acceptance())
    assert await world.upkeep.step() == 0
    await world.clock.advance(8 * DAY)
    assert await world.upkeep.step() == 1
    assert [d.jobs for d in await world.store.reads.deliveries(Selector())] == [{"available": 1}]


async def test_a_full_store_refuses_until_there_is_room(world: World) -> None:
    """At 95 % of the cap; the cap may be raised by a reload."""
    await world.store.accept(Maker().acceptance())
    world.say(max_size=1000)
    await world.upkeep.step()
    assert world.upkeep.full
    world.say(max_size=1024**3)
    await world.upkeep.step()
    assert not world.upkeep.full


async def test_pausing_a_rule_holds_its_jobs_and_resuming_wakes_them(world: World) -> None:
    """Jobs already made wait too."""
    make = Maker()
    await world.store.accept(make.acceptance(jobs=[make.job(rule="r", target="erp")]))
    world.say(a_rule("r", mode="paused"))
    await world.upkeep.step()
    assert [j.state for j in await world.store.reads.jobs(Selector())] == ["waiting"]
    world.woken.clear()
    world.say(a_rule("r"))
    await world.upkeep.step()
    assert [j.state for j in await world.store.reads.jobs(Selector())] == ["available"]
    assert world.woken == ["erp"]


async def test_jobs_of_a_paused_target_wait(world: World) -> None:
    await world.store.pause_target("erp", reason="they migrate", by="ann", at=START_MS)
    await world.store.accept(Maker().acceptance())
    await world.upkeep.step()
    assert [j.state for j in await world.store.reads.jobs(Selector())] == ["waiting"]


def group_of(limit: int) -> CompiledRule:
    """The rule `paid`, so many of whose runs may be busy at once."""
    return a_rule("paid", concurrency=Concurrency(compiled("payload.id"), Group(limit)))


async def test_a_changed_limit_is_in_force_with_its_generation(world: World) -> None:
    """Runs that waited for a turn are woken; a reload that changes nothing wakes nobody."""
    make = Maker()
    turn = Turn("paid\x1f1", "1", Group(1))
    for _ in range(3):
        await world.store.accept(make.acceptance(jobs=[make.job(run="r", turn=turn)]))
    world.say(group_of(1))
    await world.upkeep.apply()
    assert world.woken == []
    world.say(group_of(2))
    await world.upkeep.apply()
    assert world.woken == ["erp"]
    assert (await world.store.reads.counts())["paid"] == {"available": 2, "waiting": 1}


async def test_a_paused_rule_s_chain_waits_for_both(world: World) -> None:
    """Its first job waits for the rule alone."""
    make = Maker()
    jobs = [make.job(run="r", action="a"), make.job(run="r", after=(Predecessor("a"),))]
    await world.store.accept(make.acceptance(jobs=jobs))
    world.say(a_rule("paid", mode="paused"))
    await world.upkeep.apply()
    assert (await world.store.reads.counts())["paid"] == {"waiting": 2}
    world.say(a_rule("paid"))
    await world.upkeep.apply()
    assert (await world.store.reads.counts())["paid"] == {"available": 1, "waiting": 1}


async def test_a_journal_that_grows_is_reported_once_and_its_end_too(world: World) -> None:
    """Somebody reads the store for long: only he can end that."""
    size = 0
    reported: list[str] = []
    lines = SimpleNamespace(
        warning=lambda text, **fields: reported.append(text),
        info=lambda text, **fields: reported.append(text),
    )
    world = World(world.store, world.clock, log=lines, journal_bytes=lambda: size)
    for size in (10, JOURNAL_MOST + 1, JOURNAL_MOST + 2, 10, 20):  # noqa: B007 - read above
        await world.upkeep.step()
    assert reported == ["the journal grows", "the journal is short again"]


async def test_what_another_node_has_claimed_is_left_to_it(world: World) -> None:
    """But whether there is room each finds out for itself."""
    asked: list[str] = []

    async def claimed(name: str, _ttl_ms: int) -> bool:
        asked.append(name)
        return False

    here = World(world.store, world.clock, claimed=claimed)
    here.say(a_rule("r", mode="paused"))
    make = Maker()
    await world.store.accept(make.acceptance(jobs=[]))
    await world.store.accept(make.acceptance(jobs=[make.job(rule="r")]))
    await world.clock.advance(8 * DAY)
    assert await here.upkeep.step() == 0
    assert [j.state for j in await world.store.reads.jobs(Selector())] == ["available"]
    assert asked == [f"hold/{here.live.current.ruleset.generation}", "prune"]
    here.say(max_size=1)
    await here.upkeep.step()
    assert here.upkeep.full
