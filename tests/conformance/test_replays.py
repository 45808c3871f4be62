"""Replays, the audit, causes and pages: the same suite for the file and for the model."""

from pathlib import Path

import msgspec
import pytest

from router.errors import NotFound
from router.model.job import NewJob
from router.model.operations import Audit, Planned, Replay, ReplayStep
from router.store.protocol import Store
from router.store.removal import Retain
from router.store.values import Acceptance, Selector
from tests.clocks import START_MS
from tests.store_values import FAR, Maker, a_settlement, entries

ALL = Selector()
REPLAY = Replay("rpl_1", {"ids": ["x"]}, START_MS, (("dlv_x", None),))


def a_step(
    make: Maker, of: Acceptance, *, after: str = "", last: bool = False, due: int = START_MS
) -> ReplayStep:
    """One more job of a delivery."""
    job = make.job(replay_of=of.delivery.id, due_at=due)
    work = ((of.delivery.id, (job,)),)
    return ReplayStep("rpl_1", after, f"{after}x", last, work, {"erp": due + 100.0})


def a_line(id_: str = "aud_1", verb: str = "cancel", at: int = START_MS) -> Audit:
    return Audit(id_, at, "token", verb, {"ids": ["x"]}, peer="127.0.0.1", way="page")


async def kill(store: Store, reason: str, *, lease: str = "b.1") -> str:
    """Lease the next job and settle it dead; returns its id."""
    batch = await store.lease({"erp": 1}, lease=lease, now=FAR)
    job = batch.jobs[0].job
    await store.settle(a_settlement(job, "dead", reason=reason))
    return job.id


# Replays


async def test_a_replay_begins_once(store: Store) -> None:
    assert await store.begin_replay(REPLAY) == REPLAY
    other = msgspec.structs.replace(REPLAY, asked={}, items=None)
    assert await store.begin_replay(other) == REPLAY
    assert await store.reads.replay("rpl_1") == REPLAY
    assert await store.reads.replay("rpl_2") is None


async def test_a_step_counts_once_and_only_from_where_the_replay_stands(
    store: Store, make: Maker
) -> None:
    """Made again after a crash, or by two at once, it makes nothing."""
    accepted = make.acceptance()
    await store.accept(accepted)
    await store.begin_replay(REPLAY)
    first = a_step(make, accepted)
    done = await store.replay_step(first, now=START_MS)
    assert done is not None
    assert (done.state, done.reached, done.deliveries, done.jobs) == ("making", "x", 1, 1)
    assert done.due == {"erp": START_MS + 100.0}
    assert await store.replay_step(first, now=START_MS) is None
    assert await store.replay_step(a_step(make, accepted, after="y"), now=START_MS) is None
    last = await store.replay_step(a_step(make, accepted, after="x", last=True), now=START_MS + 9)
    assert last is not None
    assert (last.state, last.ended_at, last.jobs) == ("made", START_MS + 9, 2)
    assert await store.replay_step(a_step(make, accepted, after="xx"), now=START_MS) is None
    assert len(await store.reads.jobs(ALL)) == 3
    assert {j.replay_of for j in await store.reads.jobs(Selector(replay="rpl_1"))} == {
        accepted.delivery.id
    }


async def test_a_delivery_that_is_gone_is_skipped(store: Store, make: Maker) -> None:
    await store.begin_replay(REPLAY)
    done = await store.replay_step(a_step(make, make.acceptance(), last=True), now=START_MS)
    assert done is not None
    assert (done.deliveries, done.jobs, done.skipped) == (0, 0, 1)


async def test_a_cancelled_replay_makes_no_more(store: Store, make: Maker) -> None:
    """What it made and has not run is cancelled; other jobs are not."""
    accepted = make.acceptance()
    await store.accept(accepted)
    await store.begin_replay(REPLAY)
    await store.replay_step(a_step(make, accepted), now=START_MS)
    mine = Selector(replay="rpl_1")
    assert await store.cancel(mine, reason="enough", now=START_MS + 1) == 1
    assert await store.replay_step(a_step(make, accepted, after="x"), now=START_MS) is None
    replay = await store.reads.replay("rpl_1")
    assert replay is not None
    assert (replay.state, replay.ended_at) == ("cancelled", START_MS + 1)
    assert sorted(j.state for j in await store.reads.jobs(ALL)) == ["available", "cancelled"]
    with pytest.raises(NotFound):
        await store.cancel(Selector(replay="rpl_9"), reason="", now=START_MS)


