"""What is planned is all that was asked for; a link does what its name says."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.fleet.faults import Kind, planned
from tests.fleet.network import Link

COUNTS: dict[Kind, int] = {
    "stop": 4,
    "promotion": 2,
    "kill": 7,
    "freeze": 3,
    "cut": 5,
    "hole": 0,
    "long_hole": 2,
}


@pytest.mark.parametrize("seed", range(20))
def test_all_faults_that_were_asked_for_are_planned_and_somebody_is_spared(seed: int) -> None:
    steps = planned(COUNTS, 4, random.Random(seed))
    assert Counter(kind for step in steps for kind in step) == +Counter(COUNTS)
    assert all(len(step) <= 3 for step in steps)
    assert all(len(step) == 1 or not {"stop", "promotion"} & set(step) for step in steps)


@asynccontextmanager
async def linked() -> AsyncIterator[Link]:
    """A link to a server that says what it hears."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    async with (
        await asyncio.start_server(echo, "127.0.0.1", 0) as server,
        Link(server.sockets[0].getsockname()[1]).relaying() as link,
    ):
        yield link


@asynccontextmanager
async def connected(link: Link) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", link.port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def test_a_cut_ends_what_is_there_and_what_comes_until_it_is_mended() -> None:
    async with linked() as link, connected(link) as (reader, writer):
        writer.write(b"one")
        assert await reader.readexactly(3) == b"one"
        link.cut()
        assert await reader.read() == b""
        async with connected(link) as (other, _):
            assert await other.read() == b""
        link.mend()
        async with connected(link) as (last, to_last):
            to_last.write(b"two")
            assert await last.readexactly(3) == b"two"


async def test_what_is_held_up_arrives_when_the_link_is_mended() -> None:
    async with linked() as link, connected(link) as (reader, writer):
        link.hold_up()
        writer.write(b"one")
        answer = asyncio.ensure_future(reader.readexactly(3))
        async with connected(link) as (other, to_other):
            to_other.write(b"two")
            await asyncio.wait([answer], timeout=0.05)
            assert not answer.done()
            link.mend()
            assert await answer == b"one"
            assert await other.readexactly(3) == b"two"
