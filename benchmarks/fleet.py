"""
Routers on one PostgreSQL: one beside a router with SQLite, in turns, and four beside one.

What each part takes of the processors stands beside the rates: on a machine where generator,
routers and server share a few cores, that is what can be told of one where they do not.
"""

import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from benchmarks import pushes, takeover
from benchmarks.bench import CONNECTIONS, Bench, WrongFigures, agree, answered, child
from benchmarks.cost import Used, used
from benchmarks.database import Taken, counts, database, drain, taken
from benchmarks.figures import Row, absent, at_least, at_most
from benchmarks.rates import CALM, CALM_LEAST_S
from benchmarks.settled import settle
from benchmarks.wrk import Load, load
from tests.acceptance.process import Rig, RouterProcess
from tests.ledger import Counts
from tests.ledger import counts as in_file
from tests.postgres.server import Server

POSTGRES, SQLITE = "PostgreSQL", "SQLite"
RATIO, LATER_MS, SERVER_US = 0.8, 2.0, 130
NODES = 4
WARM_S = 1


def fleet(bench: Bench) -> Iterator[Row]:
    """One router on each store; four and one on PostgreSQL; takeovers, and wakes of others."""
    with database() as server:
        if server is None:
            yield absent("accept and run, PostgreSQL")
            return
        yield from one_router(bench, server)
    with database() as server:
        assert server is not None  # noqa: S101
        yield from four_routers(bench, server)
    yield from takeover.rows(bench)


class Side(NamedTuple):
    """A router, and the server on which it is, if it is on one."""

    rig: Rig
    router: RouterProcess
    server: Server | None

    def counts(self) -> Counts:
        return in_file(self.rig.store) if self.server is None else counts(self.server)

    def drain(self) -> float:
        """Wait until all its jobs have ended; when that was, in monotonic time."""
        if self.server is not None:
            return drain(self.server)
        self.router.until(lambda: self.counts().jobs == self.counts().succeeded, "all jobs")
        return time.monotonic()


class Round(NamedTuple):
    """A load of one or several routers, and what each part took, to the end of the last job."""

    loads: Sequence[Load]
    routers: Sequence[Used]
    server: Taken
    generators_s: float
    seconds: float

    @property
    def rate(self) -> float:
        return sum(one.rate for one in self.loads)

    @property
    def count(self) -> int:
        return answered(list(self.loads))


def one_router(bench: Bench, server: Server) -> Iterator[Row]:
    """The same loads on both stores."""
    rules = pushes.rules(20)
    shared = {**pushes.ENVIRON, "ROUTER_STORE": server.address()}
    rigs = {
        POSTGRES: bench.rig("fleet-postgresql", rules, environ=shared),
        SQLITE: bench.rig("fleet-sqlite", rules),
    }
    with ExitStack() as stack:
        sides = {
            name: Side(rig, stack.enter_context(rig.router()), server if name == POSTGRES else None)
            for name, rig in rigs.items()
        }
        warm = {name: loaded(bench, [side], WARM_S) for name, side in sides.items()}
        found: dict[str, list[Round]] = {name: [] for name in sides}
        for _ in range(bench.rounds):
            for name, side in sides.items():
                found[name].append(loaded(bench, [side], bench.seconds))
        calm: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
        for _ in range(bench.rounds):
            for name, side in sides.items():
                calm[name].append(paced(bench, side))
        for name, side in sides.items():
            rounds = [warm[name], *found[name]]
            count = total(rounds) + sum(one["answers"] for one in calm[name])
            slack = CONNECTIONS * len(rounds)
            bench.notes.append(agree(side.rig, side.router, count, slack=slack, counts=side.counts))
    yield from load_rows(found)
    yield from calm_rows(calm)


def load_rows(found: Mapping[str, Sequence[Round]]) -> Iterator[Row]:
    for name, rounds in found.items():
        cost = together([used for one in rounds for used in one.routers]).each(total(rounds))
        rate = round(median(one.rate for one in rounds))
        yield Row(f"accept and run, {name}", rate, "deliveries/s", cost=cost)
    ours, theirs = found[POSTGRES], found[SQLITE]
    pairs = list(zip(ours, theirs, strict=True))
    accepted = median(a.rate / b.rate for a, b in pairs)
    ended = median(a.count / a.seconds / (b.count / b.seconds) for a, b in pairs)
    yield at_least("ratio, PostgreSQL to SQLite, accepted", accepted, "x", RATIO)
    yield Row("ratio, PostgreSQL to SQLite, all jobs ended", ended, "x")
    yield server_row("one router", ours)
    wal = sum(one.server.wal_bytes for one in ours) / total(ours)
    yield Row("WAL of a delivery, 2 kB, all records", round(wal), "bytes/delivery")


