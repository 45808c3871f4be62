"""
Deliveries in the order in which they were committed, from a place in the ledger on.

Numbers are given in that order, one by one, and never twice. So a number that is missing is a
delivery that retention has removed, and a reader that goes on from a place learns how many.
"""

import re
import sqlite3

import msgspec

from router.model.ids import earliest
from router.store.common.columns import decode_events, to_delivery
from router.store.common.commit_order import EXAMINED_MAX, choose, no_cursor, time_of
from router.store.sqlite.fragments import DELIVERY_COLUMNS, LISTED, listed
from router.store.sqlite.paging import history_of
from router.store.sqlite.writer_state import last_number
from router.store.values import FeedQuery, Following, Stored

_CURSOR = re.compile(r"([0-9]{1,15})-(dlv_[0-9A-Za-z]{1,40})?")


class Cursor(msgspec.Struct, frozen=True):
    """A place behind a delivery. Other packages keep its text without reading it."""

    number: int
    delivery: str

    def __str__(self) -> str:
        return f"{self.number}-{self.delivery}"


def following(db: sqlite3.Connection, asked: FeedQuery) -> Following:
    """
    The deliveries after a place, oldest first.

    Raises:
        UsageError: the cursor is none.
    """
    start, other = _start(db, asked)
    rows = db.execute(
        "SELECT n, id, endpoint, names, length(body) FROM deliveries WHERE n > ? "
        "ORDER BY n LIMIT ?",
        (start.number, EXAMINED_MAX),
    ).fetchall()
    chosen, examined, whole = choose([row[2:] for row in rows], asked)
    end = Cursor(rows[examined - 1][0], rows[examined - 1][1]) if examined else start
    if whole and len(rows) < EXAMINED_MAX:
        end = Cursor(max(last_number(db), end.number), end.delivery)
    return Following(
        deliveries=_whole(db, [rows[at][0] for at in chosen], history=asked.history),
        cursor=str(end),
        more=not whole or len(rows) == EXAMINED_MAX,
        removed=end.number - start.number - examined,
        other=other,
    )


def _whole(db: sqlite3.Connection, numbers: list[int], *, history: bool) -> tuple[Stored, ...]:
    rows = db.execute(
        f"SELECT {DELIVERY_COLUMNS}, d.events, d.n FROM deliveries d "
        "JOIN generations g ON g.n = d.generation "
        f"WHERE d.n {LISTED} ORDER BY d.n",
        (listed(numbers),),
    )
    return tuple(
        [
            Stored(
                str(Cursor(number, row[0])),
                to_delivery(row),
                decode_events(events),
                history=history_of(db, number) if history else (),
            )
            for *row, events, number in rows.fetchall()
        ]
    )


def _start(db: sqlite3.Connection, asked: FeedQuery) -> tuple[Cursor, bool]:
    """Where to go on; True: not where the cursor says."""
    if asked.cursor is None:
        return _since(db, asked.since), False
    if (found := _CURSOR.fullmatch(asked.cursor)) is None:
        raise no_cursor()
    place = Cursor(int(found[1]), found[2] or "")
    row = db.execute("SELECT id FROM deliveries WHERE n = ?", (place.number,)).fetchone()
    last = last_number(db)
    # A removed one is trusted: numbers are not given twice. One that is not reached yet is not.
    known = place.number <= last if row is None or not place.delivery else row[0] == place.delivery
    if known:
        return place, False
    return _before(db, place.delivery or "dlv_", "id > ?"), True


def _since(db: sqlite3.Connection, since: str) -> Cursor:
    if since == "start":
        return _before(db, "", "id > ?")
    if since == "now":
        return _end(db)
    return _before(db, earliest("dlv", time_of(since)), "id >= ?")


def _before(db: sqlite3.Connection, id_: str, condition: str) -> Cursor:
    """The place before the first delivery of those that fit; the end if none does."""
    first = db.execute(f"SELECT min(n) FROM deliveries WHERE {condition}", (id_,)).fetchone()[0]
    if first is None:
        return _end(db)
    row = db.execute(
        "SELECT id FROM deliveries WHERE n < ? ORDER BY n DESC LIMIT 1", (first,)
    ).fetchone()
    return Cursor(first - 1, "" if row is None else row[0])


def _end(db: sqlite3.Connection) -> Cursor:
    row = db.execute("SELECT id FROM deliveries ORDER BY n DESC LIMIT 1").fetchone()
    return Cursor(last_number(db), "" if row is None else row[0])
