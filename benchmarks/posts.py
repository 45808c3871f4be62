"""
Requests made beforehand, sent as fast as answers come: `python -m benchmarks.posts PORT FILE N`.

For deliveries that differ in more than an id, so that wrk cannot make them. FILE holds a msgpack
list of whole requests; N connections take the next one in turn. Prints JSON.
"""

import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.pace import connect, percentile, read_answer


def work(link: socket.socket, requests: Iterator[bytes], taken: list[float]) -> None:
    """Send what is left, one after another; each one's seconds."""
    for request in requests:
        began = time.perf_counter()
        link.sendall(request)
        answer = read_answer(link)
        if not answer.startswith(b"HTTP/1.1 200") or b"accepted" not in answer:
            raise SystemExit(f"a delivery was answered {answer[:200]!r}")
        taken.append(time.perf_counter() - began)


def main() -> None:
    port, place, connections = sys.argv[1:]
    requests = msgspec.msgpack.decode(Path(place).read_bytes(), type=list[bytes])
    left = iter(requests)  # a list's iterator may be shared: each next() is one step
    taken: list[float] = []
    links = [connect(int(port)) for _ in range(int(connections))]
    threads = [threading.Thread(target=work, args=(link, left, taken)) for link in links]
    began = time.perf_counter()
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    seconds = time.perf_counter() - began
    shares = {"p50_ms": 0.5, "p99_ms": 0.99}
    found = {n: percentile(taken, s) * 1000 for n, s in shares.items()} if taken else {}
    print(json.dumps({"answers": len(taken), "seconds": seconds, **found}))


if __name__ == "__main__":
    main()