def calm_rows(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Row]:
    """Medians of the rounds."""
    ms = {
        (name, share): median(one[f"{share}_ms"] for one in rounds)
        for name, rounds in found.items()
        for share in ("p50", "p99")
    }
    for (name, share), late in ms.items():
        yield Row(f"ack at {CALM}/s, {name}, {share}", late, "ms")
    later = ms[POSTGRES, "p99"] - ms[SQLITE, "p99"]
    yield at_most("PostgreSQL to SQLite, p99 is later by", later, "ms", LATER_MS)


def four_routers(bench: Bench, server: Server) -> Iterator[Row]:
    """One of four that share a database loaded alone, and all of them, in turns."""
    shared = {**pushes.ENVIRON, "ROUTER_STORE": server.address()}
    names = [f"fleet-{number}" for number in range(NODES)]
    rigs = [bench.rig(name, pushes.rules(20), environ=shared) for name in names]
    with ExitStack() as stack:
        sides = [Side(rig, stack.enter_context(rig.router()), server) for rig in rigs]
        rounds = [loaded(bench, sides, WARM_S)]
        alone, all_of_them = list[Round](), list[Round]()
        for _ in range(bench.rounds):
            alone.append(loaded(bench, sides[:1], bench.seconds))
            all_of_them.append(loaded(bench, sides, bench.seconds))
        rounds += alone + all_of_them
        count, slack = total(rounds), NODES * CONNECTIONS * len(rounds)
        by_server = partial(counts, server)
        note = agree(rigs[0], sides[0].router, count, slack=slack, counts=by_server)
        bench.notes.append(f"{NODES} routers, {note}")
    for name, found in (("one of four routers", alone), ("four routers", all_of_them)):
        cost = together([used for one in found for used in one.routers]).each(total(found))
        rate = round(median(one.rate for one in found))
        yield Row(f"accept and run, {name}", rate, "deliveries/s", cost=cost)
    ratios = [a.rate / b.rate for a, b in zip(all_of_them, alone, strict=True)]
    yield Row("ratio, four routers to one, on the same cores", median(ratios), "x")
    yield server_row("four routers", all_of_them)
    generators = sum(one.generators_s for one in all_of_them) / total(all_of_them)
    yield Row("of a delivery, the generators', four routers", generators * 1e6, "us/delivery")


def loaded(bench: Bench, sides: Sequence[Side], seconds: int) -> Round:
    """Each of these routers at full load, all at once."""
    if not settle(4.0 * bench.seconds):
        bench.notes.append("fleet: the machine was busy before a round")
    server = sides[0].server
    before = [used(side.router) for side in sides], Taken(0.0, 0) if not server else taken(server)
    spent, began = generators_s(), time.monotonic()
    with ThreadPoolExecutor(len(sides)) as pool:
        loads = list(pool.map(lambda side: load_of(bench, side, seconds), sides))
    spent = generators_s() - spent
    took = sides[0].drain() - began
    after = Taken(0.0, 0) if not server else taken(server)
    routers = [used(side.router).since(old) for side, old in zip(sides, before[0], strict=True)]
    return Round(loads, routers, after.since(before[1]), spent, took)


def load_of(bench: Bench, side: Side, seconds: int) -> Load:
    request = pushes.write_request(side.rig.listen, side.rig.folder / "push.http")
    plan = {"number": bench.number(), "seconds": seconds, "connections": CONNECTIONS}
    return load(side.rig.listen, request, **plan)


def generators_s() -> float:
    """What the programs that have sent took of the processors so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def paced(bench: Bench, side: Side) -> dict[str, Any]:
    """Acknowledgements at a calm pace (open loop)."""
    request = pushes.write_request(side.rig.listen, side.rig.folder / "push.http")
    count = CALM * max(CALM_LEAST_S, bench.seconds)
    settle(4.0 * bench.seconds)
    found = child("benchmarks.pace", side.rig.listen, request, CALM, count, bench.number())
    if found["not_200"] or found["answers"] != count:
        raise WrongFigures(f"at {CALM}/s: {found}")
    return found


def together(taken: Sequence[Used]) -> Used:
    """What several took."""
    commits = [one.commits for one in taken if one.commits is not None]
    return Used(
        sum(one.user_s for one in taken),
        sum(one.system_s for one in taken),
        sum(one.switches for one in taken),
        sum(commits) if len(commits) == len(taken) else None,
    )


def total(rounds: Sequence[Round]) -> int:
    return sum(one.count for one in rounds)


def server_row(what: str, rounds: Sequence[Round]) -> Row:
    spent = sum(one.server.processor_s for one in rounds) / total(rounds) * 1e6
    return at_most(f"of a delivery, the server's, {what}", spent, "us/delivery", SERVER_US)
