"""How long an answer takes at fixed rates, whatever the answers take (open loop)."""

from typing import Any

from benchmarks import pushes
from benchmarks.bench import Bench, WrongFigures, agree, child
from benchmarks.figures import Histogram, Row, at_most

RATES = (200, 1_000, 2_000, 4_000)
GOALS = {(1_000, "p50"): 2, (1_000, "p99"): 10}
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
        bench.notes.append(agree(rig, router, answers))
    return rows


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
