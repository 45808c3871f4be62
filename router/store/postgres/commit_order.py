"""
Deliveries in the order in which they were committed, from a place in the ledger on.

A transaction has its number before it commits, and one with a higher number may commit before it.
So what is shown ends before the lowest number of those that are still under way: nobody who comes
later has a lower one, and nothing is missed.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from router.model.ids import earliest
from router.model.job import Job
from router.model.settings import DAY_MS
from router.store.common.columns import decode_events
from router.store.common.commit_order import EXAMINED_MAX, choose, no_cursor, time_of
from router.store.postgres import ids, selection
from router.store.postgres.database import Tx
from router.store.postgres.fragments import DELIVERY_COLUMNS
from router.store.postgres.reading import jobs_where
from router.store.postgres.rows import to_delivery
from router.store.postgres.texts import unescape
from router.store.values import FeedQuery, Following, Stored

_CURSOR = re.compile(r"([0-9A-Z]{26})\.([0-9]{1,18})\.(dlv_[0-7][0-9A-HJKMNP-TV-Z]{25})")


class Place(msgspec.Struct, frozen=True):
    """Behind a delivery, by its transaction's number. Other packages keep its text unread."""

    ledger: str
    number: int
    delivery: str

    def __str__(self) -> str:
        return f"{self.ledger}.{self.number}.{self.delivery}"


class _Ledger(msgspec.Struct, frozen=True):
    """Every transaction with a number below `end` has ended; none has the number `next` yet."""

    id: str
    end: int
    next: int


async def following(tx: Tx, asked: FeedQuery) -> Following:
    """
    The deliveries after a place, oldest first.

    Raises:
        UsageError: the cursor is none.
    """
    id_, low, high, ahead = await tx.row(
        "SELECT id, pg_snapshot_xmin(pg_current_snapshot()), "
        "pg_snapshot_xmax(pg_current_snapshot()), ahead FROM ledger"
    )
    ledger = _Ledger(id_, low + ahead, high + ahead)
    start, other = await _start(tx, ledger, asked)
    rows = await tx.all(
        "SELECT xid, id, endpoint, names, octet_length(body) FROM deliveries "
        "WHERE (xid, id) > ($1, $2) AND xid < $3 AND id >= $4 ORDER BY xid, id LIMIT $5",
        start.number,
        start.delivery,
        ledger.end,
        _earliest_after(start, tx.db.clock.now()),
        EXAMINED_MAX,
    )
    listed = [(endpoint, unescape(names), size) for _, _, endpoint, names, size in rows]
    chosen, examined, whole = choose(listed, asked)
    places = [Place(ledger.id, row[0], f"dlv_{row[1]}") for row in rows]
    return Following(
        deliveries=await _whole(tx, [places[at] for at in chosen], history=asked.history),
        cursor=str(places[examined - 1] if examined else start),
        more=not whole or len(rows) == EXAMINED_MAX,
        removed=None,
        other=other,
    )


def _earliest_after(place: Place, now: int) -> str:
    """
    No delivery that is committed after that place has a lower id: days that are over need not be
    looked into. It may be as much older as clocks may differ, and a day is far more.
    """
    at = ids.time_of(place.delivery)
    return selection.lowest(at - DAY_MS) if at <= now else selection.LOWEST


async def _whole(tx: Tx, places: Sequence[Place], *, history: bool) -> tuple[Stored, ...]:
    if not places:
        return ()
    named = [place.delivery for place in places]
    rows = await tx.all(
        f"SELECT {DELIVERY_COLUMNS}, d.events FROM deliveries d "
        "JOIN generations g ON g.n = d.generation WHERE d.id = ANY($1)",
        named,
    )
    found: dict[str, Any] = {f"dlv_{row[0]}": row for row in rows}
    jobs: dict[str, list[Job]] = {id_: [] for id_ in named}
    if history:
        for job in await jobs_where(tx, "j.delivery = ANY(?) ORDER BY j.id", named):
            jobs[job.delivery].append(job)
    return tuple([_stored(one, found[one.delivery], jobs[one.delivery]) for one in places])


def _stored(place: Place, row: Any, jobs: Sequence[Job]) -> Stored:
    events = decode_events(row[7])
    return Stored(str(place), to_delivery(row[:7]), events, history=tuple(jobs))


async def _start(tx: Tx, ledger: _Ledger, asked: FeedQuery) -> tuple[Place, bool]:
    """Where to go on; True: not where the cursor says."""
    if asked.cursor is None:
        return await _since(tx, ledger, asked.since), False
    if (found := _CURSOR.fullmatch(asked.cursor)) is None:
        raise no_cursor()
    place = Place(found[1], int(found[2]), found[3])
    if place.ledger == ledger.id and place.number < ledger.next:
        return place, False
    return await _before(tx, ledger, place.delivery), True


async def _since(tx: Tx, ledger: _Ledger, since: str) -> Place:
    if since == "start":
        return Place(ledger.id, 0, selection.LOWEST)
    if since == "now":
        return _end(ledger)
    return await _before(tx, ledger, selection.place(earliest("dlv", time_of(since))))


async def _before(tx: Tx, ledger: _Ledger, id_: str) -> Place:
    """The place before the first delivery with a higher id; the end if there is none."""
    number = await tx.one(
        "SELECT xid FROM deliveries WHERE id > $1 AND xid < $2 ORDER BY xid, id LIMIT 1",
        id_,
        ledger.end,
    )
    return _end(ledger) if number is None else Place(ledger.id, number, id_)


def _end(ledger: _Ledger) -> Place:
    return Place(ledger.id, ledger.end - 1, selection.HIGHEST)
