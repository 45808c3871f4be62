"""Where a listener can listen, and what is said where it cannot."""

import asyncio

import pytest

from router.errors import CannotListen, UsageError
from router.web.server import bind
from tests.unit.web.wire_client import Client, serving
from tests.wire.row import post


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
