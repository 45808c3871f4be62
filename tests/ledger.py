"""The ledger as its file tells it, by plain SQL: a second opinion beside the router's store."""

import hashlib
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

STATES = ("available", "retryable", "waiting", "running", "dead", "succeeded", "cancelled")
OUTCOMES = ("succeeded", "failed", "dead", "interrupted", "dry", "skipped")
DELIVERY_STATES = ("routed", "unmatched", "unparsed", "too_complex")
"""The words for the numbers in the columns, by number."""
STATE = {word: number for number, word in enumerate(STATES)}
OUTCOME = {word: number for number, word in enumerate(OUTCOMES)}
SUCCEEDED = STATE["succeeded"]

# A job's number is its delivery's number * 2^20, plus its place.
ODD_JOBS = """
    SELECT d.id, count(j.n), count(DISTINCT j.event_index || '/' || j.rule || '/' || j.action)
    FROM deliveries d LEFT JOIN jobs j ON j.n BETWEEN d.n << 20 AND (d.n << 20 | 1048575)
    GROUP BY d.n
    HAVING count(j.n) != ?
    OR count(DISTINCT j.event_index || '/' || j.rule || '/' || j.action) != count(j.n)
"""
KILLED_THRICE = """
    SELECT n, run FROM jobs WHERE state = :dead AND reason = 'crash_loop' AND 3 <= (
        SELECT count(*) FROM attempts WHERE job = jobs.n AND outcome = :interrupted
    )
"""
"""Jobs that took three deaths of the router in a row: they are dead, as it promises."""
THRICE = {"dead": STATE["dead"], "interrupted": OUTCOME["interrupted"]}
ORPHANS = "SELECT id FROM jobs WHERE n >> 20 NOT IN (SELECT n FROM deliveries)"


def connect(path: Path, *, mend: bool = False) -> sqlite3.Connection:
    """
    A connection to read by. `mend`: it may also finish what a crash left half done, which is for
    files that no router has open.
    """
    return sqlite3.connect(f"file:{path}?mode={'rw' if mend else 'ro'}", uri=True, timeout=5)


def digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


@dataclass(frozen=True)
class Counts:
    deliveries: int
    jobs: int
    succeeded: int
    attempts: int


def counts(path: Path) -> Counts:
    with closing(connect(path)) as db:
        return Counts(
            *db.execute(
                "SELECT (SELECT count(*) FROM deliveries), (SELECT count(*) FROM jobs),"
                " (SELECT count(*) FROM jobs WHERE state = ?), (SELECT count(*) FROM attempts)",
                (SUCCEEDED,),
            ).fetchone()
        )


def killed_thrice(path: Path) -> int:
    """How many jobs three deaths of the router in a row have ended."""
    with closing(connect(path)) as db:
        found = db.execute(f"SELECT count(*) FROM ({KILLED_THRICE})", THRICE)  # noqa: S608 - our own words
        return int(found.fetchone()[0])


def working_seconds(path: Path) -> float:
    """From the first attempt's start to the last one's end."""
    with closing(connect(path)) as db:
        first, last = db.execute("SELECT min(started_at), max(ended_at) FROM attempts").fetchone()
    return float(last - first) / 1000


def stored(db: sqlite3.Connection) -> dict[str, str]:
    """Every delivery's id and the digest of its body."""
    return {i: digest(body) for i, body in db.execute("SELECT id, body FROM deliveries")}


def problems(
    path: Path, acked: Mapping[str, str], *, jobs_each: int = 1, mend: bool = False
) -> list[str]:
    """
    What contradicts the promises, in words; empty if nothing does.

    `acked` maps each acknowledged delivery's id to its body's digest. Bodies are expected to
    differ, so the same body twice is one delivery stored twice. `mend` as `connect`.
    """
    with closing(connect(path, mend=mend)) as db:
        found = corruption(db)
        if found:
            return found
        have = stored(db)
        found += [f"lost: {i}" for i in acked if i not in have]
        found += [f"other body: {i}" for i, d in acked.items() if have.get(i, d) != d]
        if len(set(have.values())) != len(have):
            found.append(f"{len(have) - len(set(have.values()))} deliveries stored twice")
        return found + odd_jobs(db, jobs_each)


def corruption(db: sqlite3.Connection) -> list[str]:
    try:
        rows = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
    except sqlite3.DatabaseError as error:
        return [f"corrupt: {error}"]
    return [] if rows == ["ok"] else [f"corrupt: {row}" for row in rows]


def odd_jobs(db: sqlite3.Connection, jobs_each: int) -> list[str]:
    """Deliveries whose jobs are not exactly one for each action, and jobs of no delivery."""
    wrong = db.execute(ODD_JOBS, (jobs_each,)).fetchall()
    orphans = db.execute(ORPHANS).fetchall()
    return [f"{i}: {n} jobs, {k} kinds" for i, n, k in wrong] + [f"orphan: {o[0]}" for o in orphans]