async def test_those_that_make_jobs_are_found_again(store: Store, make: Maker) -> None:
    accepted = make.acceptance()
    await store.accept(accepted)
    await store.begin_replay(msgspec.structs.replace(REPLAY, id="rpl_0"))
    await store.begin_replay(REPLAY)
    await store.replay_step(a_step(make, accepted, last=True), now=START_MS)
    assert [r.id for r in await store.reads.replays(9)] == ["rpl_1", "rpl_0"]
    assert [r.id for r in await store.reads.replays(9, making=True)] == ["rpl_0"]
    assert [r.items for r in await store.reads.replays(1)] == [None]


async def test_replayed_jobs_let_others_go_first(store: Store, make: Maker) -> None:
    """However early they are due; alone they are taken as any other."""
    old = make.acceptance(jobs=[])
    await store.accept(old)
    await store.begin_replay(REPLAY)
    step = a_step(make, old, due=START_MS - 500)
    await store.replay_step(step, now=START_MS)
    fresh = [make.acceptance(jobs=[make.job(due_at=START_MS + n)]) for n in (0, 900)]
    for one in fresh:
        await store.accept(one)
    assert await store.reads.targets() == {"erp": START_MS - 500}
    first = await store.lease({"erp": 1}, lease="b.1", now=START_MS)
    assert [leased.job.id for leased in first.jobs] == [fresh[0].jobs[0].id]
    assert first.next_due == {"erp": START_MS - 500}
    rest = await store.lease({"erp": 5}, lease="b.2", now=START_MS)
    assert [leased.job.id for leased in rest.jobs] == [step.work[0][1][0].id]
    assert rest.next_due == {"erp": START_MS + 900}


# The audit


async def test_each_change_has_its_line(store: Store, make: Maker) -> None:
    """With how many it changed; what changed nothing has none."""
    accepted = make.acceptance()
    await store.accept(accepted)
    await kill(store, "no")
    await store.revive(ALL, now=START_MS, audit=a_line("aud_1", "revive"))
    await store.cancel(ALL, reason="", now=START_MS, audit=a_line("aud_2", at=START_MS + 1))
    await store.cancel(ALL, reason="", now=START_MS, audit=a_line("aud_3"))
    await store.remember({"a": 1, "b": 2}, a_line("aud_4", "remember", START_MS + 2))
    await store.note(msgspec.structs.replace(a_line("aud_5", "reload", START_MS + 3), count=1))
    lines = await store.reads.audited(None, None, 10)
    assert [(line.id, line.verb, line.count) for line in lines] == [
        ("aud_5", "reload", 1),
        ("aud_4", "remember", 2),
        ("aud_2", "cancel", 1),
        ("aud_1", "revive", 1),
    ]
    assert lines[2] == msgspec.structs.replace(a_line("aud_2", at=START_MS + 1), count=1)
    span = await store.reads.audited(START_MS + 1, START_MS + 3, 10)
    assert [line.id for line in span] == ["aud_4", "aud_2"]
    assert [line.id for line in await store.reads.audited(None, None, 1)] == ["aud_5"]


async def test_a_replay_s_line_counts_its_jobs(store: Store, make: Maker) -> None:
    accepted = make.acceptance()
    await store.accept(accepted)
    await store.begin_replay(REPLAY, a_line("ignored", "replay"))
    await store.begin_replay(REPLAY, a_line("ignored", "replay"))
    await store.replay_step(a_step(make, accepted), now=START_MS)
    await store.replay_step(a_step(make, accepted, after="x", last=True), now=START_MS)
    [line] = await store.reads.audited(None, None, 10)
    assert (line.id, line.verb, line.count) == ("rpl_1", "replay", 2)


async def test_stopping_a_replay_is_a_change_even_without_jobs(store: Store) -> None:
    await store.begin_replay(REPLAY)
    chosen = Selector(replay="rpl_1")
    assert await store.cancel(chosen, reason="", now=START_MS, audit=a_line()) == 0
    assert [line.count for line in await store.reads.audited(None, None, 10)] == [0]


# Causes


async def test_dead_jobs_are_reported_by_cause(store: Store, make: Maker) -> None:
    """Alike but for ids and long numbers; other words, codes or actions are another cause."""
    reasons = ("timeout after 12.5 s", "exit 1", "timeout after 3.25 s", "exit 2")
    died = []
    for place, reason in enumerate(reasons):
        await store.accept(make.acceptance())
        died.append(await kill(store, reason, lease=f"b.{place}"))
    causes = {cause.reason: cause for cause in await store.reads.causes(ALL)}
    assert {reason: cause.count for reason, cause in causes.items()} == {
        "timeout after … s": 2,
        "exit 1": 1,
        "exit 2": 1,
    }
    one = causes["timeout after … s"]
    assert (one.rule, one.action, one.target) == ("paid", "erp", "erp")
    assert set(one.examples) == {died[0], died[2]}
    assert {j.id for j in await store.reads.jobs(Selector(cause=one.key))} == {died[0], died[2]}
    assert await store.revive(Selector(cause=one.key), now=FAR) == 2
    assert await store.reads.jobs(Selector(cause=one.key)) == ()


