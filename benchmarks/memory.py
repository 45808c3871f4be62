"""
What the router's process holds, read from /proc, and how long large bodies keep its loop busy.

The loop is watched from outside: the admin listener's /livez is asked every few milliseconds, and
an answer can be no earlier than the loop's next turn.
"""

import json
import re
import socket
import subprocess
import time
from contextlib import closing
from pathlib import Path

from benchmarks import pushes, seed
from benchmarks.bench import Bench, WrongFigures, agree, child, generator
from benchmarks.figures import Row, at_most
from benchmarks.pace import connect, percentile, read_answer
from router.store.common.states import STATE
from tests import ledger
from tests.acceptance.process import ROOT, Rig, RouterProcess

MIB = 1024 * 1024
CALM_S = 1.0
READY_S = 60.0
LARGEST, AT_ONCE = 25 * MIB, 50
MIDDLING = 5 * MIB
STRUCTURE_FREE = 600
"""Bytes of text to each commit, so that 25 MiB stay below the router's bound on structure."""
LIVEZ = b"GET /livez HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
LIVEZ_EVERY_S = 0.002
OPEN = (STATE["available"], STATE["retryable"], STATE["running"])
OPEN_JOBS = "SELECT count(*) FROM jobs WHERE state IN (?, ?, ?)"


def held(router: RouterProcess, field: str) -> float:
    """MiB: `VmRSS` now, `VmHWM` the most there ever was."""
    assert router.process is not None  # noqa: S101
    text = Path(f"/proc/{router.process.pid}/status").read_text("ascii")
    found = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
    if found is None:
        raise WrongFigures(f"no {field} of the router")
    return int(found[1]) / 1024


def memory(bench: Bench) -> list[Row]:
    return [*idle(bench), *waiting(bench), *large(bench), *blocked(bench)]


def idle(bench: Bench) -> list[Row]:
    """Twenty rules, an empty store, nothing to do."""
    rig = bench.rig("memory-idle", pushes.rules(20))
    with rig.router() as router:
        time.sleep(CALM_S)
        return [at_most("memory, idle", held(router, "VmRSS"), "MiB", 75)]


def backlog_rig(bench: Bench, port: int) -> Rig:
    """
    A million jobs due now for a target at `port`; the store is made once in a run.

    Whoever opens it finds the jobs as they were: the target does not answer.
    """
    target = f"targets: {{sink: {{url: 'http://127.0.0.1:{port}', timeout: 5m}}}}\n"
    rules = target + pushes.rules(1, action="http: {target: sink, path: /in}")
    rig = bench.rig("million-jobs", rules, server="  grace: 1s\n")
    if not rig.store.exists():
        bench.seed("jobs", rig)
    return rig


def ended(router: RouterProcess) -> None:
    """Stop it, so that its running jobs wait again: killed a third time, they would be dead."""
    if router.running and router.stop() is None:
        router.kill()


def still_there(rig: Rig, count: int) -> str:
    """
    No job of the backlog is gone, none has ended, and `count` deliveries came on top.

    Raises:
        WrongFigures: the ledger says otherwise.
    """
    expected = seed.MILLION + count
    with closing(ledger.connect(rig.store)) as db:
        (open_jobs,) = db.execute(OPEN_JOBS, OPEN).fetchone()
    found = ledger.counts(rig.store)
    if {found.deliveries, found.jobs, open_jobs} != {expected}:
        raise WrongFigures(f"{expected} jobs should be open; {open_jobs} are, of {found}")
    return f"{rig.folder.name}: {count} answers of 200 more; {open_jobs} jobs open; ledger: {found}"


