"""
A disk whose every sync takes 10 ms longer: how many deliveries are taken, and how soon.

The router's own calls of fdatasync are delayed by a library that is loaded before the others,
compiled here from a few lines of C: a debugger that stops each call would slow all else down.
"""

import shutil
import subprocess
from pathlib import Path
from statistics import median

from benchmarks import pushes
from benchmarks.bench import Bench, WrongFigures
from benchmarks.figures import Row, at_least
from benchmarks.many import Loaded, rate_row, ratio, side_by_side
from tests.acceptance.process import Rig

DELAY_MS = 10
BODY_BYTES = 4_096
AS_IT_IS, SLOW = "accept and run, 4 kB", "accept and run, 4 kB, syncs 10 ms longer"
GOALS = {AS_IT_IS: 1_000, SLOW: 400}
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static int later(const char *name, int file) {
    struct timespec left = {0, DELAY_MS * 1000000L};
    while (nanosleep(&left, &left)) {}
    return ((int (*)(int))dlsym(RTLD_NEXT, name))(file);
}

int fdatasync(int file) { return later("fdatasync", file); }
int fsync(int file) { return later("fsync", file); }
"""


def compiled(folder: Path) -> Path | None:
    """The library to load; None: there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    source, library = folder / "slow_sync.c", folder / "slow_sync.so"
    source.write_text(SHIM.replace("DELAY_MS", str(DELAY_MS)), "ascii")
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def slow_sync(bench: Bench) -> list[Row]:
    """Two routers, loaded in turn; the syncs of one are slow."""
    library = compiled(bench.folder)
    if library is None:
        return [Row(name, None, "no C compiler here") for name in (AS_IT_IS, SLOW)]
    rigs = {AS_IT_IS: a_rig(bench, "usual-sync"), SLOW: a_rig(bench, "slow-sync", library)}
    loads = side_by_side(bench, rigs)
    if quick := [one for one in loads[SLOW].loads if one.p50_ms < DELAY_MS]:
        raise WrongFigures(f"answers came sooner than a sync may end: {quick}")
    return [
        *(row for name, found in loads.items() for row in rows(name, found)),
        Row("ratio, syncs 10 ms longer to as they are", ratio(loads[SLOW], loads[AS_IT_IS]), "x"),
    ]


def a_rig(bench: Bench, name: str, library: Path | None = None) -> tuple[Rig, Path]:
    """A router, and the request to load it with; `library` is loaded into it before others."""
    rig = bench.rig(name, pushes.rules(20))
    if library is not None:
        rig.environ = {**rig.environ, "LD_PRELOAD": str(library)}
    content = pushes.body(BODY_BYTES)
    return rig, pushes.write_request(rig.listen, rig.folder / "push.http", content=content)


def rows(name: str, found: Loaded) -> list[Row]:
    """Its rate, and how long an answer took at that rate."""
    rate = rate_row(name, found)
    return [
        at_least(name, rate.figure or 0, rate.unit, GOALS[name], found.cost),
        Row(f"{name}, p50", median(one.p50_ms for one in found.loads), "ms"),
        Row(f"{name}, p99", median(one.p99_ms for one in found.loads), "ms"),
    ]
