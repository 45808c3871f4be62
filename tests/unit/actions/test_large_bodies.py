"""What a call with a large body holds while its target takes its time."""

import asyncio
import tracemalloc

from router.actions.http import LARGE_BODY, HttpAction
from router.egress import EgressPolicy
from router.model.job import Done
from tests.sim.makers import a_job, an_http_call
from tests.sink import running_sink

MIB = 1024 * 1024


async def test_a_large_body_is_not_copied_for_a_target_that_hangs(plain: bool) -> None:
    action = HttpAction(EgressPolicy(), plain=plain)
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


async def test_it_arrives_as_it_is(plain: bool) -> None:
    action = HttpAction(EgressPolicy(), plain=plain)
    body = bytes(range(256)) * (LARGE_BODY // 128)
    async with running_sink() as sink:
        outcome = await action.run(an_http_call(f"{sink.url}/status/200", body=body), a_job())
        await action.close()
    assert isinstance(outcome, Done)
    assert [seen.body for seen in sink.seen] == [body]
