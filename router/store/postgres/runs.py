"""The runs that the database keeps, and what happens to them within a transaction."""

from bisect import insort
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from itertools import groupby
from typing import Any

from router.model.job import Group, Turn
from router.store.common.chains import Member
from router.store.common.columns import decode_needs
from router.store.common.damage import UNREADABLE, damaged
from router.store.common.run_changes import NewRun, Run, RunChanges, group_columns, to_turn
from router.store.common.states import (
    DEAD,
    STATE,
    STATES,
    TURN_HALTED,
    TURN_HAS,
    TURN_WAITS,
)
from router.store.postgres.database import Tx
from router.store.postgres.in_force import is_in_force
from router.store.postgres.job_rows import columns, insert, linked, reopen
from router.store.postgres.texts import escape, unescape

KEY_MAX = 255
"""Bytes of a group's key that are kept as they are; of a longer one its SHA-256."""
LOOKED_AT = 16
"""Runs that wait of which one question tells: there may be a million."""

_LOCK_GROUPS = "SELECT key FROM groups WHERE key = ANY ($1) ORDER BY key FOR UPDATE"
_LOCK_AND_NUMBER = (
    "INSERT INTO groups (key, next) SELECT * FROM unnest($1::bytea[], $2::bigint[]) ORDER BY 1 "
    "ON CONFLICT (key) DO UPDATE SET next = groups.next + excluded.next RETURNING key, next"
)
_LOCK_RUNS = """
    WITH g AS MATERIALIZED (
        SELECT key FROM groups WHERE key IN (SELECT r.key FROM runs r WHERE r.id = ANY ($1))
        ORDER BY key FOR UPDATE
    )
    SELECT key FROM runs WHERE id = ANY ($1) AND (SELECT count(*) FROM g) >= 0
    ORDER BY id FOR UPDATE
"""
"""The groups first: the count is what the scan of the runs begins with."""
REGROUPED = 500
"""Keys whose groups one transaction changes: everybody else who has to do with them waits."""
WRITTEN = 500
"""Changes of one statement: it looks for each job of the queue in all of them."""

# The queue is never joined: when it was counted last it may have been empty.
_LOAD = """
    WITH open AS MATERIALIZED (
        SELECT job, state, due_at, waits, attempt FROM queue
        WHERE job = ANY (ARRAY(SELECT unnest(jobs) FROM runs WHERE id = ANY ($1)))
        ORDER BY job FOR UPDATE
    )
    SELECT r.id, r.delivery, r.key, r.turn, r.on_busy, r.on_dead, r.n, r.at_once,
        j.id, j.action, coalesce(q.state, j.state), coalesce(q.due_at, j.due_at), j.target,
        coalesce(q.waits, 0), j.needs, coalesce(q.attempt, j.attempt), j.reason
    FROM runs r CROSS JOIN unnest(r.jobs) WITH ORDINALITY AS m (job, place)
    JOIN jobs j ON j.delivery = r.delivery AND j.id = m.job LEFT JOIN open q ON q.job = m.job
    WHERE r.id = ANY ($1) ORDER BY r.id, m.place
"""
"""The open jobs stay locked: nobody leases or holds them until we commit."""
_LOOK = f"""
    SELECT k.key, h.held, t.turn, w.n, w.id, w.at_once
    FROM unnest($1::bytea[]) AS k (key) CROSS JOIN LATERAL (
        SELECT count(*) AS held FROM runs r
        WHERE r.key = k.key AND r.turn IN ({TURN_HAS}, {TURN_HALTED})
    ) h CROSS JOIN (VALUES ({TURN_WAITS}), ({TURN_HAS}), ({TURN_HALTED})) AS t (turn)
    LEFT JOIN LATERAL (
        SELECT n, id, at_once FROM runs r WHERE r.key = k.key AND r.turn = t.turn
        ORDER BY n LIMIT {LOOKED_AT + 1}
    ) w ON true ORDER BY k.key, t.turn, w.n
"""
_INSERT = (
    "INSERT INTO runs (id, jobs, rule, delivery, origin, turn, key, n, value, at_once, on_busy, "
    "on_dead) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
)
_PLACE = "array_position($1::uuid[], job)"
_NEXT_STATE = f"($2::smallint[])[{_PLACE}]"
_WRITE = f"""
    WITH changed AS (
        UPDATE queue SET state = {_NEXT_STATE}, due_at = ($3::bigint[])[{_PLACE}],
            waits = ($4::smallint[])[{_PLACE}]
        WHERE job = ANY ($1::uuid[]) AND {_NEXT_STATE} < {DEAD}
    ), gone AS (
        DELETE FROM queue WHERE job = ANY ($1::uuid[]) AND {_NEXT_STATE} >= {DEAD}
        RETURNING *, {_PLACE} AS place
    ), ended AS (
        UPDATE jobs j SET state = ($2::smallint[])[place], due_at = ($3::bigint[])[place],
            reason = ($5::text[])[place], ended_at = $6, attempt = g.attempt,
            charged = g.charged, deaths = g.deaths, started_at = g.started_at
        FROM gone g WHERE j.delivery = g.delivery AND j.id = g.job
    )
    UPDATE runs SET turn = ($8::smallint[])[array_position($7::uuid[], id)] WHERE id = ANY ($7)
"""