# Pages


async def test_deliveries_come_in_pages(store: Store, make: Maker) -> None:
    made = [make.acceptance(endpoint=e) for e in ("a", "b", "a")]
    for one in made:
        await store.accept(one)
    ids = [one.delivery.id for one in made]
    page = await store.reads.page(ALL, jobs=False)
    assert [stored.delivery.id for stored in page.found] == ids
    assert page.found[0].delivery == made[0].delivery
    assert page.found[0].events == entries(made[0])
    assert page.reached is None
    rest = await store.reads.page(ALL, jobs=False, after=page.found[0].at)
    assert [stored.delivery.id for stored in rest.found] == ids[1:]
    back = await store.reads.page(Selector(endpoint="a"), jobs=False, newest=True)
    assert [stored.delivery.id for stored in back.found] == [ids[2], ids[0]]


async def test_jobs_come_with_their_deliveries(store: Store, make: Maker) -> None:
    """Oldest first each delivery once, newest first each job."""
    made = [make.acceptance(jobs=[make.job(), make.job(rule="other")]) for _ in range(2)]
    for one in made:
        await store.accept(one)
    page = await store.reads.page(ALL, jobs=True)
    assert [len(stored.jobs) for stored in page.found] == [2, 2]
    rest = await store.reads.page(ALL, jobs=True, after=page.found[0].at)
    assert [stored.delivery.id for stored in rest.found] == [made[1].delivery.id]
    newest = await store.reads.page(Selector(rule="paid"), jobs=True, newest=True)
    assert [[j.id for j in stored.jobs] for stored in newest.found] == [
        [job.id] for job in sorted((m.jobs[0] for m in made), key=lambda j: j.id, reverse=True)
    ]


@pytest.mark.long
async def test_a_plan_counts_what_a_verb_would_change(store: Store, make: Maker) -> None:
    """By action, the most first; and changes nothing."""
    rules = [["paid", "paid", "other"], ["paid"], ["paid"]]
    made = [make.acceptance(jobs=[make.job(rule=r) for r in of]) for of in rules]
    for one in made:
        await store.accept(one)
    await kill(store, "no")
    batch = await store.lease({"erp": 1}, lease="b.2", now=FAR)
    running = batch.jobs[0].job
    for selector, change in (
        (ALL, "cancel"),
        (ALL, "revive"),
        (Selector(rule="paid"), "cancel"),
        (Selector(rule="paid", limit=1), "cancel"),
        (Selector(ids=(made[0].delivery.id,)), "cancel"),
        (Selector(rule="other"), "revive"),
        (Selector(state="dead"), "cancel"),
    ):
        plan = await store.reads.planned(selector, change)
        assert plan == await store.reads.planned(selector, change)
        assert sum(part.jobs for part in plan.parts) == plan.jobs
        jobs = await store.reads.jobs(msgspec.structs.replace(selector, limit=100))
        states = ("available",) if change == "cancel" else ("dead",)
        fitting = [j for j in jobs if j.state in states][: selector.limit]
        assert (plan.jobs, plan.deliveries) == (len(fitting), len({j.delivery for j in fitting}))
    plan = await store.reads.planned(ALL, "cancel")
    counts = [part.jobs for part in plan.parts]
    assert counts == sorted(counts, reverse=True)
    came = [one.delivery.received_at for one in made]
    assert (plan.first_at, plan.last_at) == (min(came), max(came))
    assert await store.cancel(ALL, reason="x", now=FAR) == plan.jobs
    assert await store.reads.planned(ALL, "cancel") == Planned()
    assert (await store.reads.job(running.id) or running).state == "running"


@pytest.mark.long
@pytest.mark.parametrize("state", ["available", "dead", "succeeded"])
async def test_revive_opens_the_newest_run_alone(store: Store, make: Maker, state: str) -> None:
    """And no run, if the newest is not dead; another job of the delivery is another thing."""
    accepted = make.acceptance(jobs=[make.job(), make.job(rule="other")])
    await store.accept(accepted)
    original, other = accepted.jobs
    assert {await kill(store, "no"), await kill(store, "no")} == {original.id, other.id}
    again = make.job(replay_of=original.id)
    await store.add(accepted.delivery.id, (again,))
    if state != "available":
        [leased] = (await store.lease({"erp": 1}, lease="b.2", now=FAR)).jobs
        await store.settle(a_settlement(leased.job, state))
    revived = {other.id, again.id} if state == "dead" else {other.id}
    for selector in (ALL, Selector(state="dead"), Selector(ids=(accepted.delivery.id,))):
        plan = await store.reads.planned(selector, "revive")
        assert (plan.jobs, plan.passed, plan.earlier) == (len(revived), 1, again.id)
    found = Selector(ids=(original.id,), state="dead")  # named by a search, not by somebody
    assert await store.revive(found, now=FAR) == 0
    assert await store.revive(ALL, now=FAR) == len(revived)
    states = {job.id: job.state for job in await store.reads.jobs(ALL)}
    assert {id_ for id_ in states if states[id_] == "available"} == revived | (
        {again.id} if state == "available" else set()
    )
    named = Selector(ids=(original.id,))
    assert (await store.reads.planned(named, "revive")).passed == 0
    assert await store.revive(named, now=FAR) == 1


