"""
The router at full load beside bare servers, and one delivery at a time on an idle machine.

Each takes a `Bench` and returns rows; ratios are of interleaved rounds.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from statistics import median

from benchmarks import peers, pushes
from benchmarks.bench import CONNECTIONS, Bench, agree, answered, child
from benchmarks.cost import NOT_COUNTED, traced, used
from benchmarks.figures import Cost, Row, absent, at_least, at_most
from benchmarks.settled import settle
from benchmarks.wrk import Load, load
from tests import ledger
from tests.acceptance.process import Rig, RouterProcess, free_ports

TRACED_S = 1
CROWDED = "one core busy"
SPIN = "while True: pass"
NAMES = {
    "router": "durable accept and run",
    "echo": "bare Litestar echo",
    "hook": "adnanh/webhook, not waiting",
    "hook waiting": "adnanh/webhook, waiting",
}
GOALS = {"echo": 0.3, "hook": 1.4, "hook waiting": 4.0}


def throughput(bench: Bench) -> list[Row]:
    """Durable accept and run, beside an echo and beside adnanh/webhook, round by round."""
    rig = bench.rig("throughput", pushes.rules(20))
    with ExitStack() as stack:
        router = stack.enter_context(rig.router())
        places = {
            "router": (rig.listen, pushes.PATH),
            "echo": (stack.enter_context(peers.echo(bench.folder)), pushes.PATH),
        }
        for name, waiting in (("hook", False), ("hook waiting", True)):
            if peers.program(peers.HOOK) is not None:
                port = stack.enter_context(peers.hook(bench.folder, waiting=waiting))
                places[name] = (port, peers.HOOK_PATH)
        warm = warmed(bench, rig, router)
        before = used(router)
        loads = in_turn(bench, places, "throughput")
        unread = CONNECTIONS * bench.rounds  # wrk hangs up on these at the end of each round
        count = answered(loads["router"])
        bench.notes.append(agree(rig, router, warm + count, slack=unread))
        taken = used(router).since(before)
        count = ledger.counts(rig.store).deliveries - warm
        crowded = beside_a_busy_process(bench, rig, router, places)
        cost = taken.each(count, calls_each(bench, rig, router))
    return [
        *plain_rows(loads, cost),
        *costs(rig, cost),
        *ratio_rows(loads),
        *crowded_rows(crowded),
    ]


def beside_a_busy_process(
    bench: Bench, rig: Rig, router: RouterProcess, places: dict[str, tuple[int, str]]
) -> dict[str, list[Load]]:
    """The same loads while another process wants a core, without the one that is slow anyway."""
    before = ledger.counts(rig.store).deliveries
    kept = {name: place for name, place in places.items() if name != "hook waiting"}
    loads = in_turn(bench, kept, CROWDED, busy=True)
    unread = CONNECTIONS * bench.rounds  # wrk hangs up on these at the end of each round
    count = before + answered(loads["router"])
    bench.notes.append(f"{CROWDED}: {agree(rig, router, count, slack=unread)}")
    return loads


def crowded_rows(loads: dict[str, list[Load]]) -> list[Row]:
    """Without goals: how the system shares its cores is not ours to say."""
    rate = round(median(one.rate for one in loads["router"]))
    ratios = (
        Row(f"ratio to {NAMES[other]}, {CROWDED}", ratio(loads["router"], loads[other]), "x")
        for other in GOALS
        if other in loads
    )
    return [Row(f"durable accept and run, {CROWDED}", rate, "deliveries/s"), *ratios]


def in_turn(
    bench: Bench, places: dict[str, tuple[int, str]], what: str, *, busy: bool = False
) -> dict[str, list[Load]]:
    """
    Load each server's port and path with signed pushes, round by round, on an idle machine.

    `busy`: beside a process that wants a core all the time.
    """
    loads: dict[str, list[Load]] = {name: [] for name in places}
    for _ in range(bench.rounds):
        for name, (port, path) in places.items():
            request = pushes.write_request(port, bench.folder / f"{port}.http", path)
            number = bench.number()
            if not settle(4.0 * bench.seconds):
                bench.notes.append(f"{what}: the machine was busy before a round of {name}")
            plan = {"number": number, "seconds": bench.seconds, "connections": CONNECTIONS}
            with spinning() if busy else nullcontext():
                loads[name].append(load(port, request, **plan))
    return loads


@contextmanager
def spinning() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that wants a core until the block ends."""
    with subprocess.Popen([sys.executable, "-c", SPIN]) as process:
        try:
            yield process
        finally:
            process.kill()


def warmed(bench: Bench, rig: Rig, router: RouterProcess) -> int:
    """How many deliveries it has, its first ones, with what is made only once."""
    request = pushes.write_request(rig.listen, rig.folder / "warm.http")
    number = bench.number()
    found = load(rig.listen, request, number=number, seconds=1, connections=CONNECTIONS)
    agree(rig, router, answered([found]), slack=CONNECTIONS)
    return ledger.counts(rig.store).deliveries


def calls_each(bench: Bench, rig: Rig, router: RouterProcess) -> float | None:
    """System calls of a delivery, in a round that is not timed; None: they cannot be counted."""
    before = ledger.counts(rig.store).deliveries
    request = pushes.write_request(rig.listen, rig.folder / "traced.http")
    with traced(router, rig.folder / "calls.txt") as calls:
        found = load(
            rig.listen, request, number=bench.number(), seconds=TRACED_S, connections=CONNECTIONS
        )
        note = agree(rig, router, before + answered([found]), slack=CONNECTIONS)
    if calls.count is None:
        bench.notes.append(NOT_COUNTED)
        return None
    bench.notes.append(f"traced: {note}")
    return calls.count / (ledger.counts(rig.store).deliveries - before)


def costs(rig: Rig, cost: Cost) -> list[Row]:
    """What one delivery took, its action and its records with it."""
    count = ledger.counts(rig.store).deliveries
    held = sum(one.stat().st_size for one in rig.folder.glob("router.db*"))
    return [
        Row("processor time of one delivery", cost.processor_us, "us/delivery"),
        Row("disk of one delivery, 2 kB, all records", round(held / count), "bytes/delivery"),
    ]


def plain_rows(loads: dict[str, list[Load]], cost: Cost | None = None) -> list[Row]:
    rows = []
    for key, name in NAMES.items():
        if key not in loads:
            rows.append(absent(name))
            continue
        rate = round(median(r.rate for r in loads[key]))
        ours = key == "router"
        rows.append(Row(name, rate, "deliveries/s", ours=ours, cost=cost if ours else None))
    p99 = median(r.p99_ms for r in loads["router"])
    return [*rows, Row("durable accept and run, p99 at full load", p99, "ms")]


def ratio_rows(loads: dict[str, list[Load]]) -> list[Row]:
    """Medians of the rounds' own ratios."""
    return [
        at_least(f"ratio to {NAMES[other]}", ratio(loads["router"], loads[other]), "x", goal)
        if other in loads
        else absent(f"ratio to {NAMES[other]}")
        for other, goal in GOALS.items()
    ]


def ratio(ours: list[Load], theirs: list[Load]) -> float:
    """The median of the rounds' own ratios."""
    return median(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))


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
        at_most("first byte in to action, idle, p50", found["p50_ms"], "ms", 1),
        Row("first byte in to action, idle, p99", found["p99_ms"], "ms"),
    ]