class GroupedRun(Run):
    """
    A run of this delivery as the database keeps it: `n` is its place in its group, which lets
    `at_once` begin.
    """

    def __init__(
        self, id_: str, delivery: str, standing: Sequence[Any], members: Mapping[str, Member]
    ) -> None:
        """`standing` is key, turn, on_busy, on_dead, n, at_once."""
        key, turn, on_busy, on_dead, n, at_once = standing
        super().__init__(id_, key, turn, on_busy, on_dead, members)
        self.delivery, self.n, self.at_once = delivery, n, at_once


_Place = tuple[int, str, int]
"""Of a run in its group: n, id, at_once."""


class _Standings:
    """
    The runs of one group, by turn and in their order: all of them, or those of turns with `more`
    up to some place. `held` turns are not free.
    """

    def __init__(self, held: int, first: Mapping[int, list[_Place]]) -> None:
        self.held = held
        self.first = {turn: places[:LOOKED_AT] for turn, places in first.items()}
        self.more = {turn for turn, places in first.items() if len(places) > LOOKED_AT}

    def move(self, run: GroupedRun, turn: int | None) -> None:
        """A run stands there from now on."""
        held = (TURN_HAS, TURN_HALTED)
        self.held += (turn in held) - (run.turn in held)
        place = (run.n, run.id, run.at_once)
        if run.turn is not None and place in self.first[run.turn]:
            self.first[run.turn].remove(place)
        if turn is not None:
            known = self.first[turn]
            if turn not in self.more or (known and place < known[-1]):
                insort(known, place)


@asynccontextmanager
async def changing(
    tx: Tx, now: int, *, runs: Collection[str] = (), new: Sequence[NewRun] = ()
) -> AsyncIterator[RunChanges]:
    """
    What happens to `runs`, or with the `new` ones that are to be added: their groups and they are
    locked. A run is known by the id of its first job. All changes are written as the block ends.

    Whoever ends a job of a run, or opens it again, does so within such a block.
    """
    rows = PostgresRuns(tx, now)
    await rows.lock(runs, new)
    yield RunChanges(rows, now)
    await rows.flush()


