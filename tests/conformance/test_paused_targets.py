"""A target is paused in the ledger, for all nodes: its jobs wait, whatever rules a node has."""

from typing import Any

import pytest

from router.store.protocol import Store
from router.store.values import Selector
from tests.clocks import START_MS
from tests.store_values import FAR, GENERATION, Maker, a_settlement

ALL = Selector()
WHY = {"reason": "they migrate", "by": "ann", "at": START_MS}


async def pause(store: Store, target: str, **given: Any) -> int:
    return await store.pause_target(target, **{**WHY, **given})


async def hold(store: Store, *rules: str, now: int = START_MS) -> int:
    return await store.hold(frozenset(rules), generation=GENERATION, now=now)


@pytest.fixture
async def jobs(store: Store, make: Maker) -> None:
    """Two for one target, one of them of the rule `p`; one for another."""
    jobs = [make.job(target="erp"), make.job(target="crm"), make.job(target="erp", rule="p")]
    await store.accept(make.acceptance(jobs=jobs))


async def waits(store: Store) -> dict[str, tuple[str, ...]]:
    return {job.target + job.rule: job.waits_for for job in await store.reads.jobs(ALL)}


@pytest.mark.usefixtures("jobs")
async def test_its_jobs_wait_and_are_due_anew_when_it_is_resumed(store: Store) -> None:
    assert await pause(store, "erp") == 2
    assert set(await store.reads.targets()) == {"crm"}
    assert await store.recall("paused/") == {"paused/erp": WHY}
    assert await hold(store, "p") == 1, "for the rule too"
    assert await waits(store) == {
        "erppaid": ("its paused target",),
        "crmpaid": (),
        "erpp": ("its paused rule", "its paused target"),
    }
    assert await store.resume_target("erp", now=FAR) == 2
    assert await store.recall("paused/") == {}
    found = {job.target + job.rule: job for job in await store.reads.jobs(ALL)}
    assert found["erpp"].waits_for == ("its paused rule",)
    assert (found["erppaid"].state, found["erppaid"].due_at) == ("available", FAR)
    assert found["crmpaid"].due_at < FAR


@pytest.mark.usefixtures("jobs")
async def test_who_pauses_it_first_is_named_and_others_hold_what_came_since(
    store: Store, make: Maker
) -> None:
    await pause(store, "erp")
    assert await pause(store, "erp", by="bob") == 0
    await store.accept(make.acceptance(jobs=[make.job(target="erp")]))
    assert await pause(store, "erp", by="bob", reason="no") == 1
    assert await store.recall("paused/") == {"paused/erp": WHY}


@pytest.mark.usefixtures("jobs")
async def test_what_was_never_paused_can_be_resumed(store: Store) -> None:
    await pause(store, "crm")
    assert await store.resume_target("erp", now=FAR) == 0
    assert await store.reads.targets() == {"erp": START_MS}


@pytest.mark.long
async def test_a_job_whose_attempt_failed_since_is_held_by_the_next_look(
    store: Store, make: Maker
) -> None:
    await store.accept(make.acceptance(jobs=[make.job(target="erp")]))
    (work,) = (await store.lease({"erp": 1}, lease="b/1", now=FAR)).jobs
    assert await pause(store, "erp") == 0, "it runs"
    await store.settle(a_settlement(work.job, "retryable", due_at=FAR))
    assert await hold(store) == 1
    assert await hold(store) == 0
    (job,) = await store.reads.jobs(ALL)
    assert (job.state, job.waits_for) == ("waiting", ("its paused target",))
    assert await store.resume_target("erp", now=FAR) == 1
    assert (await store.lease({"erp": 1}, lease="b/2", now=FAR)).jobs


@pytest.mark.usefixtures("jobs")
async def test_it_is_paused_and_resumed_whatever_rules_are_in_force(store: Store) -> None:
    """Only what goes by rules goes by those in force."""
    await store.put_in_force("other", by="n1", at=START_MS)
    assert await pause(store, "erp") == 2
    assert await hold(store) == 0
    assert await store.resume_target("erp", now=FAR) == 2
