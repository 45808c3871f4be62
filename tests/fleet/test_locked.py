"""Locks, restarts and terminated connections under load: no router ends or refuses needlessly."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.fleet import judge
from tests.fleet.campaign import answer, read
from tests.fleet.senders import Senders
from tests.fleet.site import Fleet, Node, a_fleet, drawn, until
from tests.fleet.target import Target

pytestmark = pytest.mark.long

HELD_S = 2.5
"""More than a lane waits for a lock."""
RESTARTS, TERMINATIONS, BETWEEN = 5, 20, 10
RULES = (
    "rules:\n  - {id: all, from: code, actions: {log: x}}\n"
    "  - {id: own, from: router, actions: {log: x}}\n"
)
ACCEPTING = {"deliveries", "jobs", "keys", "queue"}
"""Tables without which no delivery is accepted. Of each other one a lock refuses nobody."""
TABLES = (
    "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
    "AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1"
)
TERMINATE = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture
async def fleet(tmp_path: Path, postgres_binaries: Path) -> AsyncIterator[Fleet]:
    """Two routers."""
    target = Target(drawn(1, "target"), answer)
    async with a_fleet(tmp_path, postgres_binaries, 2, RULES, target) as fleet:
        yield fleet


@asynccontextmanager
async def under_load(fleet: Fleet) -> AsyncIterator[Senders]:
    """In the end every router runs, and has said of no part or request that it failed."""
    senders = Senders([node.router.url for node in fleet.nodes], drawn(1, "senders"), 0.1, 30.0)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(senders.send(4))
        yield senders
        for node in fleet.nodes:
            await node.ready()
        await acknowledged(senders)
        senders.ends = True
    assert set(senders.heard) <= {"200", "503"}
    assert senders.wrong == []
    assert judge.lost(await read(fleet), senders.acked) == []
    for node in fleet.nodes:
        said = node.router.log.read_text("utf-8")
        assert "a part of the router ended" not in said
        assert "admin request failed" not in said


async def acknowledged(senders: Senders) -> None:
    enough = len(senders.acked) + BETWEEN

    async def are() -> bool:
        return len(senders.acked) >= enough

    await until(are, "more deliveries accepted")


async def asked(node: Node) -> tuple[int, str]:
    """What the list of jobs answers: its status and, of a refusal, the word."""
    token = (node.folder / "router.token").read_text("ascii").strip()
    url, headers = f"{node.router.admin_url}/api/overview", {"authorization": f"Bearer {token}"}
    answered = await asyncio.to_thread(httpx.get, url, headers=headers, timeout=60)
    return answered.status_code, answered.json().get("error", "")


async def test_a_lock_on_any_table(fleet: Fleet) -> None:
    """As VACUUM FULL, CLUSTER and ALTER TABLE take it."""
    tables = [name for (name,) in await fleet.ask(TABLES)]
    assert set(tables) > ACCEPTING
    refused: set[str] = set()
    async with under_load(fleet) as senders:
        for table in tables:
            before = senders.heard["503"]
            lock = f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep({HELD_S})"
            holds = asyncio.to_thread(fleet.server.execute, lock, database="router")
            _, *answers = await asyncio.gather(holds, *[asked(node) for node in fleet.nodes])
            assert set(answers) <= {(200, ""), (503, "store_unavailable")}
            await acknowledged(senders)
            if senders.heard["503"] > before:
                refused.add(table)
    assert refused <= ACCEPTING


async def test_restarts_and_terminated_connections(fleet: Fleet) -> None:
    async with under_load(fleet) as senders:
        for _ in range(TERMINATIONS):
            await fleet.ask(TERMINATE)
            await acknowledged(senders)
        assert senders.heard["503"] == 0
        for _ in range(RESTARTS):
            await asyncio.to_thread(fleet.server.stop, "fast")
            await asyncio.to_thread(fleet.server.start)
            await acknowledged(senders)