class PostgresRuns:
    """
    The rows of runs within one transaction, remembered as far as they were read: the locks see to
    it that they stay so. What is changed is written by `flush`.
    """

    def __init__(self, tx: Tx, now: int) -> None:
        self._tx, self._now = tx, now
        self._soon: set[str] = set()  # runs to be read with the next one
        self._keys: set[bytes] = set()  # groups to be looked at with the next one
        self._runs: dict[str, GroupedRun] = {}
        self._standings: dict[bytes, _Standings] = {}
        self._numbers: dict[bytes, int] = {}  # of each key, that of the next new run
        self._new: dict[str, tuple[NewRun, GroupedRun]] = {}
        self._ended: set[str] = set()  # jobs that have no row in the queue
        self._deliveries: dict[str, str] = {}  # of jobs
        self._changed: dict[str, Member] = {}
        self._turned: dict[str, GroupedRun] = {}

    async def lock(self, runs: Collection[str], new: Iterable[NewRun]) -> None:
        """Lock these runs and their groups, and those of the new ones."""
        added = Counter(group_key(one.turn.key) for one in new if one.turn is not None)
        if added:
            given = (list(added), list(added.values()))
            for key, following in await self._tx.all(_LOCK_AND_NUMBER, *given):
                self._numbers[key] = following - added[key]
        self._keys |= added.keys()
        if runs:
            self._keys |= {key for (key,) in await self._tx.all(_LOCK_RUNS, list(runs))} - {None}
        self._soon |= set(runs)

    # -- as RunChanges asks ----------------------------------------------------------------------

    async def insert(self, new: NewRun) -> str:
        members = dict(zip([job.id for job in new.jobs], new.members(), strict=True))
        standing: Sequence[Any] = (None,) * 6
        if new.turn is not None:
            key, (at_once, *words) = group_key(new.turn.key), group_columns(new.turn.group)
            standing = (key, None, *words, self._numbers[key], at_once)
            self._numbers[key] += 1
        run = GroupedRun(new.jobs[0].id, new.rows[0][1], standing, members)
        if run.key is not None:
            (await self._standing(run.key)).move(run, TURN_WAITS)
            run.turn = TURN_WAITS
        id_ = new.jobs[0].id
        self._runs[id_], self._new[id_] = run, (new, run)
        self._deliveries |= dict.fromkeys(members, run.delivery)
        return id_

    async def load(self, run: str) -> Run | None:
        if run not in self._runs:
            await self._load({run, *self._soon} - self._runs.keys())
            self._soon.clear()
        return self._runs.get(run)

    async def write(self, changed: Sequence[tuple[str, Member]]) -> None:
        self._changed.update(changed)

    async def set_turn(self, run: Run, turn: int | None) -> None:
        own = self._runs[run.id]
        if own.key is not None:
            (await self._standing(own.key)).move(own, turn)
        own.turn = turn
        self._turned[own.id] = own

    async def held(self, key: str | bytes) -> int:
        return (await self._standing(key)).held

    async def next(self, key: str | bytes) -> str | None:
        standings = await self._standing(key)
        if TURN_WAITS in standings.more and not standings.first[TURN_WAITS]:
            await self.flush()
            standings = await self._look([group_key(key)])
        if not standings.first[TURN_WAITS]:
            return None
        _, run, at_once = standings.first[TURN_WAITS][0]
        return run if standings.held < at_once else None

    async def standing(self, key: str | bytes, turn: int) -> list[str]:
        standings = await self._standing(key)
        if turn not in standings.more:
            return [run for _, run, _ in standings.first[turn]]
        await self.flush()
        sql = "SELECT id FROM runs WHERE key = $1 AND turn = $2 ORDER BY n"
        return [f"job_{id_}" for (id_,) in await self._tx.all(sql, group_key(key), turn)]

    async def is_awaited(self, run: Run) -> bool:
        own = self._runs[run.id]
        standings = await self._standing(own.key or b"")
        waiting = standings.first[TURN_WAITS]
        return TURN_WAITS in standings.more or any(n > own.n for n, _, _ in waiting)

    async def of_jobs(self, jobs: Collection[str]) -> list[str]:
        """`jobs` are ids."""
        sql = "SELECT DISTINCT run FROM jobs WHERE id = ANY ($1) AND run IS NOT NULL ORDER BY run"
        return [f"job_{id_}" for (id_,) in await self._tx.all(sql, list(jobs))]

    async def regroup(self, groups: Mapping[str, Group]) -> tuple[int, list[bytes]]:
        given = [(rule, *group_columns(group)) for rule, group in groups.items()]
        values = columns(given, 4)
        wanted = (
            "unnest($1::text[], $2::bigint[], $3::smallint[], $4::smallint[]) "
            "AS g (rule, at_once, on_busy, on_dead)"
        )
        other = (
            "r.turn IS NOT NULL AND r.rule = g.rule AND (r.at_once, r.on_busy, r.on_dead) "
            "IS DISTINCT FROM (g.at_once, g.on_busy, g.on_dead)"
        )
        concerned = f"SELECT DISTINCT r.key FROM runs r, {wanted} WHERE {other} LIMIT {REGROUPED}"
        keys = sorted([key for (key,) in await self._tx.all(concerned, *values)])
        await self._tx.run(_LOCK_GROUPS, keys)
        changed = await self._tx.run(
            "UPDATE runs r SET at_once = g.at_once, on_busy = g.on_busy, on_dead = g.on_dead, "
            f"turn = CASE WHEN r.turn < {TURN_HALTED} OR g.on_dead = 1 THEN r.turn END "
            f"FROM {wanted} WHERE {other} AND r.key = ANY ($5)",
            *values,
            keys,
        )
        self._keys |= set(keys)
        return changed, keys

    async def forget(self, which: str, values: Sequence[Any]) -> list[bytes]:
        """`which` is a condition on `runs r`. Groups that have no run any more go with the last."""
        of = f"SELECT DISTINCT r.key FROM runs r WHERE r.key IS NOT NULL AND ({which})"
        keys = [key for (key,) in await self._tx.all(of, *values)]
        await self._tx.run(_LOCK_GROUPS, keys)
        gone = f"DELETE FROM runs r WHERE {which} RETURNING r.key, r.turn"
        halting = {key for key, turn in await self._tx.all(gone, *values) if turn == TURN_HALTED}
        await self._tx.run(
            "DELETE FROM groups g WHERE g.key = ANY ($1) "
            "AND NOT EXISTS (SELECT FROM runs r WHERE r.key = g.key)",
            keys,
        )
        self._keys |= halting
        return sorted(halting)

    # -- reading and writing ---------------------------------------------------------------------

    async def _standing(self, key: str | bytes) -> _Standings:
        """Read before any turn of it is changed."""
        raw = group_key(key)
        return self._standings.get(raw) or await self._look([raw, *(self._keys - {raw})])

    async def _look(self, keys: Sequence[bytes]) -> _Standings:
        """The standings of the first of these keys; those of the others are wanted soon."""
        self._keys -= set(keys)
        found = await self._tx.all(_LOOK, keys)
        for (key, held), rows in groupby(found, lambda row: (row[0], row[1])):
            first: dict[int, list[_Place]] = {TURN_WAITS: [], TURN_HAS: [], TURN_HALTED: []}
            for *_, turn, n, id_, at_once in rows:
                if n is not None:
                    first[turn].append((n, f"job_{id_}", at_once))
            self._standings[key] = _Standings(held, first)
            self._soon |= {run for _, run, _ in first[TURN_WAITS][:1]} - self._runs.keys()
        return self._standings[keys[0]]

    async def _load(self, runs: Collection[str]) -> None:
        for _, rows in groupby(await self._tx.all(_LOAD, sorted(runs)), lambda row: row[0]):
            found = list(rows)
            id_, delivery, *standing = found[0][:8]
            members = dict([_stored_member(row[8:]) for row in found])
            run = GroupedRun(f"job_{id_}", f"dlv_{delivery}", standing, members)
            self._runs[run.id] = run
            self._ended |= {id_ for id_, member in members.items() if member.ended}
            self._deliveries |= dict.fromkeys(members, run.delivery)

    async def flush(self) -> None:
        """Write what was changed."""
        new, self._new = list(self._new.values()), {}
        if new:
            await self._insert(new)
        changed, self._changed = self._changed, {}
        turned, self._turned = self._turned, {}
        again = {id_ for id_ in self._ended & changed.keys() if not changed[id_].ended}
        await reopen(self._tx, {self._deliveries[id_] for id_ in again}, again)
        self._ended -= again
        self._ended |= {id_ for id_, member in changed.items() if member.ended}
        members, runs = list(changed.items()), [(run.id, run.turn) for run in turned.values()]
        for first in range(0, max(len(members), len(runs)), WRITTEN):
            some = slice(first, first + WRITTEN)
            await self._tx.run(
                _WRITE,
                *columns([_row(*one) for one in members[some]], 5),
                self._tx.db.wall(self._now),
                *columns(runs[some], 2),
            )

    async def _insert(self, new: Sequence[tuple[NewRun, GroupedRun]]) -> None:
        """New runs as they stand now; those of their jobs that are to be cancelled, before that."""
        rows = []
        for one, run in new:
            self._turned.pop(run.id, None)
            for job, row in zip(one.jobs, one.rows, strict=True):
                member = run.members[run.numbers.index(job.id)]
                if not member.ended:
                    self._changed.pop(job.id, None)
                rows.append(linked(row, run.id, member))
        await insert(self._tx, rows)
        await self._tx.each(
            _INSERT,
            [
                (
                    run.id,
                    run.numbers,
                    one.jobs[0].rule,
                    run.delivery,
                    one.origin,
                    run.turn,
                    run.key,
                    run.n,
                    *_grouped(one.turn),
                )
                for one, run in new
            ],
        )


