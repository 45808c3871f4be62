"""The machine itself: what it is, how quick its Python is, and what its disk takes for a commit."""

import hashlib
import hmac
import json
import os
import platform
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks import pushes
from benchmarks.bench import Bench
from benchmarks.comparing import YARDSTICK
from benchmarks.figures import Machine, Row

PASSES = 15
WORK = 200
COMMITS = 200


def facts() -> Machine:
    found = re.search(r"^model name\s*: (.+)$", read("/proc/cpuinfo"), re.MULTILINE)
    return Machine(
        cores=os.cpu_count() or 0,
        processor=found[1] if found else platform.machine(),
        memory_mib=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024**2,
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        sqlite=sqlite3.sqlite_version,
        load=round(os.getloadavg()[0], 2),
        date=time.strftime("%Y-%m-%d", time.gmtime()),
    )


def read(place: str) -> str:
    try:
        return Path(place).read_text("utf-8")
    except OSError:
        return ""


def yardsticks(bench: Bench) -> list[Row]:
    """What the other rows are divided by when runs are compared, and one bare commit."""
    each = median(timed(work, WORK) for _ in range(PASSES))
    commits = synced(bench.folder / "commits.db")
    return [
        Row(YARDSTICK, each * 1e6, "us", ours=False),
        Row("one synced commit of SQLite, p50", median(commits) * 1e3, "ms", ours=False),
    ]


def timed(done: Callable[[], object], times: int) -> float:
    """Seconds that one takes, of so many in a row."""
    began = time.perf_counter()
    for _ in range(times):
        done()
    return (time.perf_counter() - began) / times


BODY = pushes.body()


def work() -> int:
    """
    Half of it the interpreter's own steps, half in C: about what a delivery is made of.

    It must stay as it is: another amount of work is another yardstick.
    """
    push = json.loads(BODY)
    hmac.new(b"a made-up key", BODY, hashlib.sha256).hexdigest()
    seen = {}
    for commit in push["commits"] * 20:
        seen[commit["id"]] = f"{commit['message']} by {commit['author']['name']}".lower()
    return len(json.dumps(push)) + len(seen)


def synced(place: Path) -> list[float]:
    """Seconds of each of many small commits, one after another, as durable as the router's."""
    db = sqlite3.connect(place, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE one (body BLOB)")
    taken = [
        timed(lambda: db.execute("INSERT INTO one VALUES (?)", (BODY,)), 1) for _ in range(COMMITS)
    ]
    db.close()
    return taken
