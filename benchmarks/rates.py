"""How long an answer takes at fixed rates, whatever the answers take (open loop)."""

from typing import Any

from benchmarks import pushes
from benchmarks.bench import Bench, WrongFigures, agree, child
from benchmarks.figures import Histogram, Row, at_most
from tests.acceptance.process import Rig

RATES = (200, 1_000, 2_000, 4_000)
GOALS = {(1_000, "p50"): 1, (1_000, "p99"): 3, (4_000, "p99"): 8}
CALM, CALM_BYTES = 200, 4_096
CALM_GOALS = {"p50": 5, "p99": 20, "p99.9": 100, "worst": 1_000}
CALM_TIMES, CALM_LEAST_S = 3, 5
"""Longer than the others: one answer in a thousand is looked at."""
SHARES = {
    "p50": "p50_ms",
    "p90": "p90_ms",
    "p99": "p99_ms",
    "p99.9": "p999_ms",
    "worst": "worst_ms",
}


def latency(bench: Bench) -> list[Row]:
    """One router, one rate after another; each latency counts from when its request was due."""
    rig = bench.rig("latency", pushes.rules(20))
    request = pushes.write_request(rig.listen, rig.folder / "push.http")
    rows: list[Row] = []
    with rig.router() as router:
        warm = child("benchmarks.pace", rig.listen, request, 500, 500, bench.number())
        answers = int(warm["answers"])
        for rate in RATES:
            count = rate * max(bench.seconds, 2)
            found = child("benchmarks.pace", rig.listen, request, rate, count, bench.number())
            if found["not_200"] or found["answers"] != count:
                raise WrongFigures(f"at {rate:,}/s: {found}")
            answers += count
            rows += rows_of(rate, found)
            bench.histograms.append(Histogram(f"ack at {rate:,}/s", rate, tuple(found["counts"])))
            bench.notes.append(late(rate, found))
        found = calm(bench, rig)
        rows += [
            at_most(f"ack of 4 kB at {CALM}/s, {share}", found[SHARES[share]], "ms", goal)
            for share, goal in CALM_GOALS.items()
        ]
        bench.notes.append(agree(rig, router, answers + found["answers"]))
    return rows


def calm(bench: Bench, rig: Rig) -> dict[str, Any]:
    """Bodies twice as large at the lowest rate, for longer."""
    content = pushes.body(CALM_BYTES)
    request = pushes.write_request(rig.listen, rig.folder / "4kb.http", content=content)
    count = CALM * max(CALM_LEAST_S, CALM_TIMES * bench.seconds)
    found = child("benchmarks.pace", rig.listen, request, CALM, count, bench.number())
    if found["not_200"] or found["answers"] != count:
        raise WrongFigures(f"4 kB at {CALM}/s: {found}")
    return found


def rows_of(rate: int, found: dict[str, Any]) -> list[Row]:
    rows = []
    for share, field in SHARES.items():
        name = f"ack at {rate:,}/s, {share}"
        goal = GOALS.get((rate, share))
        rows.append(
            Row(name, found[field], "ms")
            if goal is None
            else at_most(name, found[field], "ms", goal)
        )
    return rows


def late(rate: int, found: dict[str, Any]) -> str:
    """How far the generator itself was behind; its lateness is in the latencies."""
    return f"latency: at {rate:,}/s the generator sent 99 % within {found['late_p99_ms']} ms of due"
