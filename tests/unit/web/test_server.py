"""Listeners: start, say where, stop without losing what is under way."""

import asyncio
import os
import signal
import time

import pytest

from router.errors import CannotListen, UsageError
from router.web.protocol import CROWDED_S, WireProtocol
from router.web.server import bind
from tests.unit.web.wire_client import Client, serving
from tests.unit.web.wire_requests import post
from tests.waiting import until


async def test_port_0_reports_the_port() -> None:
    async with serving() as server:
        host, port = server.listener.bound
        assert host == "127.0.0.1"
        assert port > 0


async def test_an_address_in_use_is_said_plainly() -> None:
    async with serving() as server:
        address = "{}:{}".format(*server.listener.bound)
        with pytest.raises(CannotListen, match=f"{address}: the address is in use"):
            bind(address)


def test_a_malformed_address_is_refused() -> None:
    with pytest.raises(UsageError, match="host:port"):
        bind("8000")


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(CannotListen, match="no such address"):
        bind("192.0.2.1:0")


async def test_a_v4_sender_on_a_v6_socket_keeps_its_address() -> None:
    async with serving(listen="[::]:0") as server:
        port = server.listener.bound[1]
        client = Client(*await asyncio.open_connection("127.0.0.1", port))
        await client.send(post())
        assert (await client.response()).status == 200
        assert server.intake.accepted[0].peer == "127.0.0.1"
        await client.close()


async def test_two_listeners_share_the_loop() -> None:
    async with serving() as one, serving() as two:
        assert (await one.ask(post())).status == (await two.ask(post())).status == 200


async def test_stopping_lets_a_request_finish_and_takes_no_new_one() -> None:
    async with serving() as server:
        server.intake.gate = asyncio.Event()
        client = await server.connect()
        await client.send(post())
        await server.intake.entered.wait()
        stopping = asyncio.create_task(server.listener.stop(30))
        await asyncio.sleep(0)
        with pytest.raises(ConnectionError):
            await server.connect()
        server.intake.gate.set()
        answer = await client.response()
        assert (answer.status, answer.closed) == (200, True)
        await stopping


async def test_stopping_closes_idle_connections() -> None:
    async with serving(keep_alive_s=30) as server:
        client = await server.connect()
        await client.send(post())
        await client.response()
        await server.listener.stop(30)
        assert await client.rest() == b""


async def test_who_has_just_connected_is_answered_before_the_end() -> None:
    """The request was on its way: closing now would refuse it without a word."""
    async with serving() as server:
        client = await server.connect()
        await until(lambda: len(server.wire.open) == 1)
        stopping = asyncio.create_task(server.listener.stop(30))
        await asyncio.sleep(0)
        await client.send(post())
        assert (await client.response()).status == 200
        await stopping
        assert await client.rest() == b""


@pytest.mark.parametrize("said", [15, -2])
async def test_who_is_about_to_ask_is_answered_before_the_end(said: int) -> None:
    """Of a request's head, and of its body, a part had come."""
    async with serving() as server:
        client = await server.connect()
        await until(lambda: len(server.wire.open) == 1)
        await client.send(post()[:said])
        [connection] = server.wire.open
        assert isinstance(connection, WireProtocol)
        await until(lambda: connection._at.served)
        stopping = asyncio.create_task(server.listener.stop(30))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await client.send(post()[said:])
        assert (await client.response()).status == 200
        await stopping
        assert await client.rest() == b""


@pytest.mark.long
async def test_who_says_nothing_does_not_hold_up_the_end() -> None:
    async with serving() as server:
        client = await server.connect()
        await until(lambda: len(server.wire.open) == 1)
        await server.listener.stop(30)
        assert await client.rest() == b""


async def test_a_socket_that_was_given_is_listened_on_and_outlives_the_listener() -> None:
    """Who comes between two listeners waits in it, and is too late for neither."""
    with bind("127.0.0.1:0") as held:
        held.listen()
        place = held.getsockname()[:2]
        async with serving(held=held.dup()) as server:
            assert server.listener.bound == place
            assert (await server.ask(post())).status == 200
        waiting = Client(*await asyncio.open_connection(*place))
        await waiting.send(post())
        between = time.monotonic() + 2 * CROWDED_S
        while time.monotonic() < between:
            pass
        async with serving(held=held.dup()) as server:
            assert (await waiting.response()).status == 200
            [connection] = server.wire.open
            assert isinstance(connection, WireProtocol)
            assert connection._at.whole_since >= server.wire.opened_at
        await waiting.close()


async def test_stopping_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """And what it breaks off is no fault of anybody: the log has no traceback of it."""
    async with serving(answer_s=30) as server:
        server.intake.gate = asyncio.Event()
        client = await server.connect()
        await client.send(post())
        await server.intake.entered.wait()
        await server.listener.stop(0.05)
        assert await client.rest() == b""
        assert server.intake.accepted == []
        await until(lambda: len(server.wire.open) == 0)
    assert caplog.records == []


async def test_stopping_twice_is_harmless() -> None:
    async with serving() as server:
        await server.listener.stop(1)
        await server.listener.stop(1)


async def test_signals_stay_ours() -> None:
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, came.set)
    try:
        async with serving() as server:
            os.kill(os.getpid(), signal.SIGTERM)
            await came.wait()
            assert (await server.ask(post())).status == 200
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
