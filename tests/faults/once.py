"""
Without a fault each job runs exactly once: as many as you like, counted on both sides.

    python -m tests.faults.once --count 1000000      some minutes, 4 GiB of disk

Four of five jobs wait in the ledger when the router starts; the fifth comes meanwhile through the
listener, as fast as four senders have their answers, so that leased and handed-over jobs run side
by side. Each is a call of one target, a process of its own, which writes down the call's
idempotency key. In the end the keys written down must be the ids of the ledger's jobs, each once;
and each job must have succeeded with one attempt that is recorded.
"""

import argparse
import asyncio
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import backlog, peers, pushes, seed
from benchmarks.pace import connect, read_answer
from tests import ledger
from tests.acceptance.process import Rig, RouterDied, RouterProcess, TookTooLong, free_ports
from tests.faults.telling import reported, say, verdict
from tests.ledger import OUTCOME, STATE

ACTION = "http: {target: sink, path: /in}"
COMING = 0.2
SENDERS = 4
STALLED_S = 30.0
LOOK_S = 0.02
ODD = """
    SELECT j.id, j.state, j.attempt, count(a.number) FROM jobs j
    LEFT JOIN attempts a ON a.job = j.n AND a.outcome = ?
    GROUP BY j.n HAVING j.state != ? OR j.attempt != 1 OR count(a.number) != 1
"""
ATTEMPTS = "SELECT count(*) FROM attempts"


@dataclass
class Outcome:
    """What was seen: calls at the target, jobs and attempts in the ledger."""

    waiting: int
    coming: int
    calls: int = 0
    jobs: int = 0
    attempts: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.waiting} jobs waited, {self.coming} came: {self.calls} calls at the target; "
            f"ledger: {self.jobs} jobs, {self.attempts} attempts; {self.jobs / self.seconds:,.0f} "
            f"jobs a second; {len(self.problems)} problems"
        )


@contextmanager
def target(folder: Path) -> Iterator[tuple[int, Path]]:
    """The port of a target, and where it writes each call's key."""
    (port,) = free_ports(1)
    keys = folder / "keys"
    command = [sys.executable, "-m", "benchmarks.sink", str(port), str(keys)]
    with peers.running(command, port, log=folder / "sink.log"):
        yield port, keys


def a_rig(folder: Path, port: int, waiting: int) -> Rig:
    text = f"targets: {{sink: {{url: 'http://127.0.0.1:{port}', concurrency: 64}}}}\n"
    rig = Rig(folder / "router", text + pushes.rules(20, action=ACTION), pushes.ENVIRON)
    if waiting >= seed.MILLION // 10:
        seed.jobs(rig.store, waiting)
    else:
        asyncio.run(backlog.seed(rig, waiting))
    return rig


def run(folder: Path, count: int) -> Outcome:
    """All of it."""
    coming = int(count * COMING)
    found = Outcome(count - coming, coming)
    with target(folder) as (port, keys):
        rig = a_rig(folder, port, found.waiting)
        with rig.router() as router:
            began = time.monotonic()
            try:
                with sending(rig, coming):
                    worked_off(router, port, count)
                if router.stop() != 0:
                    found.problems.append("the router did not end well")
            except (OSError, RouterDied, TookTooLong) as error:
                found.problems.append(str(error))
            found.seconds = time.monotonic() - began
        found.problems += compared(rig.store, keys, count, found)
    return found


@contextmanager
def sending(rig: Rig, count: int) -> Iterator[None]:
    """
    So many deliveries while the block runs.

    Raises:
        OSError: one of them was not taken.
    """
    head, tail = pushes.request(rig.listen).split(pushes.SLOT, 1)

    def request(turn: int) -> bytes:
        return head + b"%08x-0000-4000-8000-%012x" % (1, turn) + tail

    left = map(request, range(count))  # each next() is for one thread
    with ThreadPoolExecutor(SENDERS) as pool:
        senders = [pool.submit(send, connect(rig.listen), left) for _ in range(SENDERS)]
        yield
        for one in senders:
            one.result()


def send(link: socket.socket, requests: Iterator[bytes]) -> None:
    """What is left, one after another."""
    with link:
        for request in requests:
            link.sendall(request)
            answer = read_answer(link)
            if not answer.startswith(b"HTTP/1.1 200") or b"accepted" not in answer:
                raise OSError(f"a delivery was answered {answer[:200]!r}")


def worked_off(router: RouterProcess, port: int, count: int) -> None:
    """Wait for the calls, one part in a hundred after the other; then for their records."""
    for part in reported(range(1, 101), "calls, hundredths"):
        upto = count * part // 100
        router.until(
            lambda upto=upto: calls(port) >= upto,  # type: ignore[misc]
            f"{upto} calls",
            seconds=STALLED_S + count / 10_000,
        )


def calls(port: int) -> int:
    time.sleep(LOOK_S)  # the target has better things to do than to be asked
    return peers.calls(port)


def compared(store: Path, place: Path, count: int, found: Outcome) -> list[str]:
    """Where the target's book and the ledger differ, or either is not what it should be."""
    keys = Counter(place.read_text("ascii").splitlines())
    with closing(ledger.connect(store, mend=True)) as db:
        ids = {name for (name,) in db.execute("SELECT id FROM jobs")}
        odd = db.execute(ODD, (OUTCOME["succeeded"], STATE["succeeded"])).fetchall()
        (found.attempts,) = db.execute(ATTEMPTS).fetchone()
    found.calls, found.jobs = keys.total(), len(ids)
    return [
        *([] if len(ids) == count else [f"{count} jobs expected, the ledger has {len(ids)}"]),
        *([] if found.attempts == len(ids) else [f"{found.attempts} attempts of {len(ids)} jobs"]),
        *(f"{key} was called {times} times" for key, times in keys.items() if times != 1),
        *(f"{key} was called and is no job" for key in keys.keys() - ids),
        *(f"{name} was never called" for name in ids - keys.keys()),
        *(f"{i}: state {s}, attempt {n}, {a} recorded" for i, s, n, a in odd),
    ]


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_000_000, help="jobs, 100 at least (1000000)")
    options = parser.parse_args(given)
    if options.count < 100:
        parser.error("--count begins at 100")
    say("seed 0 (nothing here is drawn)")
    with tempfile.TemporaryDirectory() as name:
        found = run(Path(name), options.count)
    return verdict(found.problems, str(found))


if __name__ == "__main__":
    sys.exit(main())
