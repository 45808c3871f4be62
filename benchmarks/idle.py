"""
From the first byte in to the action: one delivery at a time, sender and target in one process.

`python -m benchmarks.idle PORT REQUEST_FILE SINK_PORT COUNT ROUND` sends a delivery, waits until
the rule's http action calls the sink, and takes the time between on one monotonic clock.
"""

import json
import select
import socket
import sys
import time
from pathlib import Path

from benchmarks.pace import connect, percentile, read_answer
from benchmarks.pushes import SLOT

CALM_S = 0.005
PATIENCE_S = 10.0
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class Idle:
    """The sender's connection, the sink's listener, and the connections that called it."""

    def __init__(self, port: int, sink_port: int) -> None:
        self.sender = connect(port)
        self.listener = socket.create_server(("127.0.0.1", sink_port))
        self.callers: list[socket.socket] = []

    def once(self, request: bytes) -> float:
        """Seconds from just before the first byte is sent to the call's arrival."""
        start = time.perf_counter()
        self.sender.sendall(request)
        arrived = self.called(start + PATIENCE_S)
        if not read_answer(self.sender).startswith(b"HTTP/1.1 200"):
            raise SystemExit("the router refused a delivery")
        return arrived - start

    def called(self, deadline: float) -> float:
        """Wait for one call of the sink and answer it; when its first bytes came."""
        while time.perf_counter() < deadline:
            for one in select.select([self.listener, *self.callers], (), (), 1.0)[0]:
                if one is self.listener:
                    self.callers.append(self.listener.accept()[0])
                    continue
                at = time.perf_counter()
                if read_answer(one):
                    one.sendall(ANSWER)
                    return at
                self.callers.remove(one)
        raise SystemExit("the action did not run")


def main() -> None:
    port, place, sink_port, count, number = sys.argv[1:]
    idle = Idle(int(port), int(sink_port))
    head, tail = Path(place).read_bytes().split(SLOT, 1)
    taken = []
    for turn in range(int(count)):
        name = f"{int(number):08x}-0000-4000-8000-{turn:012x}"
        taken.append(idle.once(head + name.encode() + tail))
        time.sleep(CALM_S)
    shares = {"p50_ms": 0.5, "p99_ms": 0.99}
    found = {n: round(percentile(taken, s) * 1000, 3) for n, s in shares.items()}
    print(json.dumps({"deliveries": len(taken), **found}))


if __name__ == "__main__":
    main()
