"""What a process holds and may hold: memory and open files, as /proc tells."""

import contextlib
import re
import resource
from collections.abc import Iterator
from pathlib import Path

from tests.acceptance.process import RouterProcess


def resident(router: RouterProcess) -> float:
    """MiB it holds now."""
    return _field(router, "VmRSS")


def highest(router: RouterProcess) -> float:
    """MiB it held at most, ever."""
    return _field(router, "VmHWM")


def _field(router: RouterProcess, name: str) -> float:
    assert router.process is not None
    text = Path(f"/proc/{router.process.pid}/status").read_text("ascii")
    found = re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE)
    assert found is not None
    return int(found[1]) / 1024


@contextlib.contextmanager
def many_files() -> Iterator[int]:
    """Raise the limit of open files as far as it goes, for us and who we start; how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def share(values: list[float], part: float) -> float:
    """That percentile, by nearest rank; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))] if ordered else 0.0
