"""Generations that jobs name are fetched from the ledger, with the secrets of this node."""

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from router.dispatch.rules_port import dispatch_live
from router.errors import StoreUnavailable
from router.kinds.http import HttpCall
from router.model.ids import Ids
from router.model.job import Job, Work
from router.operator.new_jobs import NewJobs
from router.rules.live import LiveRef
from router.store.sqlite.store import open_store
from router.store.values import Generation, untold
from router.wiring.fetching import AGAIN_S, FetchedRules
from router.wiring.live import GenerationSource, generation_of, restore_former
from router.wiring.rules import NO_OVERRIDES, read_rules
from tests.clocks import ManualClock
from tests.sim.makers import a_delivery, a_job
from tests.store_values import Maker
from tests.unit.serving.test_nodes import Lines

HEAD = """\
version: 1
endpoints: {code: {id: 97aa97aa97aa97aa97aa97aa97aa97aa, provider: code-host, secrets: hub}}
"""
MINE = HEAD + "secrets: {hub: {env: HUB}}\nrules: [{id: mine, from: code, actions: {log: hi}}]\n"
THEIRS = (
    HEAD.replace("code-host", "theirs")
    + """\
secrets: {hub: {env: HUB}, erp: {env: ERP}}
providers:
  theirs:
    verify: {scheme: hmac, header: X-Theirs-Signature}
    event: {header: X-Theirs-Event}
    id: {header: X-Theirs-Id}
targets: {erp: {url: https://erp.example.net, concurrency: 3}}
rules:
  - id: theirs
    from: code
    actions:
      - id: tell
        http: {target: erp, headers: {x-key: "{{ secret.erp }}"}, json: {of: "{{ payload.ref }}"}}
        on_interrupt: dead
"""
)
HUB = {"HUB": "a-made-up-secret-of-32-characters"}
ERP = {"ERP": "another-made-up-secret-of-them-all"}


class World:
    """A node with rules of its own on a ledger that keeps those of another."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        self.path, self.clock, self.log = folder / "rules.yaml", ManualClock(), Lines()
        self.path.write_text(MINE)
        self.source = GenerationSource(
            self.path, environ=environ, dev=False, overrides=NO_OVERRIDES
        )
        self.live = LiveRef(self.source.build())

    async def open(self, theirs: str = THEIRS) -> None:
        self.store = await open_store(str(self.path.parent / "router.db"), clock=self.clock)
        self.path.write_text(THEIRS)
        ruleset = read_rules(self.path, environ={**HUB, **ERP}).ruleset
        assert ruleset is not None
        kept = generation_of(ruleset, self.clock)
        await self.store.keep_generation(Generation(kept.id, theirs, kept.context, 1))
        self.path.write_text(MINE)
        self.job = a_job(rule="theirs", action="tell", generation=kept.id, event="push")
        self.rules = FetchedRules(
            self.live, self.store.reads, self.source.compiled, clock=self.clock, log=self.log
        )

    async def kept(self) -> Generation:
        found = await self.store.reads.generation(self.job.generation)
        assert found is not None
        return found

    async def knows(self, job: Job | None = None) -> bool:
        """Once it has been fetched, should that be possible."""
        await self.rules.fetch([job or self.job])
        return self.rules.knows(job or self.job)


async def test_a_job_runs_by_the_generation_that_it_names(tmp_path: Path) -> None:
    """With its provider, its targets' limits, its secrets, its word on interruption."""
    world = World(tmp_path, {**HUB, **ERP})
    await world.open()
    dispatch = dispatch_live(world.live, {}, untold, world.rules)
    assert not world.rules.knows(world.job)
    assert await world.knows()
    sent = (("content-type", "application/json"), ("x-theirs-event", "push"))
    delivery = a_delivery(provider="theirs", body=b'{"ref": "main"}', headers=sent)
    call = dispatch.render(Work(world.job, delivery, None), {})
    assert isinstance(call, HttpCall)
    assert (call.body, call.url) == (b'{"of":"main"}', "https://erp.example.net")
    assert ("x-key", ERP["ERP"]) in call.headers
    assert dispatch.limits("erp", "http").concurrency == 3
    assert dispatch.kind_of("erp") == "http"
    assert dispatch.generation_of(world.job) == world.job.generation
    assert dispatch.dead_if_interrupted() == {("theirs", "tell")}
    await world.store.close()


