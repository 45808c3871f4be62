"""One watcher's answer over a real connection: it goes on, it ends, it holds up nobody."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from router.clock import SystemClock
from router.model.settings import Limits
from router.store.values import Accepted
from router.web.connections import Wire
from router.web.feed import CHUNK_BYTES, Feed, FeedFilter, FeedFull
from router.web.feed_stream import UNREAD_BYTES, EventStream
from router.web.server import Listener
from tests.builders import an_event
from tests.unit.web.test_feed import an_acceptance
from tests.waiting import until

ASK = b"GET /feed HTTP/1.1\r\nHost: h\r\n\r\n"


async def yes() -> bool:
    return True


@asynccontextmanager
async def serving(
    admitted: Callable[[], Awaitable[bool]] = yes, **limits: Any
) -> AsyncIterator[tuple[Feed, Listener]]:
    feed = Feed(SystemClock(), boot="b")
    wire = Wire(Limits(**limits), linger_s=0.05)

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        await EventStream(feed, FeedFilter(), None, admitted)(scope, receive, send)

    listener = Listener(serve, "127.0.0.1:0", wire)
    await listener.start()
    loop = asyncio.ensure_future(feed.run())
    try:
        yield feed, listener
    finally:
        loop.cancel()
        feed.end()
        await listener.stop(0.2)


def deliver(feed: Feed, count: int = 1) -> None:
    for _ in range(count):
        feed.delivered(an_acceptance(an_event()), Accepted("dlv_1"))


async def test_who_may_no_more_gets_nothing_more_and_is_let_go() -> None:
    """A token was revoked while its holder watched."""
    may = [True]

    async def admitted() -> bool:
        return may[0]

    async with serving(admitted) as (feed, listener):
        reader, writer = await asyncio.open_connection(*listener.bound)
        writer.write(ASK)
        await reader.readuntil(b"event: hello\n")
        deliver(feed)
        await reader.readuntil(b"event: delivery\n")
        may[0] = False
        deliver(feed)
        await until(lambda: feed.watchers == 0)
        assert b"event: delivery" not in await reader.read()
        writer.close()


async def test_what_happens_comes_while_the_answer_goes_on() -> None:
    async with serving(answer_s=0.1) as (feed, listener):
        reader, writer = await asyncio.open_connection(*listener.bound)
        writer.write(ASK)
        await reader.readuntil(b"event: hello\n")
        for _ in range(5):  # longer than an answer may take to begin
            deliver(feed)
            await reader.readuntil(b"event: delivery\n")
        writer.close()
        await until(lambda: feed.watchers == 0)


async def test_a_client_that_goes_is_gone_though_nothing_happens() -> None:
    async with serving() as (feed, listener):
        _, writer = await asyncio.open_connection(*listener.bound)
        writer.write(ASK)
        await until(lambda: feed.watchers == 1)
        writer.transport.abort()
        await until(lambda: feed.watchers == 0)


@pytest.mark.long
async def test_a_client_that_reads_nothing_is_dropped_and_holds_up_nobody() -> None:
    async with serving(answer_s=0.3) as (feed, listener):
        stalled, other = [await asyncio.open_connection(*listener.bound) for _ in range(2)]
        for _, writer in (stalled, other):
            writer.write(ASK)
        await until(lambda: feed.watchers == 2)
        read = 0
        while feed.watchers == 2:
            deliver(feed, 200)
            read += len(await other[0].read(1_000_000))
        assert feed.watchers == 1
        assert read > CHUNK_BYTES
        deliver(feed)
        await other[0].readuntil(b"event: delivery\n")
        for _, writer in (stalled, other):
            writer.close()


async def test_the_system_holds_little_for_a_client_that_reads_nothing() -> None:
    async with serving() as (feed, listener):
        _, writer = await asyncio.open_connection(*listener.bound)
        writer.write(ASK)
        await until(lambda: feed.watchers == 1)
        (connection,) = listener._server.server_state.connections
        taken = connection.transport.get_extra_info("socket")
        held = taken.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        assert held <= 2 * UNREAD_BYTES, "Linux doubles what it is told"
        writer.close()


async def test_the_end_of_the_router_ends_the_answer() -> None:
    async with serving(keep_alive_s=0.1) as (feed, listener):
        reader, writer = await asyncio.open_connection(*listener.bound)
        writer.write(ASK)
        await until(lambda: feed.watchers == 1)
        feed.end()
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()


def test_nobody_more_is_let_in_when_it_ends() -> None:
    feed = Feed(SystemClock(), boot="b")
    feed.end()
    with pytest.raises(FeedFull):
        EventStream(feed, FeedFilter(), None, yes)
