"""
Jobs that wait in the ledger, run as fast as they go: HTTP calls, processes, plugins.

Timed from the first attempt's start to the last one's end, each attempt recorded. Their goals are
ratios to an older commit (`baseline`).
"""

import os
import time

from msgspec.structs import replace

from benchmarks import backlog, peers, pushes
from benchmarks.bench import Bench, WrongFigures, agree
from benchmarks.cost import NOT_COUNTED, Used, traced, used
from benchmarks.figures import Cost, Row
from benchmarks.settled import settle
from router.model.job import ActionKind
from tests import ledger
from tests.acceptance.process import Rig

PLUGIN = """\
async def nothing(event, context):
    return None
"""
STARTS = 400
SHORT_S = 3
TRACED = 2_000
TRUE = "/bin/true"


def rules(port: int) -> str:
    """One that calls a sink on this port."""
    target = f"targets: {{sink: {{url: 'http://127.0.0.1:{port}', concurrency: 64}}}}\n"
    return target + pushes.rules(1, action="http: {target: sink, path: /in}")


def http(bench: Bench) -> list[Row]:
    """Calls of one local target at concurrency 64; the target counts them."""
    with peers.sink(bench.folder) as port:
        rig = bench.rig("dispatch", rules(port))
        count = backlog.jobs(bench.seconds)
        rate, cost = worked_off(bench, rig, count)
        if (calls := peers.calls(port)) != count:
            raise WrongFigures(f"{count} jobs, but the target was called {calls} times")
        bench.notes.append(f"{rig.folder.name}: the target was called {calls} times")
        cost = with_calls(bench, bench.rig("dispatch-traced", rules(port)), cost)
    return [Row("HTTP dispatch from backlog", rate, "jobs/s", cost=cost)]


def shell(bench: Bench) -> list[Row]:
    """All of one rule: a process each, /bin/true. Beside it, what starting processes costs."""
    rules = pushes.rules(1, action=f"shell: {{argv: [{TRUE}], stdin: none}}")
    count = backlog.jobs(bench.seconds) // 4
    rate, cost = worked_off(bench, bench.rig("shell", rules), count, "shell")
    bare = bare_starts()
    return [
        Row("shell from backlog, /bin/true", rate, "jobs/s", cost=cost),
        Row("bare starts of /bin/true, one after another", bare, "starts/s", ours=False),
        Row("ratio, shell jobs to bare starts", rate / bare, "x"),
    ]


def python(bench: Bench) -> list[Row]:
    """All of one rule: calls of a plugin that does nothing, in the router's child processes."""
    rig = bench.rig("python", pushes.rules(1, action="python: {call: 'bench:nothing'}"))
    (rig.folder / "plugins").mkdir()
    (rig.folder / "plugins" / "bench.py").write_text(PLUGIN, "utf-8")
    count = backlog.jobs(bench.seconds) // 4
    rate, cost = worked_off(bench, rig, count, "python")
    return [Row("python from backlog, a plugin of nothing", rate, "jobs/s", cost=cost)]


def worked_off(bench: Bench, rig: Rig, count: int, kind: ActionKind = "http") -> tuple[int, Cost]:
    """Jobs a second of so many that wait when the router starts, and what one costs it."""
    start = started(bench, rig)
    target = "sink" if kind == "http" else f"main/{kind}"
    bench.seed_jobs(rig, count, kind, target)
    with rig.router() as router:
        bench.notes.append(agree(rig, router, count))
        taken = used(router).since(start)
    return round(count / ledger.working_seconds(rig.store)), taken.each(count)


def started(bench: Bench, rig: Rig) -> Used:
    """What a start takes when nothing waits: no job pays for it."""
    with rig.router() as router:
        settle(bench.seconds)
        return used(router)


def with_calls(bench: Bench, rig: Rig, cost: Cost) -> Cost:
    """The cost with the system calls of a job, of some that became due once it was traced."""
    if bench.seconds < SHORT_S:
        bench.notes.append(f"{rig.folder.name}: a short run counts no system calls of jobs")
        return cost
    bench.seed_jobs(rig, TRACED)
    backlog.put_off(rig)
    with rig.router() as router, traced(router, rig.folder / "calls.txt") as calls:
        backlog.none_yet(rig)
        note = agree(rig, router, TRACED)
    if calls.count is None:
        bench.notes.append(NOT_COUNTED)
        return cost
    bench.notes.append(f"traced: {note}")
    return replace(cost, calls=calls.count / TRACED)


def bare_starts() -> int:
    """Processes a second, started and waited for by a loop that does nothing else."""
    began = time.perf_counter()
    for _ in range(STARTS):
        os.waitpid(os.posix_spawn(TRUE, [TRUE], {}), 0)
    return round(STARTS / (time.perf_counter() - began))