async def test_after_a_reload_it_is_fetched_again_and_what_runs_goes_on(tmp_path: Path) -> None:
    """Its secrets may be others since."""
    world = World(tmp_path, {**HUB, **ERP})
    await world.open()
    assert await world.knows()
    former = world.live.action_of(world.job)
    world.live.swap(world.source.build())
    assert not world.rules.knows(world.job)
    assert world.live.action_of(world.job) == former
    assert await world.knows()
    found = world.live.action_of(world.job)
    assert found is not None
    assert found != former
    await world.store.close()


async def test_what_lacks_a_secret_here_is_for_other_nodes_until_it_is_there(
    tmp_path: Path,
) -> None:
    environ = dict(HUB)
    world = World(tmp_path, environ)
    await world.open()
    assert not await world.knows()
    assert len(world.log.said) == 1
    environ |= ERP
    assert not await world.knows(), "it is not tried all the time"
    assert len(world.log.said) == 1
    await world.clock.advance(AGAIN_S)
    assert await world.knows()
    assert len(world.log.said) == 2


async def test_that_it_cannot_be_run_here_is_said_once(tmp_path: Path) -> None:
    world = World(tmp_path, HUB)
    await world.open()
    for _ in range(3):
        assert not await world.knows()
        await world.clock.advance(AGAIN_S)
    assert len(world.log.said) == 1
    await world.store.close()


async def test_while_the_store_is_away_nothing_is_left_to_others(tmp_path: Path) -> None:
    world = World(tmp_path, {**HUB, **ERP})
    await world.open()
    kept, away = await world.kept(), [False, True]

    class Reads:
        async def generation(self, id_: str) -> Generation | None:
            if away.pop():
                raise StoreUnavailable("away")
            return kept if id_ == kept.id else None

    reads: Any = Reads()
    world.rules = FetchedRules(
        world.live,
        reads,
        world.source.compiled,
        clock=world.clock,
        log=world.log,
    )
    assert not await world.knows()
    assert await world.knows()
    await world.store.close()


@pytest.mark.parametrize("theirs", ["version: 1\nrules: [{id: theirs, from: nowhere}]\n", "{"])
async def test_what_does_not_compile_here_is_for_other_nodes(tmp_path: Path, theirs: str) -> None:
    world = World(tmp_path, {**HUB, **ERP})
    await world.open(theirs)
    assert not await world.knows()
    assert world.live.action_of(world.job) is None
    await world.store.close()


async def test_a_generation_that_nobody_kept_is_for_other_nodes(tmp_path: Path) -> None:
    world = World(tmp_path, HUB)
    await world.open()
    assert not await world.knows(a_job(rule="theirs", generation="0" * 64))
    assert await world.knows(a_job(rule="mine", action="log"))
    await world.store.close()


async def test_a_job_is_made_again_for_whoever_has_its_rule(tmp_path: Path) -> None:
    """Also by a node that does not have it, or has it no more."""
    world = World(tmp_path, {**HUB, **ERP})
    await world.open()
    again = NewJobs(world.live, world.clock, Ids(random.Random(1)))
    first = again.job(world.job)
    assert (first.generation, first.target) == (world.job.generation, world.job.target)
    mine, theirs = world.live.current, world.source.compiled(await world.kept())
    world.live.swap(theirs)
    world.live.swap(mine)
    again_by_former = again.job(msgspec.structs.replace(world.job, generation="0" * 64))
    assert again_by_former.generation == theirs.ruleset.generation
    assert again_by_former.target == "erp"
    await world.store.close()


async def test_a_generation_that_lacks_the_action_is_not_fetched_all_the_time(
    tmp_path: Path,
) -> None:
    world = World(tmp_path, {**HUB, **ERP})
    await world.open()
    other = msgspec.structs.replace(world.job, action="unknown")
    for _ in range(3):
        assert not await world.knows(other)
    assert len(world.log.said) == 1
    await world.store.close()


@pytest.mark.parametrize("shared", [False, True])
async def test_a_rule_of_other_nodes_is_not_taken_for_one_that_was_here(
    tmp_path: Path, shared: bool
) -> None:
    """It would run without the secrets that they have."""
    world = World(tmp_path, HUB)
    await world.open()
    maker = Maker()
    jobs = [maker.job(rule="theirs", action="tell")]
    await world.store.accept(maker.acceptance(jobs=jobs, generation=world.job.generation))
    world.store.shared = shared
    await restore_former(world.live, world.store, world.source, world.log)
    assert (world.live.action_of(world.job) is None) == shared
    await world.store.close()
