"""
One endpoint gets fifty times as much as the others, and its target hangs: how late are the others?

Its calls end by their time limit after half of the time. Up to then it holds as many slots as it
may; then it has failed so often that the router leaves its target alone, which is the easy half.
"""

import json
import socket
import subprocess
from contextlib import closing
from typing import Any

from benchmarks import pushes
from benchmarks.bench import Bench, WrongFigures, child, generator
from benchmarks.figures import Row, at_most
from benchmarks.pace import percentile
from router.store.common.states import STATE
from tests import ledger
from tests.acceptance.process import ROOT, Rig, free_ports

OTHERS = 10
RATE = 10
TIMES = 50
SECONDS = 4
"""Times the seconds of other loads."""
LEAST_S = 6
GOAL_MS = 2_000
LAGS = """
    SELECT a.started_at - j.due_at FROM jobs j
    JOIN attempts a ON a.job = j.n AND a.number = 1 WHERE j.target = 'quick'
"""
JOBS = "SELECT count(*), sum(state = ?), sum(attempt) FROM jobs WHERE target = ?"


def neighbour(bench: Bench) -> list[Row]:
    """The others' jobs: from due to started by the ledger, from the first byte in to the call."""
    seconds = max(LEAST_S, SECONDS * bench.seconds)
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", 0), backlog=256) as silent:
        rig = bench.rig("neighbour", rules(silent.getsockname()[1], port, seconds // 2))
        with rig.router():
            loud = noise(bench, rig, seconds)
            try:
                found = others(bench, rig, port, seconds)
                heard = json.loads(loud.communicate(timeout=120)[0])
            finally:
                loud.kill()
    bench.notes.append(sound(rig, found, heard, seconds))
    lags = due_to_started(rig)
    return [
        Row("others' jobs, due to started, p50", percentile(lags, 0.5), "ms"),
        at_most("others' jobs, due to started, p99", percentile(lags, 0.99), "ms", GOAL_MS),
        Row("others' first byte in to action, p50", found["p50_ms"], "ms"),
        at_most("others' first byte in to action, p99", found["p99_ms"], "ms", GOAL_MS),
        Row("others' first byte in to action, worst", found["worst_ms"], "ms"),
    ]


def names() -> list[str]:
    return [f"quiet{n:02d}" for n in range(OTHERS)]


def identity(name: str) -> str:
    return f"{name}0123456789abcdef"


def rules(silent: int, quick: int, timeout_s: int) -> str:
    """An endpoint and a rule for each; only the noisy one's target hangs."""
    text = (
        f"targets:\n  hangs: {{url: 'http://127.0.0.1:{silent}', timeout: {timeout_s}s}}\n"
        f"  quick: {{url: 'http://127.0.0.1:{quick}'}}\n{pushes.SECRETS}endpoints:\n"
    )
    every = {"noisy": "hangs", **dict.fromkeys(names(), "quick")}
    for name in every:
        text += f"  {name}: {{id: {identity(name)}, provider: code-host, secrets: code}}\n"
    text += "rules:\n"
    for name, target in every.items():
        text += (
            f"  - id: {name}\n    from: {name}\n    events: push\n"
            f"    actions: {{http: {{target: {target}, "
            "path: '/in/{{ headers.\"x-github-delivery\" }}'}}\n"
        )
    return text


def request(rig: Rig, name: str) -> str:
    """A file with what a sender sends to this endpoint."""
    path = f"/wh_{identity(name)}"
    return str(pushes.write_request(rig.listen, rig.folder / f"{name}.http", path))


def noise(bench: Bench, rig: Rig, seconds: int) -> "subprocess.Popen[bytes]":
    rate = TIMES * RATE
    plan = (rig.listen, request(rig, "noisy"), rate, rate * seconds, bench.number())
    command = generator("benchmarks.pace", *plan)
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


def others(bench: Bench, rig: Rig, port: int, seconds: int) -> dict[str, Any]:
    files = [request(rig, name) for name in names()]
    plan = (rig.listen, port, RATE, RATE * seconds, bench.number())
    return child("benchmarks.neighbours", *plan, *files)


def due_to_started(rig: Rig) -> list[float]:
    """Milliseconds of each of the others' jobs, as the ledger has them."""
    with closing(ledger.connect(rig.store)) as db:
        return [float(lag) for (lag,) in db.execute(LAGS)]


def sound(rig: Rig, found: dict[str, Any], loud: dict[str, Any], seconds: int) -> str:
    """
    Every delivery was answered 200 and stored, each of the others' jobs ran once and no noisy one
    ended.

    Raises:
        WrongFigures: it is not so.
    """
    count, many = OTHERS * RATE * seconds, TIMES * RATE * seconds
    with closing(ledger.connect(rig.store)) as db:
        quiet = db.execute(JOBS, (STATE["succeeded"], "quick")).fetchone()
        hanging = db.execute(JOBS, (STATE["succeeded"], "hangs")).fetchone()
    told = f"{found}; noisy: {loud['answers']} answers of 200; ledger: {quiet}, noisy {hanging}"
    asked = found["sent"] == found["called"] == count and loud["answers"] == many
    if not asked or found["not_200"] or loud["not_200"]:
        raise WrongFigures(f"{count} deliveries and {many} noisy ones: {told}")
    if quiet != (count, count, count) or hanging[:2] != (many, 0):
        raise WrongFigures(f"jobs, succeeded and attempts are wrong: {told}")
    return f"{rig.folder.name}: {count} and {many} noisy deliveries; {told}"
