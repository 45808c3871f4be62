"""
One byte of the store is wrong: a clean start with correct data, or a refusal in words.

    python -m tests.faults.corrupt --count 500

A store is filled by a real router and left by SIGKILL with work to do: half of it in the database,
half in the journal. In each trial one byte of a copy is changed, at random, in the database or in
the journal, and the router is started on it. Never may it end with a traceback, run an action with
other bytes than were accepted, or go on as if deliveries that are gone had never been.
"""

import random
import shutil
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tests import ledger
from tests.acceptance.process import Rig, RouterDied, RouterProcess, TookTooLong, free_ports
from tests.acceptance.senders import ENDPOINTS, code, environ
from tests.acceptance.sink import Received, Sink
from tests.faults.life import Life, wait_for
from tests.faults.telling import by_count, reported

RULES = ENDPOINTS + (
    "retries:\n  later: {schedule: [10s, 1s, 1s, 1s], jitter: 0.1}\n"
    "targets:\n  place: {url: 'http://127.0.0.1:PORT', breaker: off}\n"
    "rules:\n"
    "  - id: main\n    from: code\n    events: push\n"
    "    actions:\n"
    "      - {id: note, log: 'push {{ payload.number }}'}\n"
    "      - id: call\n"
    "        http: {target: place, path: '/n/{{ payload.number }}'}\n"
    "        retry: later\n"
)
DELIVERIES = 20
"""In the database, and as many again in the journal."""
WORK_S = 4.0
FIX = ("restore a backup", "move it away")
PLAIN, JOURNAL = "router.db", "router.db-wal"


@dataclass
class Base:
    """The store before it is damaged: files by name, body digests by delivery, by number too."""

    files: dict[str, bytes]
    bodies: dict[str, str]
    numbers: dict[str, str]
    port: int
    open_jobs: int


@dataclass
class Tally:
    """How the trials came out; `seen` counts outcomes in words."""

    trials: int = 0
    calls: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        seen = ", ".join(f"{n} {what}" for what, n in self.seen.most_common())
        return f"{self.trials} trials: {seen}; {self.calls} calls; {len(self.problems)} problems"


def base(folder: Path) -> Base:
    """Fill a store, leave it with jobs that wait for a target that does not listen."""
    [port] = free_ports(1)
    life = Life(Rig(folder, RULES.replace("PORT", str(port)), environ()), size=1_500)
    for end in (RouterProcess.stop, RouterProcess.kill):
        with life.rig.router() as router:
            for _ in range(DELIVERIES):
                assert life.send().status == 200
            router.until(lambda: tried(life.rig.store) == 2 * life.number, "an attempt of each job")
            end(router)
    files = made_due(life.rig.store)
    numbers = {
        f"/n/{n}": ledger.digest(code().body(n, life.size)) for n in range(1, life.number + 1)
    }
    assert len(files[JOURNAL]) > 50_000
    return Base(files, life.acked, numbers, port, life.number)


def made_due(store: Path) -> dict[str, bytes]:
    """
    The store's files, with each next attempt now, so that a trial need not wait for it.

    They are read before the connection ends, which would empty the journal.
    """
    with closing(ledger.connect(store, mend=True)) as db:
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("UPDATE jobs SET due_at = created_at WHERE state < 2")
        db.commit()
        return {name: (store.parent / name).read_bytes() for name in (PLAIN, JOURNAL)}


def tried(store: Path) -> int:
    """How many jobs have an ended attempt."""
    with closing(ledger.connect(store)) as db:
        return int(db.execute("SELECT count(DISTINCT job) FROM attempts").fetchone()[0])


def trial(number: int, folder: Path, ground: Base, rng: random.Random, tally: Tally) -> None:
    name = rng.choice(sorted(ground.files))
    content = bytearray(ground.files[name])
    at = rng.randrange(len(content))
    content[at] ^= rng.randrange(1, 256)
    rig = Rig(folder, RULES.replace("PORT", str(ground.port)), environ())
    for each, whole in ground.files.items():
        (folder / each).write_bytes(content if each == name else whole)
    where = f"trial {number}, {name} byte {at}"
    with Sink(port=ground.port) as sink:
        outcome, found = lived(rig, ground, sink)
        found += wrong_calls(sink.received, ground)
        tally.calls += len(sink.received)
    tally.trials += 1
    tally.seen[outcome] += 1
    tally.problems += [f"{where}: {outcome}: {one}" for one in found]
    shutil.rmtree(folder)


def lived(rig: Rig, ground: Base, sink: Sink) -> tuple[str, list[str]]:
    """Start on it and let it work: how it came out, and what was wrong with that."""
    router = rig.router().launch()
    with_end = router.ended
    try:
        router.until(router.ready, "ready")
    except RouterDied:
        return "refused", refusal(router)
    except TookTooLong:
        router.kill()
        return "stuck", [router.output()[-800:]]
    done = wait_for(lambda: all_ended(rig.store) or not router.running, WORK_S)
    if not router.running:
        return "stopped while at work", refusal(router)
    router.stop()
    status = with_end(within=10)
    router.kill() if status is None else None
    found = unexpected(router.output())
    if not done:
        return "some jobs not ended", found + losses(rig.store, ground)
    return "clean", found + losses(rig.store, ground)


def refusal(router: RouterProcess) -> list[str]:
    """What is wrong with the way in which it would not go on."""
    assert router.process is not None
    output = router.output()
    found = unexpected(output)
    if router.process.returncode <= 0:
        found.append(f"ended with {router.process.returncode}")
    if not any(fix in output for fix in FIX):
        found.append(f"no fix is named: {output[-300:]}")
    return found


def unexpected(output: str) -> list[str]:
    marks = ("Traceback", "unexpected ")
    return [f"says {mark!r}: {output[-1500:]}" for mark in marks if mark in output]


def all_ended(store: Path) -> bool:
    try:
        with closing(ledger.connect(store)) as db:
            left = db.execute("SELECT count(*) FROM jobs WHERE state < 4").fetchone()[0]
            return int(left) == 0
    except sqlite3.DatabaseError:
        return False


def wrong_calls(received: list[Received], ground: Base) -> list[str]:
    """Calls with other bytes than the delivery of that number had, or than any had."""
    return [
        f"wrong dispatch: {call.path} with {call.body[:40]!r}"
        for call in received
        if ledger.digest(call.body) != ground.numbers.get(call.path)
        or ground.bodies.get(call.headers.get("router-delivery", "")) != ledger.digest(call.body)
    ]


def losses(store: Path, ground: Base) -> list[str]:
    """Deliveries that are gone although the router said nothing."""
    try:
        with closing(ledger.connect(store, mend=True)) as db:
            have = ledger.stored(db)
    except sqlite3.DatabaseError:
        return []  # damaged, and it will be said when that part is read
    gone = [i for i in ground.bodies if i not in have]
    return [f"{len(gone)} deliveries are silently gone"] if gone else []


def campaign(folder: Path, count: int, rng: random.Random) -> Tally:
    ground, tally = base(folder / "base"), Tally()
    for number in reported(range(count), "flips"):
        trial(number, folder / f"trial-{number}", ground, random.Random(rng.random()), tally)
    return tally


def main() -> int:
    counts = {"count": (500, "trials")}
    return by_count(__doc__, counts, lambda at, given, rng: campaign(at, given.count, rng))


if __name__ == "__main__":
    sys.exit(main())
