"""The PostgreSQL that tests are given: it is private, shared by a run, and gone afterwards."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncpg
import pytest

from tests.postgres.binaries import MISSING, installed, runnable, unprivileged
from tests.postgres.emptying import emptied
from tests.postgres.server import Server
from tests.postgres.sharing import ROOT, private_server
from tests.waiting import until

pytestmark = pytest.mark.long

BINARIES = list(dict.fromkeys(installed()))
EACH = [
    pytest.param(one, marks=[pytest.mark.long] if number else [], id=one.parent.name)
    for number, one in enumerate(BINARIES)
]
HERE = pytest.mark.skipif(not BINARIES, reason=MISSING)
USER_OF_A_SERVER = """
import sys
from pathlib import Path
from tests.postgres.sharing import shared_server
with shared_server(Path(sys.argv[1]), Path(sys.argv[2])) as server:
    print(server.folder, server.port, server.pid, flush=True)
    sys.stdin.read()
"""


async def shown(address: str, *settings: str) -> list[str]:
    connection = await asyncpg.connect(address)
    try:
        return [await connection.fetchval(f"SHOW {one}") for one in settings]
    finally:
        await connection.close()


async def test_the_run_has_one_without_sync(postgres: str, worker_id: str) -> None:
    (fsync,) = await shown(postgres, "fsync")
    assert fsync == "off"
    connection = await asyncpg.connect(postgres)
    try:
        assert await connection.fetchval("SELECT current_database()") == worker_id
        assert await connection.fetchval("SELECT current_user") == "router"
    finally:
        await connection.close()


@pytest.mark.parametrize("binaries", EACH)
async def test_a_private_one_keeps_what_was_committed_over_a_crash(binaries: Path) -> None:
    with private_server(binaries, {"fsync": "on"}) as server:
        assert await shown(server.address(), "fsync", "max_connections") == ["on", "100"]
        connection = await asyncpg.connect(server.address(tcp=True))
        await connection.execute("CREATE TABLE t AS SELECT 7 AS n")
        server.stop("immediate")
        assert server.pid is None
        connection.terminate()
        server.start()
        assert server.execute("SELECT n FROM t", database="router") == "7"
    assert not server.folder.exists()
    with pytest.raises(ConnectionRefusedError):
        await asyncpg.connect(server.address(tcp=True))


@contextmanager
def user_of(run: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process that uses the run's server until its input ends, and what it was given."""
    command = [sys.executable, "-c", USER_OF_A_SERVER, str(run), str(BINARIES[0])]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def given(line: str) -> tuple[Server, int]:
    folder, port, pid = line.split()
    return Server(BINARIES[0], Path(folder), int(port)), int(pid)


def lives(pid: int) -> bool:
    """Not ended; one that nobody has waited for yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@HERE
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
async def test_the_last_user_takes_it_along_and_the_next_gets_another(
    tmp_path: Path,
) -> None:
    with ExitStack() as users:
        first, line = users.enter_context(user_of(tmp_path))
        second, same = users.enter_context(user_of(tmp_path))
        assert line == same
        server, pid = given(line)
        first.kill()
        first.wait()
        assert await shown(server.address(), "fsync") == ["off"]
        second.send_signal(signal.SIGKILL)
        second.wait()
        await until(lambda: not lives(pid))
        await until(lambda: not server.folder.exists())
    with user_of(tmp_path) as (third, another):
        assert given(another)[0].folder != server.folder
        third.communicate()
        assert third.returncode == 0
        assert not given(another)[0].folder.exists()


async def test_an_emptied_database_keeps_tables_and_the_ledgers_row(
    postgres_server: Server,
) -> None:
    postgres_server.execute("CREATE DATABASE emptying OWNER router")
    address = postgres_server.address("emptying")
    connection = await asyncpg.connect(address)
    try:
        await connection.execute(
            "CREATE TABLE ledger AS SELECT 1 AS schema;"
            "CREATE TABLE days (day int) PARTITION BY RANGE (day);"
            "CREATE TABLE day PARTITION OF days FOR VALUES FROM (0) TO (9);"
            "CREATE TABLE nodes (n int GENERATED ALWAYS AS IDENTITY, name text);"
            "INSERT INTO days VALUES (1)"
        )
        for _ in range(2):
            made = await connection.fetchval("INSERT INTO nodes (name) VALUES ('a') RETURNING n")
            assert made == 1
            await emptied(address)
            for table, rows in (("ledger", 1), ("days", 0), ("nodes", 0)):
                assert await connection.fetchval(f"SELECT count(*) FROM {table}") == rows  # noqa: S608 - our own three
    finally:
        await connection.close()
        postgres_server.execute("DROP DATABASE emptying")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs it as somebody else")
def test_binaries_that_the_other_user_cannot_reach_are_copied(tmp_path: Path) -> None:
    """With the libraries that a wheel keeps beside its package."""
    program = tmp_path / "closed" / "package" / "install" / "bin" / "initdb"
    library = tmp_path / "closed" / "package.libs" / "libpq.so"
    for file in (program, library):
        file.parent.mkdir(parents=True)
        file.write_text("#!/bin/sh\nexit 0\n")
        file.chmod(0o700)
    copied = runnable(program.parent, tmp_path)
    assert copied == tmp_path / "installed" / "package" / "install" / "bin"
    for file in (copied / "initdb", tmp_path / "installed" / "package.libs" / "libpq.so"):
        assert file.stat().st_uid == unprivileged()["user"]
