"""
Jobs that wait in the ledger, run as fast as they go: HTTP calls, processes, plugins.

Timed from the first attempt's start to the last one's end, each attempt recorded.
"""

import asyncio
import os
import time

from benchmarks import backlog, peers, pushes
from benchmarks.bench import Bench, WrongFigures, agree
from benchmarks.figures import Row, at_least
from router.model.job import ActionKind
from tests import ledger
from tests.acceptance.process import Rig

PLUGIN = """\
async def nothing(event, context):
    return None
"""
STARTS = 400
TRUE = "/bin/true"


def http(bench: Bench) -> list[Row]:
    """Calls of one local target at concurrency 64; the target counts them."""
    with peers.sink(bench.folder) as port:
        target = f"targets: {{sink: {{url: 'http://127.0.0.1:{port}', concurrency: 64}}}}\n"
        rules = pushes.rules(1, action="http: {target: sink, path: /in}")
        rig = bench.rig("dispatch", target + rules)
        count = backlog.jobs(bench.seconds)
        rate, note = worked_off(rig, count)
        if (calls := peers.calls(port)) != count:
            raise WrongFigures(f"{note}, but the target was called {calls} times")
        bench.notes.append(f"{note}; the target was called {calls} times")
    return [at_least("HTTP dispatch from backlog", rate, "jobs/s", 6000)]


def shell(bench: Bench) -> list[Row]:
    """All of one rule: a process each, /bin/true. Beside it, what starting processes costs."""
    rig = bench.rig("shell", pushes.rules(1, action=f"shell: {{argv: [{TRUE}], stdin: none}}"))
    count = backlog.jobs(bench.seconds) // 4
    rate, note = worked_off(rig, count, "shell")
    bench.notes.append(note)
    bare = bare_starts()
    return [
        at_least("shell from backlog, /bin/true", rate, "jobs/s", 500),
        Row("bare starts of /bin/true, one after another", bare, "starts/s", ours=False),
        Row("ratio, shell jobs to bare starts", rate / bare, "x"),
    ]


def python(bench: Bench) -> list[Row]:
    """All of one rule: calls of a plugin that does nothing, in the router's child processes."""
    rig = bench.rig("python", pushes.rules(1, action="python: {call: 'bench:nothing'}"))
    (rig.folder / "plugins").mkdir()
    (rig.folder / "plugins" / "bench.py").write_text(PLUGIN, "utf-8")
    count = backlog.jobs(bench.seconds) // 4
    rate, note = worked_off(rig, count, "python")
    bench.notes.append(note)
    return [Row("python from backlog, a plugin of nothing", rate, "jobs/s")]


def worked_off(rig: Rig, count: int, kind: ActionKind = "http") -> tuple[int, str]:
    """Jobs a second of so many that wait when the router starts, and what the ledger says."""
    target = "sink" if kind == "http" else f"main/{kind}"
    asyncio.run(backlog.seed(rig, count, kind=kind, target=target))
    with rig.router() as router:
        note = agree(rig, router, count)
    return round(count / ledger.working_seconds(rig.store)), note


def bare_starts() -> int:
    """Processes a second, started and waited for by a loop that does nothing else."""
    began = time.perf_counter()
    for _ in range(STARTS):
        os.waitpid(os.posix_spawn(TRUE, [TRUE], {}), 0)
    return round(STARTS / (time.perf_counter() - began))
