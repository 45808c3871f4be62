"""Connections: when they are used again, sent over once more, given up and closed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from router.actions.http_client.client import HttpClient
from router.actions.http_client.request import OutgoingRequest, place_of, request_of
from router.actions.http_client.response import HttpAnswer
from router.egress import EgressPolicy
from tests.hostile.targets import SHORT, Wire, serving
from tests.sim.makers import an_http_call
from tests.waiting import until

Found = HttpAnswer | Exception
PATIENCE_S = 10.0


async def _nobody(_host: str) -> list[str]:
    raise OSError("nothing is looked up")


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(EgressPolicy(), _nobody)
    yield made
    await made.close()


def _request(url: str, **changes: Any) -> OutgoingRequest:
    call = an_http_call(url, **changes)
    place = place_of(url)
    assert place is not None
    request = request_of(call, place, call.headers, None)
    assert request is not None
    return request


async def _sent(client: HttpClient, url: str, **changes: Any) -> Found:
    ended: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
    client.send(_request(url, **changes), ended.set_result)
    return await ended


def _body(found: Found) -> bytes:
    assert isinstance(found, HttpAnswer), found
    return found.body


async def _answers(wire: Wire) -> None:
    while True:
        await wire.request()
        await wire.say(SHORT)


async def test_no_more_connections_are_kept_than_there_is_room_for() -> None:
    client = HttpClient(EgressPolicy(), _nobody, idle_max=2)
    async with serving(_answers) as (url, wires):
        await asyncio.gather(*(_sent(client, url) for _ in range(4)))
        await until(lambda: len(client._open) == 2)
        await asyncio.gather(*(_sent(client, url) for _ in range(4)))
        assert len(wires) == 6
        await client.close()


async def test_a_connection_that_nobody_uses_is_closed() -> None:
    client, gone = HttpClient(EgressPolicy(), _nobody, idle_s=0.01), asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(SHORT)
        assert await wire.reader.read() == b""
        gone.set()

    async with serving(script) as (url, _):
        await _sent(client, url)
        await gone.wait()
        await until(lambda: not client._open)
        assert (client._idle, client._kept) == ({}, 0)
        await client.close()


async def test_who_cancels_before_there_is_a_connection_is_told_nothing(
    client: HttpClient,
) -> None:
    told: list[Found] = []
    async with serving(_answers) as (url, _):
        client.send(_request(url), told.append)()
        await until(lambda: not client._connecting)
        assert (client._open, told) == (set(), [])


async def test_cancelling_what_has_ended_does_nothing(client: HttpClient) -> None:
    """Its connection serves another call already."""
    async with serving(_answers) as (url, wires):
        ended: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        cancel = client.send(_request(url), ended.set_result)
        await ended
        again = asyncio.ensure_future(_sent(client, url))
        await asyncio.sleep(0)
        cancel()
        assert _body(await asyncio.wait_for(again, PATIENCE_S)) == b"ok"
        assert len(wires) == 1


async def test_what_should_never_happen_is_told_as_it_is() -> None:
    async def broken(_host: str) -> list[str]:
        raise RuntimeError("a defect")

    client = HttpClient(EgressPolicy(), broken)
    found = await _sent(client, "http://erp.example/")
    assert isinstance(found, RuntimeError)
    await client.close()
