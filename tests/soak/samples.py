"""What a running router holds, every few seconds."""

import re
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.process import RouterProcess
from tests.faults.wire.vitals import resident, share
from tests.soak.rules import MIB

_METRICS: Mapping[str, str] = {
    "lag": r"^router_lag_seconds (\S+)$",
    "open jobs": r'^router_jobs_standing\{state="(?!dead)\w+"\} (\S+)$',
}


@dataclass
class Heard:
    """What senders heard since the last sample: milliseconds of each 200, and how many 503."""

    took_ms: list[float] = field(default_factory=list)
    unavailable: int = 0


@dataclass(frozen=True)
class Sample:
    """`at` and `age` in seconds; `life` counts the processes."""

    at: float
    life: int
    age: float
    values: Mapping[str, float]


def measured(
    router: RouterProcess, heard: Heard, store: Callable[[], Mapping[str, float]]
) -> dict[str, float]:
    """
    Each measure of `drift.BOUNDS`, and the lag in seconds.

    Raises:
        OSError, AssertionError: the router has ended.
    """
    assert router.process is not None
    values = {
        "RSS": resident(router),
        "descriptors": router.open_files(),
        "threads": sum(1 for _ in Path(f"/proc/{router.process.pid}/task").iterdir()),
        "503": heard.unavailable,
        **store(),
        **metrics(router.admin_url),
    }
    if heard.took_ms:
        values |= {"p50": share(heard.took_ms, 0.5), "p99": share(heard.took_ms, 0.99)}
    return values


def metrics(admin_url: str) -> dict[str, float]:
    with urllib.request.urlopen(f"{admin_url}/metrics", timeout=10) as answer:  # noqa: S310 - loopback
        text = answer.read().decode()
    return {
        name: sum(float(value) for value in re.findall(pattern, text, re.MULTILINE))
        for name, pattern in _METRICS.items()
    }


def of_files(store: Path) -> dict[str, float]:
    """MiB of a SQLite file and its journal."""
    sizes = {"store": store, "journal": Path(f"{store}-wal")}
    return {name: path.stat().st_size / MIB if path.exists() else 0 for name, path in sizes.items()}
