"""Connections: when they are used again, sent over once more, given up and closed."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from router.actions.http_client.client import HttpClient
from router.actions.http_client.request import OutgoingRequest, place_of, request_of
from router.actions.http_client.response import HttpAnswer, TransferError
from router.egress import EgressPolicy
from router.errors import EgressRefused
from tests.hostile.targets import OK, SHORT, Wire, never_reads, serving
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


async def test_a_connection_serves_one_call_after_another(client: HttpClient) -> None:
    async with serving(_answers) as (url, wires):
        for _ in range(5):
            assert _body(await _sent(client, url)) == b"ok"
        assert len(wires) == 1


async def test_calls_at_once_have_connections_of_their_own(client: HttpClient) -> None:
    async with serving(_answers) as (url, wires):
        for _ in range(3):
            found = await asyncio.gather(*(_sent(client, url) for _ in range(4)))
            assert [_body(one) for one in found] == [b"ok"] * 4
        assert len(wires) == 4


async def test_other_ports_have_connections_of_their_own(client: HttpClient) -> None:
    async with serving(_answers) as (one, wires), serving(_answers) as (other, others):
        for url in (one, other, one, other):
            assert _body(await _sent(client, url)) == b"ok"
        assert (len(wires), len(others)) == (1, 1)


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


async def test_a_connection_that_the_target_closed_is_not_used(client: HttpClient) -> None:
    async def once(wire: Wire) -> None:
        await wire.request()
        await wire.say(SHORT)

    async with serving(once) as (url, wires):
        for count in (1, 2):
            assert _body(await _sent(client, url)) == b"ok"
            assert len(wires) == count
            await until(lambda: not client._open)
        assert client._idle == {}


async def test_an_answer_that_had_begun_is_not_asked_for_again(client: HttpClient) -> None:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(SHORT)
        await wire.request()
        await wire.say(OK)

    async with serving(script) as (url, wires):
        assert _body(await _sent(client, url)) == b"ok"
        assert isinstance(await _sent(client, url, method="GET"), TransferError)
        assert len(wires) == 1


async def test_an_answer_before_the_request_was_sent_is_one_and_ends_the_connection(
    client: HttpClient,
) -> None:
    """What was not written yet must not become the beginning of the next request."""

    async def script(wire: Wire) -> None:
        await wire.reader.readuntil(b"\r\n\r\n")
        await wire.say(SHORT)
        await wire.nothing()

    request = _request("http://127.0.0.1:9/")
    async with serving(script) as (url, _):
        large = request._replace(origin=_request(url).origin, rest=b"x" * 50_000_000)
        ended: asyncio.Future[Found] = asyncio.get_running_loop().create_future()
        client.send(large, ended.set_result)
        assert _body(await ended) == b"ok"
        await until(lambda: not client._open)


async def test_who_cancels_is_told_nothing_and_the_connection_is_closed(
    client: HttpClient,
) -> None:
    reached, gone = asyncio.Event(), asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        reached.set()
        assert await wire.reader.read() == b""
        gone.set()

    told: list[Found] = []
    async with serving(script) as (url, _):
        cancel = client.send(_request(url), told.append)
        await reached.wait()
        cancel()
        await gone.wait()
        await until(lambda: not client._open)
        cancel()
    assert told == []


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


async def test_a_later_deadline_is_kept_by_the_same_connection(client: HttpClient) -> None:
    release = asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(SHORT)
        await wire.request()
        await release.wait()
        await wire.say(SHORT)
        await wire.request()
        await wire.nothing()

    async with serving(script) as (url, wires):
        assert _body(await _sent(client, url)) == b"ok"
        slow = asyncio.ensure_future(_sent(client, url, timeout_s=30.0))
        (connection,) = client._open
        await until(lambda: connection._exchange)
        connection._rung()  # at the first one's deadline
        release.set()
        assert _body(await slow) == b"ok"
        assert isinstance(await _sent(client, url, timeout_s=0.05), TimeoutError)
        assert len(wires) == 1


async def test_whoever_is_on_its_way_when_the_client_is_closed_hears_of_it() -> None:
    client = HttpClient(EgressPolicy(), _nobody)
    told: list[Found] = []
    async with serving(never_reads) as (url, wires):
        client.send(_request(url, method="GET"), told.append)
        await until(lambda: len(client._open) == len(wires) == 1)
        client.send(_request(url), told.append)
        await client.close()
        await until(lambda: len(told) == 2)
        client.send(_request(url), told.append)
    assert [type(one) for one in told] == [TransferError] * 3


@pytest.mark.parametrize("first", ["127.0.0.76", "::1"])
async def test_the_next_address_is_tried_where_one_does_not_take_it(first: str) -> None:
    async def lookup(_host: str) -> list[str]:
        return [first, "127.0.0.1"]

    client = HttpClient(EgressPolicy(["127.0.0.0/8", "::1/128"]), lookup)
    async with serving(_answers) as (url, _):
        assert _body(await _sent(client, url.replace("127.0.0.1", "erp.example"))) == b"ok"
        await client.close()


async def test_what_a_name_leads_to_is_checked_address_by_address() -> None:
    async def lookup(_host: str) -> list[str]:
        return ["10.0.0.1", "127.0.0.1"]

    client = HttpClient(EgressPolicy(), lookup)
    async with serving(_answers) as (url, wires):
        found = await _sent(client, url.replace("127.0.0.1", "erp.example"))
        assert isinstance(found, EgressRefused)
        assert wires == []
        await client.close()


async def test_what_should_never_happen_is_told_as_it_is() -> None:
    async def broken(_host: str) -> list[str]:
        raise RuntimeError("a defect")

    client = HttpClient(EgressPolicy(), broken)
    found = await _sent(client, "http://erp.example/")
    assert isinstance(found, RuntimeError)
    await client.close()
