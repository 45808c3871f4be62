"""Handing out due jobs, and taking back those whose holder died."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from router.model.delivery import Delivery
from router.store.book import Book
from router.store.protocol import LeaseBatch, Leased, Recovered
from router.store.rows import JOB_COLUMNS, to_delivery, to_job

LEASED_BYTES = 32 * 1024 * 1024
"""Bodies handed out at once: past it the rest of the due jobs waits for the next call."""

MAX_DEATHS = 3

_BATCH = 16
_decode = msgspec.json.Decoder(list[list[Any]])
_ATTEMPT, _STATE, _LEASE, _STARTED, _DUE = 14, 10, 17, 18, 11

# One value for each target instead of one row for each job: every row fetched is a chance to
# lose the interpreter to the event loop for a whole switch interval.
_DUE_JOBS = f"""(
    SELECT json_group_array(json_array(
        j.n, length(d.body), d.received_at, d.state, {JOB_COLUMNS}
    )) FROM (
        SELECT n FROM jobs WHERE state < 2 AND target = ? ORDER BY due_at, n LIMIT ?
    ) due
    JOIN jobs j ON j.n = due.n
    JOIN deliveries d ON d.n = j.n >> 20
    JOIN generations g ON g.n = j.generation
)"""


def lease(book: Book, slots: Mapping[str, int], token: str, now: int) -> LeaseBatch:
    """Take due jobs of each target and record their attempts, within the open transaction."""
    next_due: dict[str, int | None] = {}
    taken: list[list[Any]] = []
    room = LEASED_BYTES
    for target, found in _candidates(book, slots):
        mine, rest, room = _choose(found, slots[target], now, room)
        taken += mine
        next_due[target] = rest
    if not taken:
        return LeaseBatch((), next_due)
    taken.sort(key=lambda row: (row[4 + _DUE], row[0]))
    _begin(book, taken, token, now)
    deliveries = _deliveries(book, {row[0] >> 20: row for row in taken})
    jobs = tuple([_leased(row, deliveries[row[0] >> 20], token, now) for row in taken])
    book.later.append(lambda: book.running.update({row[4]: row[0] for row in taken}))
    book.pages += 1 + len(taken)
    return LeaseBatch(jobs, next_due)


def _candidates(book: Book, slots: Mapping[str, int]) -> list[tuple[str, list[list[Any]]]]:
    targets = list(slots)
    found: list[tuple[str, list[list[Any]]]] = []
    for start in range(0, len(targets), _BATCH):
        chunk = targets[start : start + _BATCH]
        asked = [v for target in chunk for v in (target, slots[target] + 1)]
        row = book.db.execute(f"SELECT {','.join([_DUE_JOBS] * len(chunk))}", asked).fetchone()
        found += [
            (target, sorted(_decode.decode(text), key=lambda r: (r[4 + _DUE], r[0])))
            for target, text in zip(chunk, row, strict=True)
        ]
    return found


def _choose(
    found: list[list[Any]], wanted: int, now: int, room: int
) -> tuple[list[list[Any]], int | None, int]:
    """Split into jobs to hand out, the due time of the first left, and the room left."""
    for index, row in enumerate(found):
        due = row[4 + _DUE]
        if index >= wanted or due > now or room <= 0:
            return found[:index], due, room
        room -= row[1]
    return found, None, room


def _begin(book: Book, taken: Sequence[list[Any]], token: str, now: int) -> None:
    book.db.execute(
        "UPDATE jobs SET state = 3, attempt = attempt + 1, started_at = ?, lease = ? "
        "WHERE n IN (SELECT value FROM json_each(?))",
        (now, token, msgspec.json.encode([row[0] for row in taken]).decode()),
    )


def _leased(row: list[Any], delivery: Delivery, token: str, now: int) -> Leased:
    values = row[4:]
    values[_STATE] = 3
    values[_ATTEMPT] += 1
    values[_LEASE] = token
    values[_STARTED] = now
    return Leased(to_job(values), delivery)


def _deliveries(book: Book, wanted: Mapping[int, list[Any]]) -> dict[int, Delivery]:
    """Each delivery once, many to a row for the reason above."""
    numbers = list(wanted)
    found: dict[int, Delivery] = {}
    for start in range(0, len(numbers), _BATCH):
        chunk = numbers[start : start + _BATCH]
        columns = ",".join(
            [
                f"(SELECT g.id FROM deliveries d JOIN generations g ON g.n = d.generation "
                f"WHERE d.n = ?{i}), (SELECT meta FROM deliveries WHERE n = ?{i}), "
                f"(SELECT body FROM deliveries WHERE n = ?{i})"
                for i in range(1, len(chunk) + 1)
            ]
        )
        row = book.db.execute(f"SELECT {columns}", chunk).fetchone()
        for i, number in enumerate(chunk):
            generation, meta, body = row[3 * i : 3 * i + 3]
            _, _, received_at, state, _, id_, endpoint, *_ = wanted[number]
            found[number] = to_delivery((id_, endpoint, received_at, state, generation, meta, body))
    return found


def recover(
    book: Book, alive: str, now: int, dead_on_interrupt: frozenset[tuple[str, str]]
) -> Recovered:
    """Reclaim the running jobs of other boots, within the open transaction."""
    lost = book.db.execute(
        "SELECT n, rule, action, deaths FROM jobs WHERE state > 1 AND state < 5 AND state = 3 "
        "AND substr(lease, 1, ?) IS NOT ?",
        (len(alive), alive),
    ).fetchall()
    numbers = msgspec.json.encode([row[0] for row in lost]).decode()
    book.db.execute(
        "INSERT OR IGNORE INTO attempts "
        "SELECT n, attempt, coalesce(started_at, ?1), ?1, 3, 'the router ended', '{}', generation "
        "FROM jobs WHERE n IN (SELECT value FROM json_each(?2))",
        (now, numbers),
    )
    dead = {row[0]: reason for row in lost if (reason := _verdict(row, dead_on_interrupt))}
    book.db.execute(
        "UPDATE jobs SET state = 0, lease = NULL, deaths = deaths + 1 "
        "WHERE n IN (SELECT value FROM json_each(?))",
        (numbers,),
    )
    book.db.executemany(
        "UPDATE jobs SET state = 4, ended_at = ?, reason = ? WHERE n = ?",
        [(now, reason, number) for number, reason in dead.items()],
    )
    book.pages += 2 * len(lost)
    return Recovered(len(lost) - len(dead), len(dead))


def _verdict(row: Sequence[Any], dead_on_interrupt: frozenset[tuple[str, str]]) -> str | None:
    _, rule, action, deaths = row
    if (rule, action) in dead_on_interrupt:
        return "interrupted"
    return "crash_loop" if deaths + 1 >= MAX_DEATHS else None
