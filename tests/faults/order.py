"""
Chains and concurrency groups as the store's file tells them, by plain SQL: who began before whom.

It holds at any moment, also right after a crash: a successor has begun only after its predecessor
had succeeded, runs of a group with limit 1 have never run at once nor overtaken one another, and no
turn is lost.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from tests import ledger
from tests.ledger import OUTCOME, STATE

SKIPPED = OUTCOME["skipped"]
WAITING = 0
IDLE = (STATE["waiting"], STATE["cancelled"])
JOBS = """
    SELECT j.run, j.n, j.id, j.action, j.state, j.needs,
        (SELECT min(a.started_at) FROM attempts a WHERE a.job = j.n AND a.outcome != :skipped),
        (SELECT max(a.ended_at) FROM attempts a WHERE a.job = j.n AND a.outcome != :skipped),
        CASE WHEN j.state = :running THEN j.started_at END
    FROM jobs j WHERE j.run IS NOT NULL ORDER BY j.n
"""
RUNS = "SELECT n, first_job, last_job, turn, key, at_once, on_busy FROM runs ORDER BY n"
OPEN = "SELECT count(*) FROM jobs WHERE state < 4"
LAST_DUE = "SELECT max(due_at) FROM jobs WHERE state < 4"


class Member(NamedTuple):
    """A job of a run; times are Unix milliseconds, None: it has none."""

    id: str
    action: str
    state: int
    needs: str | None
    began: int | None
    ended: int | None


class Run(NamedTuple):
    """A run with its jobs. `turn`: 0 it waits, 1 it has it, 2 it keeps it, None: it needs none."""

    number: int
    turn: int | None
    key: str | None
    limit: int | None
    jobs: list[Member]

    def began(self) -> int | None:
        return min((job.began for job in self.jobs if job.began is not None), default=None)

    def ended(self) -> int | None:
        return max((job.ended for job in self.jobs if job.ended is not None), default=None)


def all_ended(path: Path) -> bool:
    """Whether no job is open."""
    with closing(ledger.connect(path)) as db:
        return db.execute(OPEN).fetchone()[0] == 0


def last_due_in(path: Path, now: float) -> float:
    """
    Seconds until the last open job is due, `now` in Unix seconds: jobs that two deaths of the
    router have hit are due one by one.
    """
    with closing(ledger.connect(path)) as db:
        due_at = db.execute(LAST_DUE).fetchone()[0]
    return max((due_at or 0) / 1000 - now, 0.0)


def problems(
    path: Path, settled: Mapping[str, str] | None = None, *, mend: bool = False
) -> list[str]:
    """
    What contradicts the promises, in words.

    `settled` maps jobs whose end the store has confirmed to the state that they must have then.
    """
    with closing(ledger.connect(path, mend=mend)) as db:
        runs, found = _runs(db)
        found += [text for run in runs for text in _chain(run)]
        groups: dict[str, list[Run]] = {}
        for run in runs:
            if run.key is not None:
                groups.setdefault(run.key, []).append(run)
        for key, members in groups.items():
            found += _group(key, members)
        return found + _ends(db, settled or {})


def _runs(db: sqlite3.Connection) -> tuple[list[Run], list[str]]:
    members: dict[int, list[Member]] = {}
    asked = {"skipped": SKIPPED, "running": STATE["running"]}
    for run, _, id_, action, state, needs, began, ended, begun in db.execute(JOBS, asked):
        first = min((at for at in (began, begun) if at is not None), default=None)
        members.setdefault(run, []).append(Member(id_, action, state, needs, first, ended))
    runs, found = [], []
    for number, first, last, turn, key, limit, _ in db.execute(RUNS):
        jobs = members.pop(number, [])
        runs.append(Run(number, turn, key, limit, jobs))
        if len(jobs) != last - first + 1:
            found.append(f"lost: run {number} has {len(jobs)} jobs of {last - first + 1}")
    return runs, found + [f"orphan: jobs of a run {number} that is not there" for number in members]


def _chain(run: Run) -> list[str]:
    """What began before its predecessors had succeeded."""
    found = []
    by_action = {job.action: job for job in run.jobs}
    for job in run.jobs:
        for action, wanted in json.loads(job.needs or "[]"):
            before = by_action.get(action)
            if before is None or wanted != "succeeded":
                continue
            if job.state not in IDLE and before.state != STATE["succeeded"]:
                found.append(f"chain: {job.id} may run though {before.id} has not succeeded")
            if job.began is not None and (before.ended is None or job.began < before.ended):
                found.append(f"chain: {job.id} began before {before.id} ended")
    return found


def _group(key: str, runs: list[Run]) -> list[str]:
    """Turns that are one too many, lost, or taken out of order."""
    limit = runs[-1].limit or 1
    having = sum(run.turn in (1, 2) for run in runs)
    waiting = sum(run.turn == WAITING for run in runs)
    found = []
    if having > limit:
        found.append(f"group: {having} runs of {key!r} have a turn")
    if waiting and having < limit:
        found.append(f"group: {waiting} runs of {key!r} wait and {having} have a turn")
    if limit > 1:
        return found
    last: Run | None = None
    waits: Run | None = None
    for run in runs:
        began = run.began()
        if began is None:
            waits = run if run.turn == WAITING else waits
            continue
        if waits is not None:
            found.append(f"group: run {run.number} of {key!r} overtook {waits.number}")
        if last is not None and (last.ended() is None or began < (last.ended() or 0)):
            found.append(f"group: run {run.number} of {key!r} began before {last.number} ended")
        last = run
    return found


ENDS = "SELECT id, state, (SELECT count(*) FROM attempts WHERE job = jobs.n) FROM jobs"


def _ends(db: sqlite3.Connection, settled: Mapping[str, str]) -> list[str]:
    """Confirmed ends that are not there, or whose attempts are not."""
    names: dict[int, str] = {number: name for name, number in STATE.items()}
    known = {id_: (names[state], attempts) for id_, state, attempts in db.execute(ENDS)}
    found = []
    for job, wanted in settled.items():
        state, attempts = known.get(job, ("gone", 0))
        if state != wanted:
            found.append(f"lost: the end of {job}, which is {state}")
        elif not attempts:
            found.append(f"lost: the attempts of {job}")
    return found
