"""Bodies from 1 kB to the largest that an endpoint takes: how many a second, how many bytes."""

import shutil

import msgspec

from benchmarks import memory, pushes
from benchmarks.bench import Bench, agree, answered
from benchmarks.cost import used
from benchmarks.figures import Cost, Row
from benchmarks.wrk import Load, load
from tests import ledger

MIB = 1024 * 1024
SIZES = {
    "1 kB": (1_000, 32),
    "10 kB": (10_000, 32),
    "100 kB": (100_000, 32),
    "1 MB": (1_000_000, 8),
    "5 MiB": (5 * MIB, 4),
    "25 MiB": (25 * MIB, 4),
}
"""Bytes, and connections: large bodies come a few at a time, or the router puts some off (503)."""

LARGE_S = 2
"""Some of the largest must be done within a load, on a slow disk too."""


def sizes(bench: Bench) -> list[Row]:
    """A router and a store of its own for each size, gone afterwards: they fill gigabytes."""
    rows: list[Row] = []
    for label, (size, connections) in SIZES.items():
        rows += rows_of(label, *one_size(bench, size, connections))
    return rows


def one_size(bench: Bench, size: int, connections: int) -> tuple[Load, int, Cost]:
    """What the load generator saw, once the ledger agrees, a body's bytes, what each one cost."""
    rig = bench.rig(f"body-{size}", pushes.rules(20))
    content = memory.bodies_of(size)
    request = pushes.write_request(rig.listen, rig.folder / "push.http", content=content)
    with rig.router() as router:
        before = used(router)
        found = load(
            rig.listen,
            request,
            number=bench.number(),
            seconds=bench.seconds if size < MIB else max(bench.seconds, LARGE_S),
            connections=connections,
        )
        put_off = found.not_2xx if size > MIB else 0
        note = agree(rig, router, taken(found, put_off), slack=connections)
        bench.notes.append(f"{note}; put off (not 2xx): {put_off}")
        cost = used(router).since(before).each(ledger.counts(rig.store).deliveries or 1)
    shutil.rmtree(rig.folder)
    return found, len(content), cost


def taken(found: Load, put_off: int) -> int:
    """How many got their 200; so many were put off, which is right for large ones alone."""
    less = msgspec.structs.replace(
        found, answers=found.answers - put_off, not_2xx=found.not_2xx - put_off
    )
    return answered([less])


def rows_of(label: str, found: Load, size: int, cost: Cost | None = None) -> list[Row]:
    """On a very busy disk none of the largest may be done in time: then there is no figure."""
    rate = round(found.rate, 1 if found.rate < 100 else None)
    figures = (
        (f"bodies of {label}", rate, "deliveries/s"),
        (f"bodies of {label}, bytes", found.rate * size / 1e6, "MB/s"),
        (f"bodies of {label}, p99", found.p99_ms, "ms"),
    )
    return [
        Row(name, figure, unit, cost=cost if unit == "deliveries/s" else None)
        if rate
        else Row(name, None, "none in time")
        for name, figure, unit in figures
    ]
