"""Handing out due jobs, and taking back those whose holder died."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from router.kinds import KINDS, NUMBERED
from router.model.delivery import Delivery
from router.model.job import ActionKind, Work
from router.store.common.columns import to_delivery, to_job
from router.store.common.interruptions import ENDED_WITH_US, death_of, interrupted
from router.store.common.states import AVAILABLE, DEAD, OUTCOME, RUNNING
from router.store.sqlite import accepting, damage, reading, runs
from router.store.sqlite.fragments import DUE, JOB_COLUMNS, LISTED, PLACE_BITS, listed
from router.store.sqlite.paging import jobs_where
from router.store.sqlite.writer_state import ROWS, Book
from router.store.values import APART_MS, MAX_DEATHS, Died, LeaseBatch, Recovered

LEASED_BYTES = 32 * 1024 * 1024
"""Bodies handed out at once: past it the rest of the due jobs waits for the next call."""

_BATCH = 16
_decode = msgspec.json.Decoder(list[list[Any]])
_ATTEMPT, _STATE, _LEASE, _STARTED, _DUE, _KIND = 14, 10, 17, 18, 11, 8
_REPLAYED, _JOB, _DELIVERY = 5, 7, 8
"""Places in a row of a due job; JOB_COLUMNS begin at `_JOB`."""
_LARGE = ("meta", "body")


# One value for each target instead of one row for each job: every row fetched is a chance to
# lose the interpreter to the event loop for a whole switch interval.
def _due_jobs(lanes: str) -> str:
    return f"""(
    SELECT json_group_array(json_array(
        j.n, length(d.body), d.received_at, d.state, j.run, j.replay IS NOT NULL, d.generation,
        {JOB_COLUMNS}
    )) FROM ({lanes}) due
    JOIN jobs j ON j.n = due.n
    JOIN deliveries d ON d.n = j.n >> {PLACE_BITS}
    JOIN generations g ON g.n = j.generation
)"""


def _lane(replayed: int) -> str:
    return (
        f"SELECT n FROM jobs WHERE {DUE} AND target = ? AND (replay IS NOT NULL) = {replayed} "
        "ORDER BY due_at, n LIMIT ?"
    )


_NAMED = _due_jobs(f"SELECT n FROM jobs WHERE {DUE} AND due_at <= ? AND id {LISTED}")
_DUE_JOBS = _due_jobs(_lane(0))
_DUE_AND_REPLAYED = _due_jobs(f"SELECT * FROM ({_lane(0)}) UNION ALL SELECT * FROM ({_lane(1)})")


def lease(
    book: Book,
    slots: Mapping[str, int],
    *,
    lease: str,
    now: int,
    fresh: Mapping[str, Sequence[str]] = {},
    kinds: Mapping[str, ActionKind] = {},
) -> LeaseBatch:
    """
    Take due jobs of each target and record their attempts, within the open transaction. Raises
    Damaged: nothing was written, for all is read before anything is.
    """
    with damage.reading(book.db, lambda: _numbers(book, slots, fresh)):
        return _hand_out(book, slots, lease, now, fresh, kinds)


def _hand_out(
    book: Book,
    slots: Mapping[str, int],
    token: str,
    now: int,
    fresh: Mapping[str, Sequence[str]],
    kinds: Mapping[str, ActionKind],
) -> LeaseBatch:
    next_due: dict[str, int | None] = {}
    others: dict[str, ActionKind] = {}
    taken: list[list[Any]] = []
    room = LEASED_BYTES
    for target, found in _candidates(book, slots):
        named = _named(book, fresh[target], now) if fresh.get(target) else []
        number = KINDS[kind].number if (kind := kinds.get(target)) else None
        mine, rest, room, other = _choose(found, named, slots[target], now, room, number)
        taken += mine
        next_due[target] = rest
        if other is not None:
            others[target] = NUMBERED[other]
    if not taken:
        return LeaseBatch((), next_due, kinds=others)
    taken.sort(key=lambda row: (row[_JOB + _DUE], row[0]))
    deliveries = _deliveries(book, taken)
    began = book.wall(now)
    jobs = tuple([_leased(row, deliveries[row[0] >> PLACE_BITS], token, began) for row in taken])
    book.db.execute(
        f"UPDATE jobs SET state = {RUNNING}, attempt = attempt + 1, started_at = ?, lease = ? "
        f"WHERE n {LISTED}",
        (began, token, listed([row[0] for row in taken])),
    )
    book.later.append(lambda: book.running.update({row[_JOB]: row[0] for row in taken}))
    if linked := {row[0]: row[4] for row in taken if row[4] is not None}:
        book.later.append(lambda: book.linked.update(linked))
    book.pages += 1 + len(taken)
    return LeaseBatch(jobs, next_due, kinds=others)


def _numbers(book: Book, slots: Mapping[str, int], fresh: Mapping[str, Sequence[str]]) -> list[int]:
    """Of the jobs that `_hand_out` looks at."""
    found: list[int] = []
    for target, count in slots.items():
        for replayed in (0, 1):
            found += [n for (n,) in book.db.execute(_lane(replayed), (target, count + 1))]
        named = f"SELECT n FROM jobs WHERE {DUE} AND id {LISTED}"
        found += [n for (n,) in book.db.execute(named, (listed(fresh.get(target, ())),))]
    return found


def _candidates(book: Book, slots: Mapping[str, int]) -> list[tuple[str, list[list[Any]]]]:
    targets = list(slots)
    found: list[tuple[str, list[list[Any]]]] = []
    sql, lanes = (_DUE_AND_REPLAYED, 2) if book.replays else (_DUE_JOBS, 1)
    for start in range(0, len(targets), _BATCH):
        chunk = targets[start : start + _BATCH]
        asked = [v for target in chunk for v in (target, slots[target] + 1) * lanes]
        row = book.db.execute(f"SELECT {','.join([sql] * len(chunk))}", asked).fetchone()
        found += [
            (target, sorted(_decode.decode(text), key=lambda r: (r[_JOB + _DUE], r[0])))
            for target, text in zip(chunk, row, strict=True)
        ]
    return found


def _named(book: Book, ids: Sequence[str], now: int) -> list[list[Any]]:
    """Those of these jobs that are due, in the order named."""
    place = {id_: i for i, id_ in enumerate(ids)}
    text = book.one(f"SELECT {_NAMED}", (now, listed(ids)))
    return sorted(_decode.decode(text), key=lambda row: place[row[_JOB]])


def _choose(
    found: list[list[Any]],
    named: list[list[Any]],
    wanted: int,
    now: int,
    room: int,
    kind: int | None,
) -> tuple[list[list[Any]], int | None, int, int | None]:
    """
    Split into jobs to hand out, the first due time of those left, and the room left; last the
    other kind before whose first job they end, if they do.
    """
    due = [row for row in found if row[_JOB + _DUE] <= now]
    if any(row[_REPLAYED] for row in due):
        due.sort(key=lambda row: row[_REPLAYED])  # stable: within each by due time
    if named:
        before = {row[0] for row in named}
        due = named + [row for row in due if row[0] not in before]
    most, count, other = min(wanted, len(due)), 0, None
    while count < most and room > 0:
        if kind is not None and due[count][_JOB + _KIND] != kind:
            other = due[count][_JOB + _KIND]
            break
        room -= due[count][1]
        count += 1
    mine = due[:count]
    if count == len(found) and not named:
        return mine, None, room, other
    taken = {row[0] for row in mine}
    left = [row[_JOB + _DUE] for row in [*found, *named] if row[0] not in taken]
    return mine, min(left, default=None), room, other


def _leased(row: list[Any], delivery: Delivery, token: str, began: int) -> Work:
    values = row[_JOB:]
    values[_STATE] = RUNNING
    values[_ATTEMPT] += 1
    values[_LEASE] = token
    values[_STARTED] = began
    return Work(to_job(values), delivery, None)


def _deliveries(book: Book, rows: Sequence[list[Any]]) -> dict[int, Delivery]:
    """Of these due jobs, by number: each is read once, many to a row for the reason above."""
    found: dict[int, Delivery] = {}
    unread: dict[int, list[Any]] = {}
    for row in rows:
        number = row[0] >> PLACE_BITS
        if (kept := book.deliveries.get(row[_DELIVERY])) is not None:
            found[number] = kept
        else:
            unread[number] = row
    numbers = list(unread)
    for start in range(0, len(numbers), ROWS):
        chunk = numbers[start : start + ROWS]
        size = 1 << (len(chunk) - 1).bit_length()  # few sizes, so that each stays prepared
        values = book.db.execute(_contents(size), chunk + [None] * (size - len(chunk))).fetchone()
        for place, number in enumerate(chunk):
            _, _, received_at, state, _, _, generation, _, id_, endpoint, *_ = unread[number]
            meta, body = values[2 * place : 2 * place + 2]
            generation_id = book.generation_id(generation)
            found[number] = to_delivery(
                (id_, endpoint, received_at, state, generation_id, meta, body)
            )
    if len(found) < len(rows):
        book.deliveries.keep(Counter([row[0] >> PLACE_BITS for row in rows]), found)
    return found


@lru_cache
def _contents(deliveries: int) -> str:
    """Meta and body of as many deliveries, in one row."""
    places = range(1, deliveries + 1)
    columns = [f"(SELECT {name} FROM deliveries WHERE n = ?{i})" for i in places for name in _LARGE]
    return f"SELECT {','.join(columns)}"


def recover(
    book: Book,
    nodes: Collection[str],
    now: int,
    dead_on_interrupt: frozenset[tuple[str, str]],
    died: Died,
) -> Recovered:
    """
    Reclaim the running jobs of these nodes, within the open transaction. Raises Damaged.
    """
    with damage.reading(book.db, lambda: reading.running(book.db)):
        lost = [n for n, node in reading.holders(book.db) if node in nodes]
        return _reclaim(book, lost, now, dead_on_interrupt, died)


def _reclaim(
    book: Book,
    lost: Sequence[int],
    now: int,
    dead_on_interrupt: frozenset[tuple[str, str]],
    died: Died,
) -> Recovered:
    numbers, ended = listed(lost), book.wall(now)
    found = book.db.execute(
        f"SELECT n, rule, action, deaths, run FROM jobs WHERE n {LISTED} ORDER BY id",
        (numbers,),
    ).fetchall()
    book.db.execute(
        "INSERT OR IGNORE INTO attempts "
        "SELECT n, attempt, coalesce(started_at, ?1), ?1, ?2, ?3, '{}', generation FROM jobs "
        "WHERE n IN (SELECT value FROM json_each(?4))",
        (ended, OUTCOME["interrupted"], ENDED_WITH_US, numbers),
    )
    dead = {
        n: reason
        for n, rule, action, deaths, _ in found
        if (reason := death_of(rule, action, deaths, dead_on_interrupt))
    }
    book.db.execute(
        f"UPDATE jobs SET state = {AVAILABLE}, lease = NULL, deaths = deaths + 1 WHERE n {LISTED}",
        (numbers,),
    )
    suspects = [n for n, _, _, deaths, _ in found if deaths + 2 == MAX_DEATHS]
    book.db.executemany(
        "UPDATE jobs SET due_at = ? WHERE n = ?",
        [(now + i * APART_MS, n) for i, n in enumerate(n for n in suspects if n not in dead)],
    )
    book.db.executemany(
        f"UPDATE jobs SET state = {DEAD}, ended_at = ?, reason = ? WHERE n = ?",
        [(ended, reason, number) for number, reason in dead.items()],
    )
    book.pages += 2 * len(found)
    changes = runs.changes(book, now)
    for run in sorted({row[4] for row in found if row[4] is not None}):
        runs.at_once(changes.follow(run))
    jobs = jobs_where(book.db, f"j.n {LISTED} ORDER BY j.id", [listed(dead)], JOB_COLUMNS)
    ends = [(job, interrupted(job, ended)) for job in jobs]
    accepting.accept_of_dead(book, ends, died, now)
    return Recovered(len(found) - len(dead), len(dead))