def _row(job: str, member: Member) -> tuple[Any, ...]:
    """What changes of a job, as _WRITE takes it."""
    standing = STATE[member.state], member.due_at, member.waits
    return job, *standing, escape(member.reason)


def _grouped(turn: Turn | None) -> tuple[Any, ...]:
    return (None,) * 4 if turn is None else (escape(turn.value), *group_columns(turn.group))


def group_key(key: str | bytes) -> bytes:
    """A key as it is kept."""
    raw = key.encode() if isinstance(key, str) else key
    return raw if len(raw) <= KEY_MAX else sha256(raw).digest()


def _stored_member(row: Sequence[Any]) -> tuple[str, Member]:
    id_, action, state, due_at, target, waits, needs, attempt, reason = row
    try:
        named, needed = STATES[state], decode_needs(needs)
    except UNREADABLE as error:
        raise damaged("jobs", f"job_{id_}", error) from error
    member = Member(action, named, due_at, target, waits, needed, attempt, unescape(reason))
    return f"job_{id_}", member


async def regroup(tx: Tx, groups: Mapping[str, Group | None], *, generation: str, now: int) -> int:
    """
    Apply the groups of this generation's rules, if it is the one in force: one step, of some keys.
    """
    if not await is_in_force(tx, generation):
        return 0
    async with changing(tx, now) as changes:
        return await changes.regroup(groups)


async def forget(tx: Tx, now: int, which: str, *values: Any) -> None:
    """
    The jobs of the runs that this condition (on `runs r`) selects are about to be removed, so they
    are; the groups that they halt go on.
    """
    async with changing(tx, now) as changes:
        await changes.forget(which, values)


async def stored_turn(tx: Tx, run: str | None) -> Turn | None:
    """The turn of a run, if it has one; by its key as it is kept."""
    sql = "SELECT key, value, at_once, on_busy, on_dead FROM runs WHERE id = $1 AND key IS NOT NULL"
    row = await tx.row(sql, run)
    return None if row is None else to_turn(row[0], unescape(row[1]), *row[2:])