def waiting(bench: Bench) -> list[Row]:
    """The most the router held while a million jobs waited and 400 deliveries came."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as silent:
        rig = backlog_rig(bench, silent.getsockname()[1])
        before = ledger.counts(rig.store).deliveries - seed.MILLION
        push = pushes.write_request(rig.listen, rig.folder / "push.http")
        router = rig.router().launch()
        try:
            router.until(router.ready, "ready", seconds=READY_S)
            found = child("benchmarks.pace", rig.listen, push, 200, 400, bench.number())
            if found["not_200"] or found["answers"] != 400:
                raise WrongFigures(f"beside a million jobs: {found}")
            time.sleep(CALM_S)
            most = held(router, "VmHWM")
        finally:
            ended(router)
    bench.notes.append(still_there(rig, before + 400))
    held_on_disk = sum(one.stat().st_size for one in rig.folder.glob("router.db*"))
    each = round(held_on_disk / (seed.MILLION + before + 400))
    return [
        at_most("memory, 1,000,000 jobs waiting, peak", most, "MiB", 130),
        Row("disk of a small delivery and its waiting job", each, "bytes/job"),
    ]


def bodies_of(size: int) -> bytes:
    """A push of `size` bytes (400 at least), with long messages in many commits."""
    push = json.loads(pushes.body(0))
    commit = {"message": "x" * STRUCTURE_FREE, "author": push["pusher"]}
    each = len(json.dumps({"id": "0" * 40, **commit})) + len(", ")
    room = size - len(json.dumps(push))
    push["commits"] = [{"id": f"{n:040x}", **commit} for n in range(room // each)]
    push["padding"] = ""
    push["padding"] = "x" * (size - len(json.dumps(push)))
    return json.dumps(push).encode()


def flooded(
    bench: Bench, rig: Rig, router: RouterProcess, size: int, count: int, at_once: int
) -> tuple[dict[str, int], list[float]]:
    """Send `count` bodies, `at_once` at a time; the answers, and /livez's seconds meanwhile."""
    request = pushes.write_request(rig.listen, rig.folder / "large.http", content=bodies_of(size))
    command = generator("benchmarks.flood", rig.listen, request, count, at_once, bench.number())
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as flood:
        taken = alive(rig.admin, flood)
        told, _ = flood.communicate(timeout=300)
    found: dict[str, int] = json.loads(told)
    if found["others"]:
        raise WrongFigures(f"large bodies were neither taken nor put off: {found}")
    bench.notes.append(f"{agree(rig, router, found['ok'])}; put off (503): {found['busy']}")
    return found, taken


def alive(port: int, until: subprocess.Popen[bytes]) -> list[float]:
    """Seconds each /livez took, asked again and again until that process ends."""
    taken = []
    with closing(connect(port)) as link:
        while until.poll() is None:
            began = time.perf_counter()
            link.sendall(LIVEZ)
            if not read_answer(link).startswith(b"HTTP/1.1 200"):
                raise WrongFigures("/livez did not answer 200")
            taken.append(time.perf_counter() - began)
            time.sleep(LIVEZ_EVERY_S)
    return taken


def large(bench: Bench) -> list[Row]:
    """Fifty bodies of 25 MiB at once; the router may take them or put them off."""
    rig = bench.rig("memory-large", pushes.rules(20))
    with rig.router() as router:
        found, _ = flooded(bench, rig, router, LARGEST, AT_ONCE, AT_ONCE)
        most = held(router, "VmHWM")
    return [
        at_most("memory, 50 bodies of 25 MiB at once, peak", most, "MiB", 330),
        Row("of these 50, taken at once", found["ok"], "deliveries"),
    ]


def blocked(bench: Bench) -> list[Row]:
    """Bodies of 5 MiB, four at a time; /livez's worst answer bounds the loop's longest block."""
    rig = bench.rig("memory-loop", pushes.rules(20))
    with rig.router() as router:
        count = max(8, min(60, 10 * bench.seconds))
        _, taken = flooded(bench, rig, router, MIDDLING, count, 4)
    return [
        at_most("/livez beside 5 MiB bodies, worst", max(taken) * 1000, "ms", 50),
        Row("/livez beside 5 MiB bodies, p99", percentile(taken, 0.99) * 1000, "ms"),
    ]
