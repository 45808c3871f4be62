"""
Ends a server when nobody uses it any longer: python -m tests.postgres.keeper BINARIES FOLDER.

It outlives the one who started it, belongs to no terminal, and holds nobody's pipe open.
"""

import fcntl
import os
import sys
from pathlib import Path

from tests.postgres.server import Server


def main() -> None:
    binaries, folder = sys.argv[1:]
    server = Server(Path(binaries), Path(folder), 0)
    with (server.folder / "users").open() as users:
        if os.fork():
            os._exit(0)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        fcntl.flock(users, fcntl.LOCK_EX)
        server.end()


if __name__ == "__main__":
    main()
