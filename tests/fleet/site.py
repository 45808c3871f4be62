"""A fleet of real routers: one database, a link to it for each, one target, one rules file."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from tests.acceptance.process import ROOT, RouterProcess, free_ports
from tests.acceptance.senders import ENDPOINTS, environ
from tests.fleet.network import Link
from tests.fleet.standby import Pair, private_pair
from tests.fleet.target import Target
from tests.postgres.server import Server
from tests.postgres.sharing import private_server

SAFE = {"fsync": "on", "synchronous_commit": "on"}
SERVER = "server: {store: {url: {env: ROUTER_STORE}, node: {env: NODE}}}\n"
LOOK_S = 0.2
CONNECT_S = 2.0
ULID_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
PATIENCE_S = 90.0
"""Far more than anything takes that must happen."""


class NeverHappened(Exception):
    """What must happen did not."""


@dataclass
class Node:
    """
    A place for a router: its own folder, ports and link; one process after the other. `code` is
    where its `router/` lies.
    """

    name: str
    folder: Path
    link: Link
    environ: Mapping[str, str]
    listen: int
    admin: int
    code: Path

    def __post_init__(self) -> None:
        self.router = self.fresh()

    def fresh(self) -> RouterProcess:
        """A process that has not been started."""
        places = (f"--listen=127.0.0.1:{self.listen}", f"--admin=127.0.0.1:{self.admin}")
        rules = self.folder / "rules.yaml"
        return RouterProcess(rules, self.listen, self.admin, self.environ, places, code=self.code)

    async def start(self) -> None:
        """A new process; it is ready then. Raises RouterDied, TookTooLong."""
        self.router = self.fresh()
        await asyncio.to_thread(self.router.start)

    async def ready(self) -> None:
        """Until it is ready (again). Raises RouterDied, TookTooLong."""
        await asyncio.to_thread(self.router.until, self.router.ready, "ready", seconds=PATIENCE_S)


@dataclass
class Fleet:
    """All of it, running. `pair` is the database with its standby, if it has one."""

    server: Server
    nodes: list[Node]
    target: Target
    pair: Pair | None = None

    async def fail_over(self, held_s: float) -> None:
        """The database's standby takes its place, and the routers' links lead to it."""
        assert self.pair is not None
        await self.pair.fail_over(held_s)
        self.server = self.pair.primary
        for node in self.nodes:
            node.link.lead_to(self.server.port)

    async def ask(self, sql: str) -> Any:
        """Rows of the ledger, by a connection that no fault touches."""
        db = await asyncpg.connect(self.server.address(), timeout=CONNECT_S)
        try:
            await db.set_type_codec(
                "uuid", schema="pg_catalog", encoder=str, decoder=_ulid, format="binary"
            )
            return await db.fetch(sql)
        finally:
            await db.close()

    async def living(self, node: Node) -> set[int]:
        """The numbers under which a router is in the ledger and not declared gone."""
        found = await self.ask(
            f"SELECT n FROM nodes WHERE NOT gone AND card ->> 'name' = '{node.name}'"  # noqa: S608 - ours
        )
        return {number for (number,) in found}

    async def holder(self, rule: str) -> Node:
        """The router that runs the only job of this rule that has begun."""
        found = await self.ask(
            "SELECT q.rule, n.card ->> 'name' FROM queue q "
            "JOIN nodes n ON n.n::text = split_part(q.lease, '/', 1)"
        )
        [name] = [name for one, name in found if one == rule]
        return next(node for node in self.nodes if node.name == name)

    async def gone(self, numbers: Iterable[int]) -> bool:
        """Whether all of these nodes have been declared gone."""
        left = await self.ask("SELECT n FROM nodes WHERE NOT gone")
        return not {number for (number,) in left} & set(numbers)


def _ulid(raw: bytes) -> str:
    """An id as people see it, without the kind before it; a column of the database has 16 bytes."""
    number = int.from_bytes(raw, "big")
    return "".join(ULID_DIGITS[number >> 5 * place & 31] for place in reversed(range(26)))


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
    folder: Path,
    binaries: Path,
    count: int,
    rules: str,
    target: Target,
    *,
    has_standby: bool = False,
    programs: Sequence[Path] = (ROOT,),
) -> AsyncIterator[Fleet]:
    """
    So many routers, all ready; `rules` is what stands below the endpoints, SINK the target's
    address. `has_standby`: the database has one, for which its commits wait. `programs` are
    folders that have a `router/`: they take turns. In the end nothing runs.
    """
    async with AsyncExitStack() as stack:
        pair = (
            await stack.enter_async_context(private_pair(binaries, SAFE)) if has_standby else None
        )
        server = pair.primary if pair else stack.enter_context(private_server(binaries, SAFE))
        await stack.enter_async_context(target.listening())
        text = SERVER + ENDPOINTS + rules.replace("SINK", f"http://127.0.0.1:{target.port}")
        nodes = [
            await _node(stack, folder / f"node-{number}", server, text, code)
            for number, code in zip(range(count), itertools.cycle(programs), strict=False)
        ]
        for node in nodes:
            stack.callback(_end, node)
        await nodes[0].start()  # it makes the tables
        await asyncio.gather(*[node.start() for node in nodes[1:]])
        yield Fleet(server, nodes, target, pair)


async def _node(
    stack: AsyncExitStack, folder: Path, server: Server, rules: str, code: Path
) -> Node:
    folder.mkdir(parents=True)
    (folder / "rules.yaml").write_text(f"version: 1\n{rules}", "utf-8")
    link = await stack.enter_async_context(Link(server.port).relaying())
    address = server.address(tcp=True).replace(f":{server.port}/", f":{link.port}/")
    listen, admin = free_ports(2)
    here = {"ROUTER_STORE": address, "NODE": folder.name}
    return Node(folder.name, folder, link, {**environ(), **here}, listen, admin, code)


def _end(node: Node) -> None:
    if node.router.running:
        node.router.kill()


def drawn(seed: int, purpose: str) -> random.Random:
    """Randomness of its own for each purpose, so that one's draws do not shift another's."""
    return random.Random(f"{seed} {purpose}")
