"""
The measurements. Each takes a `Bench` and returns rows; ratios are of interleaved rounds.

After every row that uses the router its ledger is asked whether the figures are true: what was
answered 200 is stored, and each stored delivery's job succeeded.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import msgspec

from benchmarks import backlog, peers, pushes
from benchmarks.wrk import Load, load
from tests import ledger
from tests.acceptance.process import ROOT, Rig, RouterProcess, free_ports

CONNECTIONS = 32
SETTLE_S = 60.0


class Row(msgspec.Struct, frozen=True):
    """One line of the table. `goal` is in words; `met` is None where there is none to meet."""

    name: str
    figure: float
    unit: str
    goal: str = ""
    met: bool | None = None


class WrongFigures(Exception):
    """The ledger contradicts what the load generator counted: no figure is worth showing."""


@dataclass
class Bench:
    """Where a run keeps its files, and how long and how often it measures."""

    folder: Path
    seconds: int = 5
    rounds: int = 3
    numbers: int = 0
    notes: list[str] = field(default_factory=list)

    def number(self) -> int:
        """A number that no other load of this run has: it keeps delivery ids apart."""
        self.numbers += 1
        return self.numbers

    def rig(self, name: str, rules: str, server: str = "") -> Rig:
        return Rig(self.folder / name, rules, pushes.ENVIRON, server)


def throughput(bench: Bench) -> list[Row]:
    """Durable accept and run, beside an echo and beside adnanh/webhook, round by round."""
    rig = bench.rig("throughput", pushes.rules(20))
    rates: dict[str, list[Load]] = {"router": [], "echo": [], "hook": [], "hook waiting": []}
    with ExitStack() as stack:
        router = stack.enter_context(rig.router())
        ports = {
            "router": (rig.listen, pushes.PATH),
            "echo": (stack.enter_context(peers.echo(bench.folder)), pushes.PATH),
        }
        for name, waiting in (("hook", False), ("hook waiting", True)):
            port = stack.enter_context(peers.hook(bench.folder, waiting=waiting))
            ports[name] = (port, peers.HOOK_PATH)
        for _ in range(bench.rounds):
            for name, (port, path) in ports.items():
                request = pushes.write_request(port, bench.folder / f"{port}.http", path)
                number = bench.number()
                found = load(
                    port, request, number=number, seconds=bench.seconds, connections=CONNECTIONS
                )
                rates[name].append(found)
        unread = CONNECTIONS * bench.rounds  # wrk hangs up on these at the end of each round
        bench.notes.append(agree(rig, router, answered(rates["router"]), slack=unread))
    return [*plain_rows(rates), *ratio_rows(rates)]


def answered(loads: list[Load]) -> int:
    """How many got their 200."""
    if any(one.not_2xx or one.broken for one in loads):
        raise WrongFigures(f"the router refused or broke requests: {loads}")
    return sum(one.answers for one in loads)


def plain_rows(rates: dict[str, list[Load]]) -> list[Row]:
    names = {
        "router": "durable accept and run",
        "echo": "bare Litestar echo",
        "hook": "adnanh/webhook, not waiting",
        "hook waiting": "adnanh/webhook, waiting",
    }
    rows = [
        Row(names[key], round(median(r.rate for r in loads)), "deliveries/s")
        for key, loads in rates.items()
    ]
    latency = median(r.p99_ms for r in rates["router"])
    return [*rows, Row("durable accept and run, p99 at full load", latency, "ms")]


def ratio_rows(rates: dict[str, list[Load]]) -> list[Row]:
    """Medians of the rounds' own ratios."""
    rows = []
    for other, goal in (("echo", 0.3), ("hook", 1.4), ("hook waiting", 4.0)):
        pairs = zip(rates["router"], rates[other], strict=True)
        ratio = round(median(a.rate / b.rate for a, b in pairs), 2)
        rows.append(Row(f"ratio to {other}", ratio, "x", f">= {goal}", ratio >= goal))
    return rows


def agree(rig: Rig, router: RouterProcess, count: int, *, slack: int = 0) -> str:
    """
    Compare the ledger with `count` answers of 200, once all jobs have ended.

    `slack` is how many requests may have been stored whose answer the generator did not wait for.

    Raises:
        WrongFigures: they differ.
    """

    def ended() -> bool:
        now = ledger.counts(rig.store)
        return now.jobs == now.succeeded

    router.until(ended, "all jobs to succeed", seconds=SETTLE_S)
    found = ledger.counts(rig.store)
    exact = found.deliveries == found.jobs == found.succeeded == found.attempts
    if not exact or not count <= found.deliveries <= count + slack:
        raise WrongFigures(f"{count} answers of 200, but the ledger has {found}")
    return f"{rig.folder.name}: {count} answers of 200; ledger: {found}"


def child(module: str, *arguments: object) -> dict[str, float]:
    """Run a generator in its own process; the JSON it prints."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def latency(bench: Bench) -> list[Row]:
    """Acks at a fixed 1,000 a second, whatever the answers take."""
    rig = bench.rig("latency", pushes.rules(20))
    request = pushes.write_request(rig.listen, rig.folder / "push.http")
    with rig.router() as router:
        warm = child("benchmarks.pace", rig.listen, request, 500, 500, bench.number())
        count = 1000 * max(bench.seconds, 2)
        found = child("benchmarks.pace", rig.listen, request, 1000, count, bench.number())
        if found["not_200"] or found["answers"] != count:
            raise WrongFigures(f"at 1,000/s: {found}")
        bench.notes.append(agree(rig, router, count + int(warm["answers"])))
    return [
        Row("ack at 1,000/s, p50", found["p50_ms"], "ms", "<= 2", found["p50_ms"] <= 2),
        Row("ack at 1,000/s, p99", found["p99_ms"], "ms", "<= 10", found["p99_ms"] <= 10),
        Row("ack at 1,000/s, p99.9", found["p999_ms"], "ms"),
    ]


def idle(bench: Bench) -> list[Row]:
    """One delivery at a time: from its first byte to the call of the rule's target."""
    (port,) = free_ports(1)
    action = f"http: {{url: 'http://127.0.0.1:{port}/in'}}"
    rig = bench.rig("idle", pushes.rules(20, action=action))
    request = pushes.write_request(rig.listen, rig.folder / "push.http")
    with rig.router() as router:
        found = child("benchmarks.idle", rig.listen, request, port, 200, bench.number())
        bench.notes.append(agree(rig, router, int(found["deliveries"])))
    p50 = found["p50_ms"]
    return [
        Row("first byte in to action, idle, p50", p50, "ms", "<= 5", p50 <= 5),
        Row("first byte in to action, idle, p99", found["p99_ms"], "ms"),
    ]


def dispatch(bench: Bench) -> list[Row]:
    """HTTP jobs that wait in the ledger, called at concurrency 64, each attempt recorded."""
    with peers.sink(bench.folder) as port:
        target = f"targets: {{sink: {{url: 'http://127.0.0.1:{port}', concurrency: 64}}}}\n"
        rules = pushes.rules(1, action="http: {target: sink, path: /in}")
        rig = bench.rig("dispatch", target + rules)
        count = backlog.jobs(bench.seconds)
        asyncio.run(backlog.seed(rig, count))
        with rig.router() as router:
            bench.notes.append(agree(rig, router, count))
    rate = round(count / ledger.working_seconds(rig.store))
    return [Row("HTTP dispatch from backlog", rate, "jobs/s", ">= 6000", rate >= 6000)]


ROWS: dict[str, Callable[[Bench], list[Row]]] = {
    "throughput": throughput,
    "latency": latency,
    "idle": idle,
    "dispatch": dispatch,
}
