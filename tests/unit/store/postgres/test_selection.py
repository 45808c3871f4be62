"""Selectors in PostgreSQL: prefixes as ranges of uuids, causes looked up, odd texts."""

import pytest

from router.errors import AmbiguousId, UsageError
from router.model.ids import earliest
from router.model.settings import DAY_MS
from router.store.common.death_causes import key_of
from router.store.common.states import DEAD
from router.store.postgres.database import Database, Tx
from router.store.postgres.store import PostgresStore
from router.store.postgres.texts import escape
from router.store.values import Selector
from tests.clocks import START_MS
from tests.store_values import Maker
from tests.unit.store.postgres.ledger import add_job

BEGINNINGS = ("01JXT21Q", "01JXT2ZZ", "01JXT3", "7ZZZ")
FAR_APART = [f"dlv_{digits.ljust(26, '0')}" for digits in BEGINNINGS]


@pytest.fixture
async def several(store: PostgresStore, make: Maker) -> list[str]:
    for id_ in FAR_APART:
        receipts = await store.accept_all([make.acceptance(jobs=(), id=id_)])
        assert [one.delivery for one in receipts] == [id_]
    return FAR_APART


async def found(store: PostgresStore, prefix: str) -> list[str]:
    return sorted([one.id for one in await store.reads.deliveries(Selector(ids=(prefix,)))])


@pytest.mark.parametrize("length", [4, 5, 6, 7, 8, 25, 26])
async def test_a_prefix_means_what_begins_with_it(
    store: PostgresStore, several: list[str], length: int
) -> None:
    for id_ in several:
        prefix = id_[: 4 + length]
        meant = [one for one in several if one.startswith(prefix)]
        assert await found(store, prefix) == meant
        assert await found(store, prefix[4:]) == meant
        if len(meant) == 1:
            record = await store.reads.delivery(prefix)
            assert record is not None
            assert record.delivery.id == id_
        else:
            with pytest.raises(AmbiguousId, match="fits several"):
                await store.reads.delivery(prefix)


@pytest.mark.parametrize(
    "prefix", ["dlv_01jx", "dlv_01JU", "8ZZZ", "dlv_" + "0" * 27, "dlv_0\x0001", "dlv_01J\ud800"]
)
async def test_what_no_id_begins_with_means_none(
    store: PostgresStore, several: list[str], prefix: str
) -> None:
    assert await found(store, prefix) == []
    assert await store.reads.delivery(prefix) is None
    assert await store.reads.job(prefix.replace("dlv", "job")) is None


async def test_a_list_goes_on_before_an_id(store: PostgresStore, several: list[str]) -> None:
    before = await store.reads.deliveries(Selector(before=several[2]))
    assert [one.id for one in before] == several[1::-1]
    for place in ("dlv_!", "dlv_" + "Z" * 26, "dlv_" + "0" * 27):
        with pytest.raises(UsageError, match="no id to go on from"):
            await store.reads.jobs(Selector(before=place))


async def test_texts_that_the_database_does_not_know_select_nothing(store: PostgresStore) -> None:
    for field in ("endpoint", "rule", "event", "replay", "cause", "state"):
        assert await store.reads.jobs(Selector(**{field: "a\x00b"})) == ()
        assert await store.reads.deliveries(Selector(**{field: "a\x00b"})) == ()
    assert await store.reads.generation("\x00") is None


REASONS = ("order 10001: 503", "order 10002: 503", "odd \x00 reason", None, "odd \x00 reason")


@pytest.fixture
async def dead(store: PostgresStore, db: Database, make: Maker) -> list[str]:
    """Jobs dead for these reasons, in that order, a delivery each; the last is of another rule."""
    jobs = [make.job().id for _ in REASONS]
    deliveries = [(await store.accept(make.acceptance(jobs=()))).delivery for _ in REASONS]

    async def fill(tx: Tx) -> None:
        for at, reason in enumerate(REASONS):
            end = {"state": DEAD, "due_at": 1, "ended_at": START_MS + at, "reason": escape(reason)}
            rule = "other" if at == len(REASONS) - 1 else "paid"
            await add_job(tx, deliveries[at], jobs[at], rule=rule, **end)

    await db.transact(fill)
    return jobs


async def test_dead_jobs_are_selected_by_cause(store: PostgresStore, dead: list[str]) -> None:
    died = {"order 12345: 503": [1, 0], "odd \x00 reason": [2], None: [3], "another": []}
    for reason, places in died.items():
        cause = key_of("paid", "erp", "erp", reason)
        wanted = Selector(cause=cause)
        expected = [dead[at] for at in places]
        assert [job.id for job in await store.reads.jobs(wanted)] == expected
        assert len(await store.reads.deliveries(wanted)) == len(expected)
        assert (await store.reads.planned(wanted, "revive")).jobs == len(expected)
        causes = await store.reads.causes(wanted)
        assert [(one.key, one.count) for one in causes] == [(cause, len(expected))] * bool(expected)


async def test_causes_are_counted_and_the_latest_comes_first(
    store: PostgresStore, dead: list[str]
) -> None:
    causes = await store.reads.causes(Selector())
    assert [(one.rule, one.reason, one.count) for one in causes] == [
        ("other", "odd \x00 reason", 1),
        ("paid", "", 1),
        ("paid", "odd \x00 reason", 1),
        ("paid", "order …: 503", 2),
    ]
    assert causes[-1].examples == (dead[1], dead[0])
    assert (causes[-1].first_at, causes[-1].last_at) == (START_MS, START_MS + 1)
    assert [one.count for one in await store.reads.causes(Selector(limit=1))] == [1]
    assert set(await store.reads.names("cause")) == {one.key for one in causes}


@pytest.mark.parametrize(
    ("since", "until", "places"),
    [
        (None, None, [2, 1, 0]),
        (-(10**15), 10**18, [2, 1, 0]),
        (START_MS, START_MS + 3, [2, 1, 0]),
        (START_MS + 1, None, [2, 1]),
        (None, START_MS + 2, [1, 0]),
        (START_MS + 1, START_MS + 2, [1]),
        (START_MS + DAY_MS, None, []),
        (None, START_MS - DAY_MS, []),
    ],
)
async def test_a_span_selects_by_the_times_that_rows_tell(
    store: PostgresStore, make: Maker, since: int | None, until: int | None, places: list[int]
) -> None:
    """Though their ids tell others: by less than a day."""
    apart = (-DAY_MS + 1, 0, DAY_MS - 1)
    sent = []
    for at, by in enumerate(apart):
        id_ = f"{earliest('dlv', START_MS + at + by)}{at:016}"
        await store.accept(make.acceptance(jobs=(), id=id_, received_at=START_MS + at))
        sent.append(id_)
    found = await store.reads.deliveries(Selector(since=since, until=until))
    assert {one.id for one in found} == {sent[at] for at in places}
    pages = await store.reads.page(Selector(since=since, until=until), jobs=False)
    assert {one.at for one in pages.found} == {sent[at] for at in places}
