"""
Fill a store as the router does that is imported: kept for each schema that was released.

    python tests/unit/store/released/making.py schema-5.db.gz     in a checkout of the release

What old routers do not know is left out of their stores. That of schema 3, which no router of its
own wrote, is that of schema 2 with one migration more.
"""

import asyncio
import gzip
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path.cwd()))  # the router of the checkout, not one that is installed

from router.store.sqlite.store import open_store
from tests.clocks import START_MS, ManualClock
from tests.store_values import Maker, a_settlement

STATES = ("succeeded", "dead", "retryable", "running")
"""What becomes of the first jobs, in the order in which they are leased."""


async def fill(path: Path) -> None:
    store, make = await open_store(str(path), clock=ManualClock()), Maker(20_261_122)
    for place, name in enumerate((*STATES, "available")):
        job = make.job(rule=name, due_at=START_MS + place)
        await store.accept(make.acceptance(name.encode(), jobs=[job], body=name.encode()))
    paused = make.job(rule="waiting", state="waiting")
    await store.accept(make.acceptance(b"waiting", jobs=[paused], body=b"waiting"))
    nothing = make.acceptance(b"unmatched", jobs=(), state="unmatched", body=b"unmatched")
    await store.accept(nothing)
    for state in STATES:
        batch = await store.lease({"erp": 1}, lease="old/1", now=START_MS + 100)
        (leased,) = batch.jobs
        if state != "running":
            later = {"due_at": START_MS + 200} if state == "retryable" else {}
            await store.settle(a_settlement(leased.job, state, **later))
    if hasattr(store, "remember"):
        await store.remember({"ranges/a": ["192.0.2.0/24"]})
    await store.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "router.db"
        asyncio.run(fill(made))
        Path(sys.argv[1]).write_bytes(gzip.compress(made.read_bytes(), mtime=0))
