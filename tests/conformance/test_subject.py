"""What is about one person is found in every store: in pages, with histories, the oldest first."""

import json

from router.operator.requests import LOCAL
from router.operator.subject import SubjectData, SubjectSearch
from router.store.common.lists import ROWS
from router.store.protocol import Store
from router.store.values import Selector
from tests.builders import a_ruleset
from tests.store_values import Maker, a_settlement, lease_one

ANN = Selector(where="payload.email == var.email", var={"email": "ann@x.de"})


async def found(store: Store, selector: Selector) -> list[SubjectData]:
    search = SubjectSearch(store.reads, selector, a_ruleset(), LOCAL)
    data: list[SubjectData] = []
    reached: str | None = None
    while True:
        page = await search.after(reached)
        data += page.found
        if (reached := page.reached) is None:
            return data


async def test_a_batch_in_part_and_what_the_router_told(store: Store, make: Maker) -> None:
    people = [{"event": "open", "email": f"{name}@x.de"} for name in ("ann", "bob")]
    batch = make.acceptance(
        jobs=[make.job(target="a"), make.job(target="b", event_index=1)],
        provider="sendgrid", body=json.dumps(people).encode(), event_count=2,
    )  # fmt: skip
    await store.accept(batch)
    await store.settle(a_settlement(await lease_one(store, "a"), "dead"))
    told = json.dumps({"delivery": batch.delivery.id, "reason": "x"}).encode()
    own = make.acceptance(jobs=(), endpoint="router", provider="router", body=told)
    await store.accept(own)
    first, second = await found(store, ANN)
    assert (first.stored.delivery, first.whole) == (own.delivery, True)
    assert (second.stored.delivery.id, second.events) == (batch.delivery.id, {0})
    assert [(job.event_index, job.state) for job in second.jobs] == [(0, "dead")]


async def test_it_goes_on_behind_each_page(store: Store, make: Maker) -> None:
    body = b'{"email": "ann@x.de"}'
    all_hers = [make.acceptance(jobs=(), body=body) for _ in range(ROWS + 3)]
    await store.accept_all(all_hers)
    ids = [one.stored.delivery.id for one in await found(store, ANN)]
    assert ids == [one.delivery.id for one in all_hers]


async def test_an_event_is_taken_by_its_whole_name(store: Store, make: Maker) -> None:
    """None of its batch whose name only resembles it: with them others' events would be erased."""
    names = ("push", "push.x", "a.push", "Push", "pus", "push")
    batch = make.acceptance(
        events=[make.event(n, b"%d" % n, name=name) for n, name in enumerate(names)],
        jobs=[make.job(event_index=n, event=name) for n, name in enumerate(names)],
        event_count=len(names),
    )
    await store.accept(batch)
    (one,) = await found(store, Selector(event="push"))
    assert (one.events, one.whole) == ({0, 5}, False)
    assert [job.event_index for job in one.jobs] == [0, 5]
    assert await found(store, Selector(event="pu")) == []
