"""What a call with a large body holds while its target takes its time."""

import asyncio
import tracemalloc

from router.actions.http import HttpAction
from router.egress import EgressPolicy
from tests.sim.makers import a_job, an_http_call

MIB = 1024 * 1024


async def test_a_large_body_is_not_copied_for_a_target_that_hangs() -> None:
    action = HttpAction(EgressPolicy())
    body = b"x" * (16 * MIB)
    taken, done = asyncio.Event(), asyncio.Event()

    async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        taken.set()
        await done.wait()
        writer.close()

    server = await asyncio.start_server(hangs, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    tracemalloc.start()
    try:
        call = asyncio.ensure_future(action.run(an_http_call(url, body=body), a_job()))
        await taken.wait()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    done.set()
    await call
    server.close()
    await action.close()
    assert held < 4 * MIB
