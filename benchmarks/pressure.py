"""
The router under pressure: listeners to the signal that behave badly, ten times as much as it can
take, and a target that begins to fail. What is looked at is what the others feel of it.
"""

import asyncio
import random
from statistics import median

from benchmarks.bench import Bench, WrongFigures
from benchmarks.figures import Row, at_least, at_most
from tests.faults import signal
from tests.faults.wire import overload
from tests.faults.wire.vitals import share
from tests.sim import recovery

LISTENERS = signal.Load(stalled=50, flapping=1_000, rate=1_000, seconds=10, rounds=3, bound=0)
P50_TIMES, P99_LATER_MS = 1.1, 3.0
OVERLOAD_S = 10.0
GOODPUT, REFUSED_MS = 0.9, 500.0
JOBS, HOURS = 4_000, 1 / 3
USUAL_TIMES = 2.0


def listeners(bench: Bench) -> list[Row]:
    """Acknowledgements with no listener, and beside bad listeners, in turns."""
    rng = random.Random(bench.number())  # noqa: S311 - when a listener leaves is no secret
    campaign = signal.Campaign(bench.folder / "listeners", LISTENERS, rng)
    tally = asyncio.run(campaign.run())
    if tally.problems or tally.flapped != LISTENERS.flapping * LISTENERS.rounds:
        raise WrongFigures(f"{tally.flapped} listeners: {tally.problems}")
    bench.notes.append(f"listeners: {tally}")
    quiet, beside = tally.figures.alone, tally.figures.beside
    rows, found = list[Row](), dict[str, tuple[float, float]]()
    for name in ("p50", "p99"):
        one, other = (median(each[f"{name}_ms"] for each in half) for half in (quiet, beside))
        found[name] = one, other
        rows.append(Row(f"ack at {LISTENERS.rate:,}/s, nobody listens, {name}", one, "ms"))
        rows.append(Row(f"ack at {LISTENERS.rate:,}/s, bad listeners, {name}", other, "ms"))
    (p50, p50_beside), (p99, p99_beside) = found.values()
    return [
        *rows,
        at_most("bad listeners to none, p50", p50_beside / p50, "x", P50_TIMES),
        at_most("bad listeners, p99 is later by", max(0.0, p99_beside - p99), "ms", P99_LATER_MS),
    ]


def flood(bench: Bench) -> list[Row]:
    """Ten times the peak of a router with costly rules: what it still takes, and says how soon."""
    outcome = overload.run(bench.folder / "flood", OVERLOAD_S)
    if outcome.wrong:
        raise WrongFigures(f"under overload: {outcome.wrong}")
    bench.notes.append(f"flood: {outcome}")
    p50, p95 = (1_000 * share(outcome.flood.refused, part) for part in (0.5, 0.95))
    return [
        Row("peak with costly rules", outcome.peak.rate, "deliveries/s"),
        at_least("taken in time of ten times the peak, to it", outcome.goodput, "x", GOODPUT),
        Row("refused of ten times the peak, p50", p50, "ms"),
        at_most("refused of ten times the peak, p95", p95, "ms", REFUSED_MS),
    ]


def onset(bench: Bench) -> list[Row]:
    """A target that answers 503 for twenty minutes, in virtual time: its calls, to the usual."""
    found = recovery.recover(JOBS, HOURS, down="503")
    if found.unfinished:
        raise WrongFigures(f"jobs are left: {found}")
    bench.notes.append(f"onset: {found}")
    return [
        at_most("calls when 503 begins, to usual", found.onset / found.steady, "x", USUAL_TIMES),
        at_most("calls when it is back, to usual", found.peak / found.steady, "x", USUAL_TIMES),
    ]
