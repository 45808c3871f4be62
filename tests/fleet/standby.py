"""A primary whose commits wait for its standby, and what becomes of both when it fails."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.fleet.network import Link
from tests.postgres.server import Server, copy_of
from tests.postgres.sharing import private_place, private_server

WAITING = "synchronous_standby_names", "*"
STREAMING = {"wal_retrieve_retry_interval": "200ms", "wal_keep_size": "256MB"}


@dataclass
class Pair:
    """Two servers that take turns as the primary; `link` leads the standby to it."""

    primary: Server
    standby: Server
    settings: Mapping[str, str]
    link: Link

    async def fail_over(self, held_s: float) -> None:
        """
        For so many seconds nothing reaches the standby. Then the primary is stopped as a crash
        leaves it, what is on the way is lost, and the standby is promoted. Its commits wait.
        """
        self.link.hold_up()
        await asyncio.sleep(held_s)
        await asyncio.to_thread(self.primary.stop, "immediate")
        self.link.cut()
        self.link.mend()
        await asyncio.to_thread(self.standby.promote)
        self.primary, self.standby = self.standby, self.primary

    async def restore(self) -> None:
        """What was the primary becomes the standby, as a new copy; commits wait no longer."""
        self.link.lead_to(self.primary.port)
        self.standby = await asyncio.to_thread(
            copy_of, self.primary, self.standby, self.link.port, self.settings
        )


@asynccontextmanager
async def private_pair(binaries: Path, settings: Mapping[str, str]) -> AsyncIterator[Pair]:
    """Of the caller's own. Nothing is committed that is not on both."""
    both = {**settings, **STREAMING}
    name, names = WAITING
    async with AsyncExitStack() as stack:
        primary = stack.enter_context(private_server(binaries, both))
        place = stack.enter_context(private_place(binaries))
        link = await stack.enter_async_context(Link(primary.port).relaying())
        pair = Pair(primary, place, {**both, name: names}, link)
        await pair.restore()
        primary.execute(f"ALTER SYSTEM SET {name} = '{names}'", "SELECT pg_reload_conf()")
        yield pair
