"""
Keep a store as the program of a commit leaves it:

    python -m tests.stores REF [REF...]

A commit is run with what is installed here, on a SQLite file and on a private PostgreSQL. Written
are `tests/stores/sqlite-NNN.db.gz` and `tests/stores/postgres-NNN.sql.gz`, by the number of the
commit's schema; a store that is there is never written again.
"""

import argparse
import gzip
import re
import sys
import tempfile
from pathlib import Path

from benchmarks.baseline import archived
from tests.faults.telling import say
from tests.postgres.binaries import installed
from tests.postgres.server import USER, Server, new_place, set_up
from tests.stores.making import left_by

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.stores",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("refs", nargs="+", metavar="REF")
    for ref in parser.parse_args().refs:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            archived(ref, folder / "code")
            of_sqlite(folder)
            of_postgres(folder)
    return 0


def of_sqlite(folder: Path) -> None:
    schema = schema_of(folder / "code", "sqlite")
    place = HERE / f"sqlite-{schema:03}.db.gz"
    if not place.exists():
        rig = left_by(folder / "code", folder / "sqlite")
        keep(place, rig.store.read_bytes())


def of_postgres(folder: Path) -> None:
    schema = schema_of(folder / "code", "postgres")
    place = HERE / f"postgres-{schema:03}.sql.gz"
    if place.exists():
        return
    server = set_up(new_place(next(installed())))
    try:
        left_by(folder / "code", folder / "postgres", ROUTER_STORE=server.address())
        keep(place, portable(server).encode())
    finally:
        server.end()


def schema_of(code: Path, store: str) -> int:
    text = (code / "router" / "store" / store / "schema.py").read_text("utf-8")
    return int(re.findall(r"^VERSION = (\d+)$", text, re.MULTILINE)[0])


def portable(server: Server) -> str:
    """A dump that any PostgreSQL of ours takes, by any `psql`."""
    lines = server.dump(USER, "--inserts", "--no-owner", "--no-privileges").splitlines(True)
    newer = ("\\restrict", "\\unrestrict", "SET transaction_timeout")
    return "".join(line for line in lines if not line.startswith(newer))


def keep(place: Path, content: bytes) -> None:
    place.write_bytes(gzip.compress(content, mtime=0))
    say(f"{place.name}: {place.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.exit(main())
