"""
A disk that is slow, one that hangs, a store that others hold.

    python -m tests.faults.slow                all of it, about a minute
    python -m tests.faults.slow stuck reader   some of it

    slow      each sync takes 200 ms: every delivery is taken, many share a sync
    late      each sync takes 4 s: 503 with Retry-After at the deadline, and no copy is made later
    stuck     a sync does not return for a minute: 503 at the deadline, /readyz says no within 3 s,
              /livez goes on answering; when it returns, so does everything
    locked    another process holds the write lock for ten seconds: 200 or 503, then as before
    reader    another process reads for long while 150 MiB come in: the router says so
"""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.acceptance.process import RouterDied, RouterProcess, TookTooLong
from tests.faults.life import WRITER, Answer, Life, a_life, attached, threads, wait_for
from tests.faults.telling import by_parts, reported

AT_ONCE = 20
DEADLINE_S = 2.5
READY_S = 3.0
LIVE_S = 0.5
LOCKED_S = 10.0
RECOVERY_S = 5.0
LARGE, LARGE_COUNT = 4_900_000, 32
HOLD = (
    "import sqlite3, sys, time\n"
    "db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=9)\n"
    "db.execute(sys.argv[2])\n"
    "db.execute('SELECT count(*) FROM jobs').fetchone()\n"
    "print('held', flush=True)\n"
    "time.sleep(float(sys.argv[3]))\n"
)


@contextmanager
def syncs_take(router: RouterProcess, seconds: float) -> Iterator[None]:
    inject = f"inject=fdatasync:delay_enter={int(seconds * 1e6)}"
    with attached(threads(router)[WRITER], "-e", "trace=fdatasync", "-e", inject):
        yield


