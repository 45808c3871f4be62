"""
Large bodies at once: `python -m benchmarks.flood PORT REQUEST_FILE COUNT AT_ONCE ROUND`.

Prints JSON: how many were answered 200, how many 503 (no room for the body now), how many
otherwise or not at all. Each body goes out over a connection of its own.
"""

import json
import socket
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

from benchmarks.pace import connect, read_answer
from benchmarks.pushes import SLOT

PATIENCE_S = 60.0


def send(port: int, head: bytes, body: memoryview) -> str:
    """One delivery; the answer's status. A refusal may come before the body is all sent."""
    with closing(connect(port)) as link:
        link.settimeout(PATIENCE_S)
        with suppress(ConnectionError):
            link.sendall(head)
            link.sendall(body)
        return status(link)


def status(link: socket.socket) -> str:
    try:
        line = read_answer(link).partition(b"\r\n")[0].split(b" ")
    except OSError as error:
        return type(error).__name__
    return line[1].decode() if len(line) > 1 else "closed"


def main() -> None:
    port, place, count, at_once, number = sys.argv[1:]
    head, _, body = Path(place).read_bytes().partition(b"\r\n\r\n")
    before, after = (head + b"\r\n\r\n").split(SLOT, 1)
    whole = memoryview(body)

    def one(turn: int) -> str:
        name = f"{int(number):08x}-0000-4000-8000-{turn:012x}".encode()
        return send(int(port), before + name + after, whole)

    with ThreadPoolExecutor(int(at_once)) as pool:
        seen = Counter(pool.map(one, range(int(count))))
    others = {name: n for name, n in seen.items() if name not in ("200", "503")}
    print(json.dumps({"ok": seen["200"], "busy": seen["503"], "others": others}))


if __name__ == "__main__":
    main()
