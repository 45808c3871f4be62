"""What traces cost: three routers under the same load, with none, a hundredth and all of them."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks import pushes
from benchmarks.bench import Bench, WrongFigures
from benchmarks.figures import Row
from benchmarks.many import rate_row, side_by_side
from tests.acceptance.process import Rig
from tests.acceptance.sink import Sink

NONE, SOME, ALL = "without traces", "a hundredth of the traces", "every trace"
A_HUNDREDTH = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"}


def traces(bench: Bench) -> list[Row]:
    """Rates and processor time of each, and that of the others to the one without."""
    with Sink() as receiver:
        on = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url}
        rigs = {
            NONE: a_rig(bench, "untraced", {}),
            SOME: a_rig(bench, "sampled", on | A_HUNDREDTH),
            ALL: a_rig(bench, "traced", on),
        }
        found = side_by_side(bench, rigs)
        if not receiver.received:
            raise WrongFigures("no span was sent")
    costs = {name: one.cost.processor_us for name, one in found.items()}
    return [
        *(rate_row(name, one) for name, one in found.items()),
        *(Row(f"processor time, {name}", cost, "us/delivery") for name, cost in costs.items()),
        *(Row(f"ratio, {name} to none", costs[name] / costs[NONE], "x") for name in (SOME, ALL)),
    ]


def a_rig(bench: Bench, name: str, environ: Mapping[str, str]) -> tuple[Rig, Path]:
    """A router with these variables beside its own, and the request to load it with."""
    rig = bench.rig(name, pushes.rules(20), environ={**pushes.ENVIRON, **environ})
    return rig, pushes.write_request(rig.listen, rig.folder / "push.http")
