"""
Requests at a fixed pace, whatever the answers take: the open-loop generator.

`python -m benchmarks.pace PORT REQUEST_FILE RATE COUNT ROUND` prints JSON. A latency runs from the
moment the request was due, not from when a busy generator came to send it. Plain sockets and
select(2): its time-out is good to microseconds where an event loop's is to a millisecond.
"""

import json
import re
import select
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any

from benchmarks.figures import classes
from benchmarks.pushes import SLOT

CONNECTIONS = 32
PATIENCE_S = 30.0
LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


def percentile(values: list[float], share: float) -> float:
    """By nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def connect(port: int) -> socket.socket:
    link = socket.create_connection(("127.0.0.1", port))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def read_answer(link: socket.socket) -> bytes:
    """One whole answer, head and body; what there is of it when the server closes."""
    answer = b""
    while chunk := link.recv(65_536):
        answer += chunk
        head, found, body = answer.partition(b"\r\n\r\n")
        length = LENGTH.search(head)
        if found and len(body) >= (int(length[1]) if length else 0):
            return answer
    return answer


class Pace:
    """One run: `count` requests, one every 1 / `rate` seconds. Latencies in seconds."""

    def __init__(self, port: int, request: bytes, rate: float, number: int) -> None:
        self.head, self.tail = request.split(SLOT, 1)
        self.free = deque(connect(port) for _ in range(CONNECTIONS))
        self.busy: dict[socket.socket, float] = {}
        self.rate = rate
        self.number = number
        self.latencies: list[float] = []
        self.late: list[float] = []
        self.refused = 0

    def run(self, count: int) -> None:
        start = time.perf_counter() + 0.05
        sent = 0
        end = start + count / self.rate + PATIENCE_S
        while len(self.latencies) + self.refused < count and time.perf_counter() < end:
            due = start + sent / self.rate
            if sent < count and self.free and time.perf_counter() >= due:
                self.send(sent, due)
                sent += 1
                continue
            wait = max(0.0, due - time.perf_counter()) if sent < count and self.free else 1.0
            for link in select.select(list(self.busy), (), (), wait)[0]:
                self.receive(link)

    def send(self, count: int, due: float) -> None:
        link = self.free.popleft()
        self.late.append(time.perf_counter() - due)
        link.sendall(
            self.head + f"{self.number:08x}-0000-4000-8000-{count:012x}".encode() + self.tail
        )
        self.busy[link] = due

    def receive(self, link: socket.socket) -> None:
        answer = read_answer(link)
        due = self.busy.pop(link)
        if answer.startswith(b"HTTP/1.1 200"):
            self.latencies.append(time.perf_counter() - due)
        else:
            self.refused += 1
        if answer:
            self.free.append(link)

    def report(self) -> dict[str, Any]:
        """Milliseconds; `counts` by the classes of a histogram; `late` is the generator's own."""
        shares = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999, "worst_ms": 1.0}
        found = {n: round(percentile(self.latencies, s) * 1000, 3) for n, s in shares.items()}
        return {
            "answers": len(self.latencies),
            "not_200": self.refused,
            **found,
            "late_p99_ms": round(percentile(self.late, 0.99) * 1000, 3),
            "counts": classes([one * 1000 for one in self.latencies]),
        }


def main() -> None:
    port, place, rate, count, number = sys.argv[1:]
    pace = Pace(int(port), Path(place).read_bytes(), float(rate), int(number))
    pace.run(int(count))
    print(json.dumps(pace.report()))


if __name__ == "__main__":
    main()