async def test_a_page_has_histories_if_they_are_asked_for(store: Store, make: Maker) -> None:
    """Then a job made later is found as long as its delivery came in time."""
    accepted = make.acceptance()
    await store.accept(accepted)
    [original] = accepted.jobs
    again = make.job(replay_of=original.id)
    await store.add(accepted.delivery.id, (again,))
    for jobs in (False, True):
        [stored] = (await store.reads.page(ALL, jobs=jobs, whole=True)).found
        assert [job.id for job in stored.history] == [original.id, again.id]
        [stored] = (await store.reads.page(ALL, jobs=jobs)).found
        assert stored.history == ()
    soon = Selector(until=accepted.delivery.received_at + 1)
    for newest in (False, True):
        found = (await store.reads.page(soon, jobs=True, newest=newest, whole=True)).found
        assert sum(len(one.jobs) for one in found) == 2


async def test_what_was_made_again_meanwhile_is_passed_over(store: Store, make: Maker) -> None:
    """Of a job: if there is a newer run of the same; of a delivery: if its generation was there."""
    accepted = make.acceptance(jobs=[make.job(), make.job(rule="other")])
    await store.accept(accepted)
    one, other = accepted.jobs
    await store.begin_replay(REPLAY)

    async def step(place: str, *jobs: NewJob, once: bool = True) -> Replay:
        work = ((accepted.delivery.id, jobs),)
        wanted = ReplayStep("rpl_1", place[:-1], place, False, work, {}, 0, 5, "job_", once)
        done = await store.replay_step(wanted, now=START_MS)
        assert done is not None
        return done

    first = make.job(replay_of=one.id)
    done = await step("x", first)
    assert (done.deliveries, done.jobs, done.passed, done.earlier) == (1, 1, 5, "job_")
    second = make.job(replay_of=other.id, rule="other")
    done = await step("xx", make.job(replay_of=one.id), second)
    assert (done.deliveries, done.jobs, done.passed, done.earlier) == (2, 2, 11, first.id)
    done = await step("xxx", make.job(replay_of=one.id))
    assert (done.deliveries, done.jobs, done.passed) == (2, 2, 17)
    done = await step("xxxx", make.job(replay_of=first.id))
    assert (done.deliveries, done.jobs, done.passed) == (3, 3, 22)
    anew = [make.job(replay_of=accepted.delivery.id, generation="g2") for _ in range(3)]
    done = await step("xxxxx", *anew[:2])
    assert (done.deliveries, done.jobs, done.passed) == (4, 5, 27)
    done = await step("xxxxxx", anew[2])
    assert (done.deliveries, done.jobs, done.passed) == (4, 5, 33)
    done = await step("xxxxxxx", anew[2], once=False)
    assert (done.deliveries, done.jobs, done.passed) == (5, 6, 38)
    assert done.earlier == max(first.id, anew[1].id)
    assert await store.reads.replay("rpl_1") == msgspec.structs.replace(done, items=REPLAY.items)


async def test_the_replay_that_made_a_job_is_known(store: Store, make: Maker) -> None:
    accepted = make.acceptance()
    await store.accept(accepted)
    await store.begin_replay(REPLAY)
    step = a_step(make, accepted)
    done = await store.replay_step(step, now=START_MS)
    assert await store.reads.made_by(step.work[0][1][0].id) == done
    assert await store.reads.made_by(accepted.jobs[0].id) is None
    assert await store.reads.made_by("job_none") is None


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_old_lines_and_replays_go(store: Store, tmp_path: Path) -> None:
    """The file's upkeep; the model keeps everything."""
    for n in range(3):
        await store.note(a_line(f"aud_{n}", at=START_MS + n))
    await store.begin_replay(REPLAY)
    await store.cancel(Selector(replay="rpl_1"), reason="", now=START_MS)
    retain = Retain(0, 0, 0, audit_before=START_MS + 2)
    await store.prune(retain, now=START_MS)
    assert [line.id for line in await store.reads.audited(None, None, 9)] == ["aud_2"]
    assert await store.reads.replays(9) == ()
