"""
Senders of several endpoints at a fixed pace each, and the target that their jobs call, together.

`python -m benchmarks.neighbours PORT SINK_PORT RATE COUNT ROUND REQUEST_FILE...` sends COUNT
deliveries of each file, RATE a second, and prints JSON: milliseconds from when a delivery was due
to be sent to the call of the rule's target, by one clock. The path of a call ends in the id of
its delivery.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import uvloop

from benchmarks.pace import percentile
from benchmarks.pushes import SLOT
from benchmarks.sink import LENGTH, Quick

PATIENCE_S = 30.0
LOOK_S = 0.01
ID_CHARS = len(SLOT)


class Senders:
    """What was due when, and what was called when, by delivery id. Seconds."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.due: dict[str, float] = {}
        self.called: dict[str, float] = {}
        self.not_200 = 0

    def heard(self, head: bytes) -> None:
        """A call came."""
        name = head.split(b" ", 2)[1][-ID_CHARS:].decode("ascii")
        self.called.setdefault(name, time.perf_counter())

    async def send(self, port: int, request: bytes, place: int, rate: float, count: int) -> None:
        """Deliveries of one endpoint over one connection; `place` keeps their ids apart."""
        head, tail = request.split(SLOT, 1)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        begin = time.perf_counter() + (1 + place % 7) / 7 / rate
        for turn in range(count):
            due = begin + turn / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            name = f"{self.number:08x}-{place:04x}-4000-8000-{turn:012x}"
            self.due[name] = due
            writer.write(head + name.encode() + tail)
            self.not_200 += not await answered_200(reader)
        writer.close()

    async def all_called(self) -> None:
        """Wait for the last calls, not for ever."""
        until = time.perf_counter() + PATIENCE_S
        while len(self.called) < len(self.due) and time.perf_counter() < until:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_S)

    def report(self) -> dict[str, Any]:
        lags = [at - self.due[name] for name, at in self.called.items()]
        shares = {"p50_ms": 0.5, "p99_ms": 0.99, "worst_ms": 1.0}
        found = {n: round(percentile(lags, s) * 1000, 3) for n, s in shares.items() if lags}
        return {"sent": len(self.due), "called": len(lags), "not_200": self.not_200, **found}


async def answered_200(reader: asyncio.StreamReader) -> bool:
    head = await reader.readuntil(b"\r\n\r\n")
    length = LENGTH.search(head)
    await reader.readexactly(int(length[1]) if length else 0)
    return head.startswith(b"HTTP/1.1 200")


async def run(
    ports: tuple[int, int], rate: float, count: int, senders: Senders, requests: list[bytes]
) -> None:
    port, sink_port = ports
    Quick.heard = senders.heard
    server = await asyncio.get_running_loop().create_server(Quick, "127.0.0.1", sink_port)
    await asyncio.gather(
        *(senders.send(port, one, place, rate, count) for place, one in enumerate(requests))
    )
    await senders.all_called()
    server.close()


def main() -> None:
    port, sink_port, rate, count, number = sys.argv[1:6]
    senders = Senders(int(number))
    requests = [Path(place).read_bytes() for place in sys.argv[6:]]
    ports = int(port), int(sink_port)
    uvloop.run(run(ports, float(rate), int(count), senders, requests))
    print(json.dumps(senders.report()))


if __name__ == "__main__":
    main()
