"""One person is erased: whatever the ledger holds, whoever is killed, whatever waits meanwhile."""

import json
import random
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from router.errors import NotFound, StoreUnavailable, UsageError
from router.model.job import NewJob
from router.model.selector import Criteria
from router.model.settings import DAY_MS
from router.operator.erasing import check_room
from router.operator.erasure_answers import ErasureProgress
from router.operator.requests import ChangeRequest, EraseRequest
from router.operator.verbs import StoreVerbs
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.store.sqlite.copying import backup
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Acceptance, Generation, Selector, VacuumRoom
from tests.builders import GENERATION, NOW, a_delivery, a_rule, a_ruleset, an_event
from tests.chance import thinned
from tests.clocks import JumpingClock
from tests.operators import verbs_of
from tests.store_values import a_settlement

ANN, BOB = "ann@example.com", "bob@example.com"
LIVE = LiveRef(LiveRuleset(a_ruleset(a_rule("one")), SecretValues({}, {})))
ALL = Selector(limit=1_000)


def about(email: str = ANN, **given: Any) -> EraseRequest:
    selector = Criteria(where="payload.email == var.email", var={"email": email})
    return EraseRequest(selector=selector, **given)


class Ledger:
    """A store on disk with deliveries about people, and an operator."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = JumpingClock(NOW + 1_000)
        self.woken: list[str] = []
        self.count = 0
        self.store: SqliteStore

    async def open(self) -> StoreVerbs:
        """As a process begins."""
        self.store = await open_store(str(self.folder / "router.db"), clock=self.clock)
        await self.store.keep_generation(Generation(GENERATION, "", {}, NOW))
        return self.operator()

    def operator(self, store: Any = None) -> StoreVerbs:
        return verbs_of(
            store or self.store,
            LIVE,
            self.clock,
            wake=lambda target, _due: self.woken.append(target),
        )

    async def take(self, *people: str, jobs: bool = True, **given: Any) -> str:
        """A delivery about one person, or a batch about several; a job for each event."""
        self.count += 1
        payload: Any = [{"email": one, "n": self.count} for one in people]
        batch = {"provider": "sendgrid", "endpoint": "mail"} if len(people) > 1 else {}
        body = json.dumps(payload if batch else payload[0], indent=1).encode()
        values = {"body": body, "event_count": len(people), **batch, **given}
        values = {"received_at": NOW + self.count, **values}
        delivery = a_delivery(id=f"dlv_{self.count:026d}", **values)
        number = f"{self.count:024d}"
        events = tuple(
            an_event(id=f"evt_{number}{i:02}", index=i, keys=(f"{number}{i}".encode(),))
            for i in range(len(people))
        )
        made = [
            NewJob(f"job_{number}{e.index:02}", e.index, e.id, e.name, "one", "a", "log", "t", NOW)
            for e in events
        ]  # fmt: skip
        await self.store.accept(Acceptance(delivery, events, tuple(made if jobs else ()), 2**50))
        return delivery.id

    async def run(self, state: str = "succeeded", most: int = 1_000, **given: Any) -> None:
        """Every job that is due runs, and quotes whom it is about."""
        batch = await self.store.lease({"t": most}, lease="1.1", now=NOW * 2)
        for work in batch.jobs:
            await self.store.settle(a_settlement(work.job, state, **given))  # type: ignore[arg-type]

    async def left(self) -> dict[str, Any]:
        """Everything that is stored, by delivery."""
        found = [d.id for d in await self.store.reads.deliveries(ALL)]
        return {id_: await self.store.reads.delivery(id_) for id_ in found}

    def files_with(self, text: str) -> list[str]:
        return sorted(p.name for p in self.folder.iterdir() if text.encode() in p.read_bytes())

    def is_held(self, text: str) -> bool:
        """Whether it is in a row, an index, the journal, or a backup that is made now."""
        place = self.folder / "router.db"
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.db"
            backup(place, copy)  # rows and indexes, and nothing else
            files = [copy, self.folder / "router.db-wal"]
            return any(text.encode() in file.read_bytes() for file in files)


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger(tmp_path)
    await ledger.open()
    yield ledger
    await ledger.store.close()


def counts(done: ErasureProgress) -> tuple[str, int, int, int, int]:
    return done.state, done.deliveries, done.parts, done.events, done.waiting


async def test_who_is_erased_is_in_no_row_and_the_others_are_as_they_were(ledger: Ledger) -> None:
    for people in ((ANN,), (BOB,), (ANN, BOB), (ANN, ANN)):
        await ledger.take(*people)
    await ledger.run()
    before = await ledger.left()
    done = await ledger.operator().erase(about())
    assert counts(done) == ("done", 2, 1, 4, 0)
    after = await ledger.left()
    bob, both = f"dlv_{2:026d}", f"dlv_{3:026d}"
    assert after.keys() == {bob, both}
    assert after[bob] == before[bob]
    assert (
        after[both].delivery.body
        == b'[\n null,\n {\n  "email": "bob@example.com",\n  "n": 3\n }\n]'
    )
    assert after[both].jobs == before[both].jobs[1:]
    assert not ledger.is_held(ANN)
    assert ledger.is_held(BOB)


async def test_after_a_vacuum_who_is_erased_is_in_none_of_the_files(ledger: Ledger) -> None:
    for _ in range(40):
        await ledger.take(ANN)
        await ledger.take(BOB)
    await ledger.run()
    plan = await ledger.operator().plan_erase(about(vacuum=True))
    assert plan.vacuum is not None
    assert plan.vacuum.needed == 2 * plan.vacuum.held
    done = await ledger.operator().erase(about(vacuum=True))
    assert (done.state, done.vacuum) == ("done", "done")
    assert "--vacuum" not in done.unreachable
    assert ledger.files_with(ANN) == []
    assert ledger.files_with(BOB) == ["router.db"]
    assert len(await ledger.left()) == 40


def test_without_room_the_file_is_not_written_anew() -> None:
    check_room(VacuumRoom(1, 2, 2))
    with pytest.raises(UsageError, match="leave out --vacuum"):
        check_room(VacuumRoom(1, 2, 1))


async def test_a_vacuum_that_fails_is_told_and_not_tried_again(ledger: Ledger) -> None:
    await ledger.take(ANN, jobs=False)
    done = await ledger.operator(Full(ledger.store)).erase(about(vacuum=True))
    assert (done.state, done.deliveries, done.vacuum) == ("done", 1, "the disk is full")


class Full:
    """A store whose file cannot be written anew."""

    def __init__(self, real: SqliteStore) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def vacuum(self) -> None:
        raise StoreUnavailable("the disk is full")


async def test_the_audit_keeps_that_it_happened_and_not_to_whom(ledger: Ledger) -> None:
    await ledger.take(ANN)
    operator = ledger.operator()
    await operator.cancel(ChangeRequest(selector=about().selector))
    await ledger.operator().erase(about())
    erase, cancel = await ledger.store.reads.audited(None, None, 10)
    assert (erase.verb, erase.count) == ("erase", 1)
    assert erase.asked["selector"]["where"].startswith("sha256:")
    assert cancel.asked["selector"]["var"] == {"email": "[erased]"}
    assert not ledger.is_held(ANN)


async def test_of_two_texts_of_which_one_holds_the_other_nothing_is_left(ledger: Ledger) -> None:
    """A name that goes first would leave `[erased]@example.com` behind: whose it was is plain."""
    where = "contains([var.who[0].of[1], var.short, 'xann@example.comx'], payload.email)"
    who = [{"of": ["ann@", ANN, "to ann@example.com"]}]
    selector = Criteria(where=where, var={"who": who, "short": "ann"})
    await ledger.take(ANN)
    operator = ledger.operator()
    await operator.cancel(ChangeRequest(selector=selector))
    await operator.erase(EraseRequest(selector=selector))
    _, cancel = await ledger.store.reads.audited(None, None, 10)
    assert cancel.asked["selector"]["var"] == {"who": [{"of": ["[erased]"] * 3}], "short": "ann"}
    assert cancel.asked["selector"]["where"].endswith("'[erased]'], payload.email)")


async def test_what_has_open_jobs_goes_when_they_have_ended(ledger: Ledger) -> None:
    await ledger.take(ANN)
    await ledger.take(ANN, BOB)
    operator = ledger.operator()
    asked = await operator.erase(about())
    assert counts(asked) == ("waiting", 0, 0, 0, 2)
    assert (await operator.erasure(asked.id)).waiting == 2
    await ledger.run(most=1)
    await operator.erasures.resume()
    await ledger.run()
    for _ in range(3):  # each round goes on as far as it can
        await operator.erasures.resume()
        await operator.erasures.go_on((await operator.erasures.known())[0])
    assert counts(await operator.erasure(asked.id)) == ("done", 1, 1, 2, 0)
    assert not ledger.is_held(ANN)
    assert ledger.is_held(BOB)


async def test_what_waits_is_cancelled_first_if_that_is_asked(ledger: Ledger) -> None:
    await ledger.take(ANN)
    await ledger.take(BOB)
    done = await ledger.operator().erase(about(cancel=True))
    assert counts(done) == ("done", 1, 0, 1, 0)
    assert [job.state for job in await ledger.store.reads.jobs(ALL)] == ["available"]
    assert ledger.woken == ["t"]


async def test_what_the_router_told_of_it_goes_too_also_of_a_job_that_dies_meanwhile(
    ledger: Ledger,
) -> None:
    told = {"endpoint": "router", "provider": "router", "jobs": False}
    dead = await ledger.take(ANN)
    await ledger.run("dead")
    await ledger.take("x", **told, body=json.dumps({"delivery": dead, "text": ANN}).encode())
    operator = ledger.operator()
    later = await ledger.take(ANN)
    assert counts(await operator.erase(about())) == ("waiting", 2, 0, 2, 1)
    await ledger.run("dead")
    await ledger.take("x", **told, body=json.dumps({"delivery": later, "text": ANN}).encode())
    for _ in range(2):
        await operator.erasures.resume()
        await operator.erasures.go_on((await operator.erasures.known())[0])
    assert await ledger.left() == {}
    assert not ledger.is_held(ANN)


async def test_a_plan_counts_and_changes_nothing(ledger: Ledger) -> None:
    await ledger.take(ANN)
    await ledger.take(ANN, BOB)
    before = await ledger.left()
    plan = await ledger.operator().plan_erase(about())
    found = [(p.endpoint, p.state, p.deliveries) for p in plan.parts]
    assert (plan.deliveries, plan.events, plan.jobs, plan.open) == (2, 2, 2, 2)
    assert sorted(found) == [("mail", "routed", 1), ("shop", "routed", 1)]
    assert await ledger.left() == before
    assert await ledger.store.recall("erase/") == {}


async def test_what_comes_later_is_no_part_of_it(ledger: Ledger) -> None:
    plan = await ledger.operator().plan_erase(about())
    assert plan.until == ledger.clock.now() + 1
    later = await ledger.take(ANN, jobs=False, received_at=plan.until)
    await ledger.operator().erase(EraseRequest(selector=Criteria(until=plan.until)))
    assert list(await ledger.left()) == [later]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (EraseRequest(), UsageError),
        (EraseRequest(selector=Criteria(limit=3)), UsageError),
        (EraseRequest(selector=Criteria(where="payload.")), UsageError),
        (EraseRequest(selector=Criteria(endpoint="unheard")), UsageError),
        (EraseRequest(("job_" + "0" * 23 + "100",)), UsageError),
        (EraseRequest(("dlv_9999",)), NotFound),
    ],
    ids=["nothing", "limit", "condition", "endpoint", "job", "unknown"],
)
async def test_what_cannot_be_meant_is_refused_before_anything_is_kept(
    ledger: Ledger, request_: EraseRequest, error: type[Exception]
) -> None:
    await ledger.take(ANN)
    with pytest.raises(error):
        await ledger.operator().erase(request_)
    assert await ledger.store.recall("erase/") == {}
    assert await ledger.store.reads.audited(None, None, 1) == ()


async def test_one_that_is_done_is_known_for_a_day(ledger: Ledger) -> None:
    operator = ledger.operator()
    done = await operator.erase(about())
    await operator.erasures.resume()
    assert (await operator.known_erasures()).erasures == (done,)
    await ledger.clock.sleep(2 * DAY_MS / 1000)
    await operator.erasures.resume()
    with pytest.raises(NotFound):
        await operator.erasure(done.id)


async def test_another_node_that_goes_on_with_it_is_left_alone(ledger: Ledger) -> None:
    await ledger.take(ANN)

    async def theirs(_name: str, _ttl_ms: int) -> bool:
        return False

    operator = verbs_of(ledger.store, LIVE, ledger.clock, claimed=theirs)
    assert counts(await operator.erase(about())) == ("searching", 0, 0, 0, 0)
    assert len(await ledger.left()) == 1


class Dying:
    """A store that fails for good at its n-th change, before it or when it has made it."""

    def __init__(self, real: SqliteStore, at: int, *, after: bool) -> None:
        self._real, self._left, self._after = real, at, after

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name not in ("erase", "blank", "empty_journal", "remember", "note", "cancel"):
            return found

        async def change(*given: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 and self._after:
                await found(*given, **named)
            if self._left <= 0:
                raise StoreUnavailable("killed")
            return await found(*given, **named)

        return change


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("at", thinned(range(3, 16), one_of=3))
async def test_killed_at_any_step_it_goes_on(ledger: Ledger, at: int, *, after: bool) -> None:
    for people in ((ANN,), (BOB,), (ANN, BOB)):
        await ledger.take(*people)
    await ledger.run()
    with pytest.raises(StoreUnavailable):
        await ledger.operator(Dying(ledger.store, at, after=after)).erase(about())
    await ledger.store.close()
    operator = await ledger.open()
    await operator.erasures.resume()
    (one,) = await operator.erasures.known()
    assert counts(await operator.erasure((await operator.erasures.go_on(one)).id)) == (
        "done", 1, 1, 2, 0
    )  # fmt: skip
    assert not ledger.is_held(ANN)
    assert len(await ledger.left()) == 2


async def test_two_at_once_take_out_what_both_are_about(ledger: Ledger) -> None:
    await ledger.take(ANN, BOB)
    await ledger.take(ANN)
    await ledger.run()
    one, two = ledger.operator(), ledger.operator()
    await one.erase(about(ANN))
    await two.erase(about(BOB))
    assert await ledger.left() == {}
    assert not ledger.is_held(ANN)
    assert not ledger.is_held(BOB)


@pytest.mark.parametrize("seed", thinned(range(12), one_of=6))
async def test_of_any_ledger_nothing_is_left_of_one_and_all_of_the_others(
    ledger: Ledger, seed: int
) -> None:
    chance = random.Random(seed)
    people = [f"p{n}@example.com" for n in range(5)]
    for _ in range(60):
        await ledger.take(*chance.choices(people, k=chance.choice([1, 1, 2, 5])))
        if chance.random() < 0.3:
            await ledger.run(chance.choice(["succeeded", "dead"]), chance.randrange(1, 20))
    await ledger.run()
    before = await ledger.left()
    gone = people[0]
    done = await ledger.operator().erase(about(gone))
    assert done.state == "done"
    assert not ledger.is_held(gone)
    after = await ledger.left()
    for id_, record in before.items():
        told = json.loads(record.delivery.body)
        events = told if isinstance(told, list) else [told]
        stay = [n for n, event in enumerate(events) if event["email"] != gone]
        assert (id_ in after) == bool(stay)
        if len(stay) == len(events):
            assert after[id_] == record
        elif stay:
            left = json.loads(after[id_].delivery.body)
            assert left == [e if n in stay else None for n, e in enumerate(events)]
            assert after[id_].jobs == tuple([j for j in record.jobs if j.event_index in stay])
            assert after[id_].delivery.redacted.erased == tuple(
                n for n in range(len(events)) if n not in stay
            )
