"""Rows as values: kinds before ids, texts that PostgreSQL cannot keep, what queue and jobs say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.model.job import Job, Predecessor
from router.store.common.columns import MARK, encode_needs
from router.store.postgres.database import Database, Tx
from router.store.postgres.fragments import JOB_COLUMNS, JOBS_JOINED
from router.store.postgres.rows import to_job
from router.store.postgres.texts import escape, unescape
from tests.clocks import START_MS
from tests.store_values import GENERATION, Maker
from tests.unit.store.postgres.ledger import add_delivery, add_job

odd_texts = st.text("a\x00\ue00001", max_size=4)


@given(odd_texts)
def test_no_text_has_a_nul_and_none_is_lost(text: str) -> None:
    assert "\x00" not in escape(text)
    assert unescape(escape(text)) == text


@given(odd_texts, odd_texts)
def test_a_text_begins_with_another_as_before(text: str, other: str) -> None:
    assert escape(text).startswith(escape(other)) == text.startswith(other)


@given(st.lists(odd_texts, max_size=3), odd_texts)
def test_a_name_between_two_marks_is_found_as_before(names: list[str], name: str) -> None:
    text = MARK + MARK.join(names) + MARK
    assert (escape(f"{MARK}{name}{MARK}") in escape(text)) == (name in (names or [""]))


def test_what_is_not_there_stays_so() -> None:
    assert escape(None) is None
    assert unescape(None) is None


async def read(tx: Tx, id_: str) -> Job:
    sql = f"SELECT {JOB_COLUMNS} FROM {JOBS_JOINED} WHERE j.id = $1"  # noqa: S608 - our own text
    return to_job(await tx.row(sql, id_))


@pytest.fixture
def ids(make: Maker) -> tuple[str, str]:
    return make.delivery().id, make.job().id


async def test_an_open_job_is_read_from_the_queue(db: Database, ids: tuple[str, str]) -> None:
    delivery, job = ids

    async def work(tx: Tx) -> Job:
        await add_delivery(tx, delivery)
        await add_job(
            tx,
            delivery,
            job,
            event="a\x00b".replace("\x00", "\ue0000"),
            covers=[0, 2],
            run=job,
            needs=encode_needs((Predecessor("a"),)),
            replay_of="dlv_x",
            attempt=7,
            started_at=7,
        )
        await tx.run(
            "INSERT INTO runs (id, jobs, rule, delivery, value, key, turn) "
            "VALUES ($1, '{}', 'paid', $2, 'x', '\\x01', 0)",
            job,
            delivery,
        )
        await tx.run(
            "INSERT INTO runs (id, jobs, rule, delivery, key, turn) VALUES "
            "(gen_random_uuid(), '{}', 'paid', $1, '\\x01', 2)",
            delivery,
        )
        await tx.run(
            "INSERT INTO queue (job, delivery, target, rule, state, replayed, due_at, waits, "
            "attempt, charged, deaths, lease, started_at) "
            "VALUES ($1, $2, 'erp', 'paid', 2, true, 5, 3, 4, 3, 2, '1/2', 6)",
            job,
            delivery,
        )
        return await read(tx, job)

    assert await db.transact(work) == Job(
        id=job,
        delivery=delivery,
        endpoint="shop",
        event_index=0,
        event_id="evt_" + "0" * 26,
        event="a\x00b",
        rule="paid",
        action="erp",
        kind="http",
        target="erp",
        state="waiting",
        due_at=5,
        created_at=START_MS,
        generation=GENERATION,
        attempt=4,
        charged=3,
        deaths=2,
        lease="1/2",
        started_at=6,
        replay_of="dlv_x",
        covers=(0, 2),
        after=(Predecessor("a"),),
        waits_for=("the end of a", "its turn in group x (halted by a dead job)"),
    )


async def test_an_ended_job_is_read_from_its_own_row(db: Database, ids: tuple[str, str]) -> None:
    delivery, job = ids

    async def work(tx: Tx) -> Job:
        await add_delivery(tx, delivery)
        end = {"state": 4, "due_at": 1, "attempt": 2, "charged": 3, "deaths": 4}
        await add_job(
            tx, delivery, job, **end, started_at=5, ended_at=6, reason=escape("\x00\ue000")
        )
        return await read(tx, job)

    found = await db.transact(work)
    assert (found.state, found.due_at, found.attempt) == ("dead", 1, 2)
    assert (found.charged, found.deaths, found.started_at, found.ended_at) == (3, 4, 5, 6)
    assert (found.lease, found.reason, found.waits_for) == (None, "\x00\ue000", ())
