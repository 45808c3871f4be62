"""Load by wrk, every request with an id of its own."""

import json
import subprocess
from pathlib import Path

import msgspec

from benchmarks.pushes import SLOT

SCRIPT = """
local file = io.open("%(request)s", "rb")
local whole = file:read("*a")
file:close()
local at, past = string.find(whole, "%(slot)s", 1, true)
local head, tail = string.sub(whole, 1, at - 1), string.sub(whole, past + 1)
local count = 0
request = function()
  count = count + 1
  return head .. string.format(%(name)s) .. tail
end
done = function(summary, latency, requests)
  io.write(string.format(
    '\\nRESULT {"answers": %%d, "microseconds": %%d, "not_2xx": %%d, "broken": %%d, ' ..
    '"p50_ms": %%.3f, "p99_ms": %%.3f}\\n',
    summary.requests, summary.duration, summary.errors.status,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
"""

IN_ORDER = '"%08x-0000-4000-8000-%%012x", count'
SPREAD = '"%%08x-%04x-4000-8000-%%012x", count * 2654435761 %% 4294967296, count'
"""Spread ids differ in their first digits, as random ones do; the factor is odd, so none twice."""

TIMEOUT = "30s"
"""An answer that is slower counts as broken; wrk's own 2 s are less than a large body may take."""


class Load(msgspec.Struct, frozen=True):
    """What wrk saw. `broken` counts connect, read, write and time-out errors."""

    answers: int
    microseconds: int
    not_2xx: int
    broken: int
    p50_ms: float
    p99_ms: float

    @property
    def rate(self) -> float:
        """Answers of 2xx a second."""
        return (self.answers - self.not_2xx) / (self.microseconds / 1e6)


def load(
    port: int,
    request: Path,
    *,
    number: int,
    seconds: int,
    connections: int = 32,
    spread: bool = False,
) -> Load:
    """
    Send for so many seconds on 127.0.0.1.

    `request` holds the bytes to send; `number` must differ from run to run, for it is in the ids.
    `spread` makes ids that lie far apart from one another instead of in order.
    """
    name = (SPREAD if spread else IN_ORDER) % number
    values = {"request": request, "slot": SLOT.decode(), "name": name}
    script = request.with_suffix(f".{number}.lua")
    script.write_text(SCRIPT % values, "utf-8")
    plan = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", TIMEOUT, "-s", str(script)]
    command = ["wrk", *plan, f"http://127.0.0.1:{port}/"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 60)
    line = next(part for part in run.stdout.splitlines() if part.startswith("RESULT "))
    return msgspec.convert(json.loads(line.removeprefix("RESULT ")), Load)