@contextmanager
def held(store: Path, statement: str, seconds: float) -> Iterator[None]:
    """Another process with a transaction of its own."""
    command = [sys.executable, "-c", HOLD, str(store), statement, str(seconds)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
    finally:
        holder.kill()
        holder.communicate()


def probe(router: RouterProcess, path: str, patience: float) -> tuple[int, float]:
    """The status of a page of the admin listener, 0 for none in time, and how long it took."""
    began = time.monotonic()
    request = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode()
    try:
        with socket.create_connection(("127.0.0.1", router.admin), timeout=patience) as link:
            link.sendall(request)
            head = link.recv(64)
    except OSError:
        head = b""
    return int(head.split(b" ")[1]) if head else 0, time.monotonic() - began


def many(life: Life) -> list[Answer]:
    """Deliveries at once."""
    first = life.number + 1
    life.number += AT_ONCE
    with ThreadPoolExecutor(AT_ONCE) as senders:
        return list(senders.map(life.send, range(first, life.number + 1)))


def slow(life: Life, router: RouterProcess) -> str:
    began = time.monotonic()
    with syncs_take(router, 0.2):
        answers = many(life)
        took = time.monotonic() - began
    if [a.status for a in answers] != [200] * AT_ONCE:
        life.problems.append(f"slow: {[a.status for a in answers]}")
    if took > AT_ONCE * 0.2:
        life.problems.append(f"slow: {took:.1f} s: each waited for a sync of its own")
    return f"{AT_ONCE} at once in {took:.2f} s"


def late(life: Life, router: RouterProcess) -> str:
    with syncs_take(router, 4.0):
        answer = life.send()
        wait_for(lambda: False, 4.0 - answer.seconds)
    life.problems += [f"late: {p}" for p in refused(answer)]
    return f"503 after {answer.seconds:.2f} s"


def refused(answer: Answer) -> list[str]:
    """How an answer is not the 503 that is due at the deadline."""
    found = [] if answer.status == 503 else [f"answered {answer.status}"]
    found += [] if answer.retry_after else ["no Retry-After"]
    return found + ([] if answer.seconds < DEADLINE_S + 1 else [f"after {answer.seconds:.1f} s"])


def stuck(life: Life, router: RouterProcess) -> str:
    with syncs_take(router, 60.0), ThreadPoolExecutor(1) as sender:
        asked = sender.submit(life.send)
        time.sleep(0.2)
        ready, took = probe(router, "/readyz", READY_S)
        if ready in (0, 200):
            life.problems.append(f"stuck: /readyz says {ready or 'nothing'} after {took:.1f} s")
        alive = [probe(router, "/livez", LIVE_S) for _ in range(20)]
        if any(status != 200 for status, _ in alive):
            life.problems.append(f"stuck: /livez says {[s for s, _ in alive]}")
        answer = asked.result()
    life.problems += [f"stuck: {p}" for p in refused(answer)]
    began = time.monotonic()
    if not wait_for(lambda: life.send().status == 200, RECOVERY_S):
        life.problems.append("stuck: takes nothing although the disk is back")
    return (
        f"503 after {answer.seconds:.2f} s, /readyz {ready} after {took:.2f} s, slowest /livez "
        f"{max(s for _, s in alive) * 1000:.0f} ms, back after {time.monotonic() - began:.2f} s"
    )


def locked(life: Life, router: RouterProcess) -> str:
    answers: list[Answer] = []
    with held(life.rig.store, "BEGIN IMMEDIATE", LOCKED_S):
        until = time.monotonic() + LOCKED_S
        while time.monotonic() < until:
            answers.append(life.send())
    slowest = max(a.seconds for a in answers)
    odd = [
        a for a in answers if a.status not in (200, 503) or (a.status == 503 and not a.retry_after)
    ]
    life.problems += [f"locked: {a}" for a in odd]
    if slowest > DEADLINE_S + 1:
        life.problems.append(f"locked: answered after {slowest:.1f} s")
    began = time.monotonic()
    if not wait_for(lambda: life.send().status == 200, RECOVERY_S):
        life.problems.append("locked: takes nothing although the lock is free")
    refusals = sum(a.status == 503 for a in answers)
    return (
        f"{refusals} of {len(answers)} got 503, the slowest after {slowest:.2f} s; "
        f"back after {time.monotonic() - began:.2f} s"
    )


def reader(life: Life, router: RouterProcess) -> str:
    small, life.size = life.size, LARGE
    with held(life.rig.store, "BEGIN", 120):
        for number in range(LARGE_COUNT):
            if life.send().status != 200:
                life.problems.append(f"reader: delivery {number} was not taken")
        life.size = small
        journal = Path(f"{life.rig.store}-wal").stat().st_size
        said = wait_for(lambda: "the journal grows" in router.output(), 15.0)
        if not said:
            life.problems.append(f"reader: nothing is said of {journal >> 20} MiB of journal")
    life.acked.clear()  # their bodies were of two sizes: only the ledger's own soundness is seen
    emptied = wait_for(lambda: life.send().status == 200 and emptier(life, journal), 15.0)
    if not emptied:
        life.problems.append("reader: the journal is not used anew although the reader is gone")
    life.acked.clear()
    return f"the journal came to {journal >> 20} MiB, {'and it was said' if said else 'unsaid'}"


def emptier(life: Life, before: int) -> bool:
    return Path(f"{life.rig.store}-wal").stat().st_size <= before


PARTS: dict[str, Callable[[Life, RouterProcess], str]] = {
    "slow": slow,
    "late": late,
    "stuck": stuck,
    "locked": locked,
    "reader": reader,
}


def campaign(folder: Path, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Each on a store of its own; problems, and a line for each."""
    problems, lines = [], []
    for name in reported(names, "parts"):
        with a_life(folder / name) as life, life.rig.router() as router:
            try:
                life.send()
                life.finish(router, "before")
                lines.append(f"{name}: {PARTS[name](life, router)}")
                life.settle(router, name)
            except (RouterDied, TookTooLong) as error:
                life.problems.append(f"{name}: {error}")
            problems += life.problems
    return problems, lines


def main() -> int:
    return by_parts(__doc__, list(PARTS), campaign)


if __name__ == "__main__":
    sys.exit(main())
