"""
The short measurements. Each takes a `Bench` and returns rows; ratios are of interleaved rounds.
"""

import asyncio
from contextlib import ExitStack
from statistics import median

from benchmarks import backlog, peers, pushes
from benchmarks.bench import (
    CONNECTIONS,
    Bench,
    Row,
    WrongFigures,
    agree,
    answered,
    at_least,
    at_most,
    child,
)
from benchmarks.settled import settle
from benchmarks.wrk import Load, load
from tests import ledger
from tests.acceptance.process import free_ports


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
                if not settle():
                    bench.notes.append(f"throughput: the machine was busy before a round of {name}")
                found = load(
                    port, request, number=number, seconds=bench.seconds, connections=CONNECTIONS
                )
                rates[name].append(found)
        unread = CONNECTIONS * bench.rounds  # wrk hangs up on these at the end of each round
        bench.notes.append(agree(rig, router, answered(rates["router"]), slack=unread))
    return [*plain_rows(rates), *ratio_rows(rates)]


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
        ratio = median(a.rate / b.rate for a, b in pairs)
        rows.append(at_least(f"ratio to {other}", ratio, "x", goal))
    return rows


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
        at_most("ack at 1,000/s, p50", found["p50_ms"], "ms", 2),
        at_most("ack at 1,000/s, p99", found["p99_ms"], "ms", 10),
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
    return [
        at_most("first byte in to action, idle, p50", found["p50_ms"], "ms", 5),
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
            note = agree(rig, router, count)
        if (calls := peers.calls(port)) != count:
            raise WrongFigures(f"{note}, but the target was called {calls} times")
        bench.notes.append(f"{note}; the target was called {calls} times")
    rate = round(count / ledger.working_seconds(rig.store))
    return [at_least("HTTP dispatch from backlog", rate, "jobs/s", 6000)]


def shell(bench: Bench) -> list[Row]:
    """Shell jobs that wait in the ledger, all of one rule: a process each, /bin/true."""
    rules = pushes.rules(1, action="shell: {argv: [/bin/true], stdin: none}")
    rig = bench.rig("shell", rules)
    count = backlog.jobs(bench.seconds) // 4
    asyncio.run(backlog.seed(rig, count, kind="shell", target="main/shell"))
    with rig.router() as router:
        bench.notes.append(agree(rig, router, count))
    rate = round(count / ledger.working_seconds(rig.store))
    return [at_least("shell from backlog, /bin/true", rate, "jobs/s", 500)]
