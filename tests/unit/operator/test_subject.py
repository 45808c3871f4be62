"""All that is stored about a person: deliveries, parts of batches, what the router told of it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from router.errors import UsageError
from router.model.job import NewJob
from router.operator.requests import LOCAL
from router.operator.subject import SubjectData, SubjectSearch
from router.store.common.lists import ROWS
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Acceptance, Generation, Selector
from tests.builders import GENERATION, NOW, a_delivery, a_rule, a_ruleset, an_event
from tests.clocks import ManualClock

RULES = a_ruleset(a_rule("one"))
ANN = Selector(where="payload.email == var.email", var={"email": "ann@x.de"})


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await open_store(str(tmp_path / "router.db"), clock=ManualClock(NOW))
    await store.keep_generation(Generation(GENERATION, "", {}, NOW))
    yield store
    await store.close()


async def take(
    store: SqliteStore, number: int, payload: Any, *covers: tuple[int, ...], **given: Any
) -> None:
    """One delivery; a batch if the payload is a list; a job for each of `covers`."""
    id_ = f"dlv_{number:026d}"
    names = {"provider": "sendgrid"} if isinstance(payload, list) else {}
    batch = payload if isinstance(payload, list) else [payload]
    delivery = a_delivery(
        id=id_, body=json.dumps(payload).encode(), event_count=len(batch), **names | given
    )
    events = tuple(an_event(id=f"evt_{number:024d}{i:02}", index=i) for i in range(len(batch)))
    jobs = tuple(
        NewJob(f"job_{number:024d}{n:02}", of[0], events[of[0]].id, "e", "one", "a", "log", "t",
               NOW, covers=of if len(of) > 1 else ())
        for n, of in enumerate(covers)
    )  # fmt: skip
    await store.accept(Acceptance(delivery, events, jobs, 2**50))


async def found(store: SqliteStore, selector: Selector) -> list[SubjectData]:
    search = SubjectSearch(store.reads, selector, RULES, LOCAL)
    await search.check()
    data: list[SubjectData] = []
    reached: str | None = None
    while True:
        page = await search.after(reached)
        data += page.found
        if (reached := page.reached) is None:
            return data


def numbers(data: list[SubjectData]) -> list[int]:
    return [int(one.stored.delivery.id[4:]) for one in data]


async def test_of_single_deliveries_all_is_meant(store: SqliteStore) -> None:
    for number, name in enumerate(("ann", "bob", "ann")):
        await take(store, number, {"email": f"{name}@x.de"}, (0,), (0,))
    [first, last] = await found(store, ANN)
    assert numbers([first, last]) == [0, 2]
    assert (first.whole, first.events) == (True, {0})
    assert first.jobs == first.stored.history
    assert len(first.jobs) == 2


async def test_of_a_batch_only_events_that_fit_and_their_jobs(store: SqliteStore) -> None:
    people = ("bob", "ann", "bob", "ann")
    batch = [{"event": "open", "email": f"{name}@x.de"} for name in people]
    await take(store, 1, batch, (0,), (1,), (0, 2), (2, 3))
    await take(store, 2, [batch[0]], (0,))
    await take(store, 3, [batch[1], batch[3]], (0, 1))
    [part, whole] = await found(store, ANN)
    assert (part.events, part.whole, numbers([part])) == ({1, 3}, False, [1])
    assert [(job.event_index, job.covers) for job in part.jobs] == [(1, ()), (2, (2, 3))]
    assert (whole.events, whole.whole, numbers([whole])) == ({0, 1}, True, [3])


async def test_an_event_that_came_before_stands_in_the_body_all_the_same(
    store: SqliteStore,
) -> None:
    batch = [{"event": "open", "email": f"{name}@x.de"} for name in ("ann", "bob")]
    delivery = a_delivery(provider="sendgrid", body=json.dumps(batch).encode(), event_count=2)
    await store.accept(Acceptance(delivery, (an_event(index=1),), (), 2**50))
    [part] = await found(store, ANN)
    assert part.events == {0}


async def test_what_the_router_told_of_it_comes_first_and_once(store: SqliteStore) -> None:
    await take(store, 1, {"email": "ann@x.de"}, (0,))
    await take(store, 2, {"email": "bob@x.de"}, (0,))
    own = {"endpoint": "router", "provider": "router"}
    for number in (1, 2):
        await take(store, 10 + number, {"delivery": f"dlv_{number:026d}", "reason": "x"}, **own)
        died = {"by_rule": [{"job": f"job_{number:024d}00"}, {"job": "job_gone0000"}]}
        await take(store, 20 + number, died, **own)
    await take(store, 30, {"target": "t"}, **own)
    told = await found(store, ANN)
    assert numbers(told) == [11, 21, 1]
    assert not any(one.shared for one in told)
    both = {"by_rule": [{"job": f"job_{number:024d}00"} for number in (1, 2)]}
    await take(store, 31, both, **own)
    assert [one.shared for one in await found(store, ANN)] == [False, False, True, False]
    everything = await found(store, Selector())
    assert sorted(numbers(everything)) == [1, 2, 11, 12, 21, 22, 30, 31]
    assert numbers(await found(store, Selector(ids=(f"dlv_{2:026d}",)))) == [12, 22, 31, 2]
    assert numbers(await found(store, Selector(endpoint="router"))) == [11, 12, 21, 22, 30, 31]


async def test_it_goes_on_page_by_page(store: SqliteStore) -> None:
    for number in range(2 * ROWS + 3):
        await take(store, number, {"email": "ann@x.de"})
    assert numbers(await found(store, ANN)) == list(range(2 * ROWS + 3))


async def test_what_cannot_be_evaluated_is_counted_and_a_wrong_name_refused(
    store: SqliteStore,
) -> None:
    await take(store, 1, {"email": "ann@x.de"}, provider="former")
    search = SubjectSearch(store.reads, ANN, RULES, LOCAL)
    page = await search.after("")
    assert page.found == ()
    assert search.where is not None
    assert search.where.failed == 1
    with pytest.raises(UsageError, match="did you mean 'shop'"):
        await found(store, Selector(endpoint="shopp"))
