"""Reading on from a place in the ledger: in the order of commits, whole, bounded."""

import pytest
from msgspec.structs import replace

from router.errors import UsageError
from router.store.common.commit_order import BODIES_MAX, EXAMINED_MAX
from router.store.protocol import Store
from router.store.values import Acceptance, Accepted, FeedQuery, Following
from tests.clocks import START_MS
from tests.conformance.rig import DATABASES
from tests.store_values import Maker, entries

pytestmark = pytest.mark.parametrize("store", DATABASES, indirect=True)
"""The model has no feed."""


async def fill(store: Store, make: Maker, count: int, **given: object) -> list[str]:
    """So many deliveries without jobs, one by one; their ids."""
    return await put(store, *[make.acceptance(jobs=(), **given) for _ in range(count)])


async def put(store: Store, *acceptances: Acceptance) -> list[str]:
    """
    Their ids, when the feed has come to the last: it waits for whoever writes meanwhile, be it
    another test in another database of the same server.
    """
    sent = [(await store.accept(one)).delivery for one in acceptances]
    await come_to(store, sent[-1])
    return sent


async def come_to(store: Store, delivery: str) -> None:
    found = await store.reads.following(FeedQuery())
    while delivery not in ids(found):
        found = await store.reads.following(FeedQuery(cursor=found.cursor))


def ids(found: Following) -> list[str]:
    return [one.delivery.id for one in found.deliveries]


async def test_deliveries_come_in_the_order_of_their_commits(store: Store, make: Maker) -> None:
    sent = await fill(store, make, 5)
    first = await store.reads.following(FeedQuery(limit=2))
    assert (ids(first), first.more, first.other) == (sent[:2], True, False)
    assert first.removed in (0, None), "None: it cannot tell"
    rest = await store.reads.following(FeedQuery(cursor=first.cursor))
    assert (ids(rest), rest.more) == (sent[2:], False)
    again = await store.reads.following(FeedQuery(cursor=first.deliveries[0].at))
    assert ids(again) == sent[1:]
    end = await store.reads.following(FeedQuery(cursor=rest.cursor))
    assert (ids(end), end.cursor) == ([], rest.cursor)


async def test_an_id_that_sorts_before_an_earlier_commit_is_not_missed(
    store: Store, make: Maker
) -> None:
    early, late = make.acceptance(jobs=()), make.acceptance(jobs=())
    await put(store, late)
    place = (await store.reads.following(FeedQuery())).cursor
    await put(store, early)
    assert ids(await store.reads.following(FeedQuery(cursor=place))) == [early.delivery.id]
    both = [late.delivery.id, early.delivery.id]
    assert ids(await store.reads.following(FeedQuery())) == both
    assert ids(await store.reads.following(FeedQuery(limit=1))) == both[:1]


async def test_a_delivery_comes_whole(store: Store, make: Maker) -> None:
    acceptance = make.acceptance(b"key", jobs=())
    await put(store, acceptance)
    (found,) = (await store.reads.following(FeedQuery())).deliveries
    assert found.delivery == acceptance.delivery
    assert found.events == entries(acceptance)


async def test_filters_move_the_place_on(store: Store, make: Maker) -> None:
    await fill(store, make, 2, endpoint="code")
    (wanted,) = await fill(store, make, 1)
    await fill(store, make, 2, endpoint="code")
    found = await store.reads.following(FeedQuery(endpoints=frozenset({"shop"})))
    assert ids(found) == [wanted]
    assert ids(await store.reads.following(FeedQuery(cursor=found.cursor))) == []
    assert ids(await store.reads.following(FeedQuery(events=frozenset({"orders/paid"})))) != []
    assert ids(await store.reads.following(FeedQuery(events=frozenset({"paid"})))) == []


async def test_bodies_are_bounded_and_a_larger_one_goes_alone(store: Store, make: Maker) -> None:
    sent = await fill(store, make, 1, body=b"x")
    sent += await fill(store, make, 1, body=b"x" * (BODIES_MAX + 1))
    sent += await fill(store, make, 2, body=b"x" * (BODIES_MAX // 2))
    cursor, got = None, []
    while True:
        found = await store.reads.following(FeedQuery(cursor=cursor))
        got.append(ids(found))
        cursor = found.cursor
        if not found.more:
            break
    assert got == [sent[:1], sent[1:2], sent[2:]]


async def test_a_long_stretch_of_others_is_walked_in_steps(store: Store, make: Maker) -> None:
    others = [make.acceptance(jobs=(), endpoint="code") for _ in range(EXAMINED_MAX + 1)]
    assert all(isinstance(one, Accepted) for one in await store.accept_all(others))
    await come_to(store, others[-1].delivery.id)
    wanted = frozenset({"shop"})
    found = await store.reads.following(FeedQuery(endpoints=wanted))
    assert (ids(found), found.more) == ([], True)
    assert not (await store.reads.following(FeedQuery(cursor=found.cursor, endpoints=wanted))).more


async def test_since(store: Store, make: Maker) -> None:
    sent = await fill(store, make, 3)
    assert ids(await store.reads.following(FeedQuery(since="start"))) == sent
    assert ids(await store.reads.following(FeedQuery(since=str(START_MS + 2)))) == sent[1:]
    now = await store.reads.following(FeedQuery(since="now"))
    assert ids(now) == []
    (new,) = await fill(store, make, 1)
    assert ids(await store.reads.following(FeedQuery(cursor=now.cursor))) == [new]


@pytest.mark.parametrize(
    "asked", [FeedQuery(cursor="x"), FeedQuery(cursor="1;-"), FeedQuery(since="1h")]
)
async def test_what_nobody_gave_out_is_refused(store: Store, asked: FeedQuery) -> None:
    with pytest.raises(UsageError):
        await store.reads.following(asked)


async def test_all_jobs_of_a_delivery_come_with_it_where_they_are_asked_for(
    store: Store, make: Maker
) -> None:
    several = make.acceptance(jobs=tuple(make.job() for _ in range(3)))
    await put(store, several)
    bare = await store.reads.following(FeedQuery())
    whole = await store.reads.following(FeedQuery(history=True))
    assert [one.history for one in bare.deliveries] == [()]
    (one,) = whole.deliveries
    assert [job.id for job in one.history] == [job.id for job in several.jobs]
    assert replace(one, history=()) == bare.deliveries[0]
