"""PgBouncer between a router and its database, in any of its modes."""

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.acceptance.process import free_ports
from tests.postgres.binaries import unprivileged
from tests.postgres.server import USER, Server
from tests.waiting import until

SETTINGS = """\
[databases]
* = host={server.folder} port={server.port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
"""


def program() -> str:
    """Where it lies. Without it the test is skipped."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        pytest.skip("no PgBouncer here: install the system's package `pgbouncer`")
    return found


@asynccontextmanager
async def pooled(server: Server, folder: Path, database: str, mode: str) -> AsyncIterator[str]:
    """The address of a database through it."""
    (port,), user = free_ports(1), unprivileged()
    text = SETTINGS.format(server=server, user=USER, port=port, mode=mode)
    file = server.folder / f"pooler-{port}.ini"
    file.write_text(text, encoding="utf-8")
    with (folder / "pooler.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program(), file, cwd=server.folder, stdout=log, stderr=log, **user
        )
        try:
            await until(lambda: _answers(port) or process.returncode is not None)
            assert process.returncode is None, (folder / "pooler.log").read_text("utf-8")
            yield f"postgresql://{USER}@127.0.0.1:{port}/{database}"
        finally:
            process.kill()
            await process.wait()
            file.unlink()


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
