"""
Where the time of a delivery and of a job goes, stage by stage: the loop's thread and the writer's.

Totals are the threads' own clocks while nobody watches; rounds in which one of the two is watched
say which share of it each stage has. By name only: its figures are for who works on the router.
"""

import json
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks import backlog, peers, pushes, sampled, stages
from benchmarks.bench import CONNECTIONS, Bench, agree, answered
from benchmarks.dispatching import rules
from benchmarks.figures import Row
from benchmarks.settled import settle
from benchmarks.wrk import load
from tests import ledger
from tests.acceptance.process import ROOT, Rig, RouterProcess

WHATS = ("clocks", "loop", "writer")
THREADS = {sampled.LOOP: ("loop", stages.LOOP), sampled.WRITER: ("writer", stages.WRITER)}
WARM_S = 1
CALM_S = 3.0

Stacks = dict[str, dict[str, float]]


class Told(NamedTuple):
    """What a watched router says: the seconds of each thread, and of each stack of functions."""

    clocks: dict[str, float]
    stacks: Stacks

    def since(self, before: "Told") -> "Told":
        clocks = {n: s - before.clocks.get(n, 0.0) for n, s in self.clocks.items()}
        stacks = {
            thread: {stack: spent - before.stacks[thread].get(stack, 0.0) for stack, spent in found}
            for thread, found in ((t, s.items()) for t, s in self.stacks.items())
        }
        return Told(clocks, stacks)


class Round(NamedTuple):
    """What was told about so many."""

    told: Told
    count: int


def profile(bench: Bench) -> Iterator[Row]:
    """Deliveries as in `throughput`, then jobs as in `dispatch`."""
    yield from rows(bench, "accept", "us/delivery", rounds(bench, accept))
    yield from rows(bench, "dispatch", "us/job", rounds(bench, dispatch))


def rounds(bench: Bench, one: Callable[[Bench, str], Round]) -> dict[str, list[Round]]:
    found: dict[str, list[Round]] = defaultdict(list)
    for _ in range(bench.rounds):
        for what in WHATS:
            settle(4.0 * bench.seconds)
            found[what].append(one(bench, what))
    return found


def accept(bench: Bench, what: str) -> Round:
    """The load of `throughput`, after a second of warming up."""
    rig = bench.rig(f"accept-{what}-{bench.number()}", pushes.rules(20))
    request = pushes.write_request(rig.listen, rig.folder / "push.http")
    loads = []
    with watched(rig, what) as (router, ask):
        for seconds in (WARM_S, bench.seconds):
            before, had = ask(), ledger.counts(rig.store).deliveries
            number = bench.number()
            plan = {"number": number, "seconds": seconds, "connections": CONNECTIONS}
            loads.append(load(rig.listen, request, **plan))
            note = agree(rig, router, answered(loads), slack=CONNECTIONS * len(loads))
        bench.notes.append(note)
        return Round(ask().since(before), ledger.counts(rig.store).deliveries - had)


def dispatch(bench: Bench, what: str) -> Round:
    """The jobs of `dispatch`, all due once the router is up."""
    with peers.sink(bench.folder) as port:
        rig = bench.rig(f"dispatch-{what}-{bench.number()}", rules(port))
        count = backlog.jobs(bench.seconds)
        bench.seed_jobs(rig, count)
        backlog.put_off(rig)
        with watched(rig, what) as (router, ask):
            settle(CALM_S)  # what is left of its start is no job's
            before = ask()
            backlog.none_yet(rig)
            bench.notes.append(agree(rig, router, count))
            return Round(ask().since(before), count)


@contextmanager
def watched(rig: Rig, what: str) -> Iterator[tuple[RouterProcess, Callable[[], Told]]]:
    """A router of which this is watched, and how to ask it."""
    place = rig.folder / "watched"
    router = rig.router()
    router.tracer = (rig.python, str(ROOT / "benchmarks" / "sampled.py"), str(place), what)
    with router:
        yield router, lambda: asked(place)


def asked(place: Path) -> Told:
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(place))
        content = b"".join(iter(lambda: link.recv(1 << 20), b""))
    found: dict[str, Any] = json.loads(content)
    return Told(found["clocks"], found["stacks"])


def rows(bench: Bench, name: str, unit: str, found: dict[str, list[Round]]) -> list[Row]:
    """For each thread its total and its stages, the dearest first; then the other threads."""
    plain = found["clocks"]
    every = {thread for one in plain for thread in one.told.clocks}
    totals = {
        thread: median(one.told.clocks.get(thread, 0.0) / one.count for one in plain)
        for thread in every
    }
    made: list[Row] = []
    for thread, (label, listed) in THREADS.items():
        total = totals.pop(thread)
        made.append(Row(f"{name}, {label}, in all", total * 1e6, unit))
        count = sum(one.count for one in found[label])
        spent = together(thread, found[label])
        for stage, taken in stages.table(spent, listed, str(bench.code), total * count).rows():
            made.append(Row(f"{name}, {label}: {stage}", taken / count * 1e6, unit))
    rest = max(totals, key=lambda thread: totals[thread])
    told = f"{name}, other threads, most of it {rest}"
    return [*made, Row(told, sum(totals.values()) * 1e6, unit)]


def together(thread: str, watched: list[Round]) -> dict[str, float]:
    """Its stacks in all rounds in which it was watched."""
    found: dict[str, float] = defaultdict(float)
    for one in watched:
        for stack, seconds in one.told.stacks[thread].items():
            found[stack] += seconds
    return found
