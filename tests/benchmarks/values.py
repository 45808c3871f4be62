"""Runs of benchmarks, made up."""

from benchmarks.comparing import YARDSTICK
from benchmarks.figures import Figures, Histogram, Machine, Row, at_least, classes

MACHINE = Machine(
    cores=2,
    processor="made up",
    memory_mib=1_024,
    system="Linux 6",
    python="3.11.1",
    sqlite="3.40.1",
    load=0.5,
    date="2026-01-02",
)


def a_run(*rows: Row, yardstick: float | None = 100.0) -> Figures:
    """Rows of one measurement, and a yardstick of so many microseconds."""
    first = () if yardstick is None else (Row(YARDSTICK, yardstick, "us", ours=False),)
    return Figures(MACHINE, 3, 2, {"machine": first, "load": rows})


def a_whole_run() -> Figures:
    """Something of everything that is drawn."""
    rows = (
        Row("durable accept and run", 6_000, "deliveries/s"),
        at_least("ratio to echo", 0.2, "x", 0.3),
        at_least("ratio to <hook> & co", 2.5, "x", 1.4),
        Row("Node-RED", None, "not installed here", ours=False),
    )
    slow = Histogram("ack at 200/s", 200, classes([0.05, 0.5, 0.6, 1.0, 40.0, 20_000.0]))
    return Figures(MACHINE, 3, 2, {"load": rows}, (slow,), ("all agree",))
