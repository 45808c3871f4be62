"""A fleet of real routers: one database, a link to it for each, one target, one rules file."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from router.clock import SystemClock
from router.model.store_address import DatabaseUrl
from router.store.postgres.database import Database
from tests.acceptance.process import RouterProcess, free_ports
from tests.acceptance.senders import ENDPOINTS, environ
from tests.fleet.network import Link
from tests.fleet.target import Target
from tests.postgres.server import Server
from tests.postgres.sharing import private_server
from tests.unit.store.postgres.looking import rows

SAFE = {"fsync": "on", "synchronous_commit": "on"}
LOOK_S = 0.2
PATIENCE_S = 90.0
"""Far more than anything takes that must happen."""


class NeverHappened(Exception):
    """What must happen did not."""


@dataclass
class Node:
    """A place for a router: its own folder, ports and link; one process after the other."""

    name: str
    folder: Path
    link: Link
    environ: Mapping[str, str]
    listen: int
    admin: int

    def __post_init__(self) -> None:
        self.router = self.fresh()

    def fresh(self) -> RouterProcess:
        """A process that has not been started."""
        places = (f"--listen=127.0.0.1:{self.listen}", f"--admin=127.0.0.1:{self.admin}")
        rules = self.folder / "rules.yaml"
        return RouterProcess(rules, self.listen, self.admin, self.environ, places)

    async def start(self) -> None:
        """A new process; it is ready then. Raises RouterDied, TookTooLong."""
        self.router = self.fresh()
        await asyncio.to_thread(self.router.start)

    async def ready(self) -> None:
        """Until it is ready (again). Raises RouterDied, TookTooLong."""
        await asyncio.to_thread(self.router.until, self.router.ready, "ready", seconds=PATIENCE_S)


@dataclass
class Fleet:
    """All of it, running."""

    server: Server
    nodes: list[Node]
    target: Target

    async def ask(self, sql: str) -> Any:
        """Rows of the ledger, by a connection that no fault touches."""
        db = Database(DatabaseUrl(self.server.address()), SystemClock(), 4)
        try:
            return await rows(db, sql)
        finally:
            await db.close()

    async def living(self, node: Node) -> set[int]:
        """The numbers under which a router is in the ledger and not declared gone."""
        found = await self.ask(
            f"SELECT n FROM nodes WHERE NOT gone AND admin LIKE '%:{node.admin}'"  # noqa: S608 - a port
        )
        return {number for (number,) in found}

    async def gone(self, numbers: Iterable[int]) -> bool:
        """Whether all of these nodes have been declared gone."""
        left = await self.ask("SELECT n FROM nodes WHERE NOT gone")
        return not {number for (number,) in left} & set(numbers)


async def until(true: Callable[[], Any], what: str, *, seconds: float = PATIENCE_S) -> None:
    """
    Wait until `await true()` says so.

    Raises:
        NeverHappened: it has not within so many seconds.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    while not await true():
        if asyncio.get_running_loop().time() > deadline:
            raise NeverHappened(f"{what}: not within {seconds:.0f} s")
        await asyncio.sleep(LOOK_S)


@asynccontextmanager
async def a_fleet(
    folder: Path, binaries: Path, count: int, rules: str, target: Target
) -> AsyncIterator[Fleet]:
    """
    So many routers, all ready; `rules` is what stands below the endpoints, SINK the target's
    address. In the end nothing runs.
    """
    async with AsyncExitStack() as stack:
        server = stack.enter_context(private_server(binaries, SAFE))
        await stack.enter_async_context(target.listening())
        text = ENDPOINTS + rules.replace("SINK", f"http://127.0.0.1:{target.port}")
        nodes = [
            await _node(stack, folder / f"node-{number}", server, text) for number in range(count)
        ]
        for node in nodes:
            stack.callback(_end, node)
        await nodes[0].start()  # it makes the tables
        await asyncio.gather(*[node.start() for node in nodes[1:]])
        yield Fleet(server, nodes, target)


async def _node(stack: AsyncExitStack, folder: Path, server: Server, rules: str) -> Node:
    folder.mkdir(parents=True)
    (folder / "rules.yaml").write_text(f"version: 1\n{rules}", "utf-8")
    link = await stack.enter_async_context(Link(server.port).relaying())
    address = server.address(tcp=True).replace(f":{server.port}/", f":{link.port}/")
    known = {**environ(), "ROUTER_STORE": address}
    return Node(folder.name, folder, link, known, *free_ports(2))


def _end(node: Node) -> None:
    if node.router.running:
        node.router.kill()


def drawn(seed: int, purpose: str) -> random.Random:
    """Randomness of its own for each purpose, so that one's draws do not shift another's."""
    return random.Random(f"{seed} {purpose}")
