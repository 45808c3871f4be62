"""The two ways in over real sockets: what is heard without any, and the same ledger."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from router.web.server import Listener
from tests.differential import made_wire
from tests.differential.ways_in import IDS, Way, heard

STREAMS = 150
ID_BYTES = len("_01JXT21Q00V3RPNP8VEP2A49JV")


def _streams() -> list[tuple[bytes, list[bytes]]]:
    rng, made = random.Random(11), list[tuple[bytes, list[bytes]]]()
    for number in range(STREAMS):
        data = made_wire.stream(rng, f"s{number}")
        made.append((data, made_wire.pieces(rng, data)))
    return made


async def _without_sockets(data: bytes) -> tuple[str, list[str]]:
    """The answer by the general way, up to the moment when the sender ends; and the ledger."""
    way = Way(short=False, late=False, trusted=())
    answered = await heard(way, [(0, data)], ["127.0.0.1"])
    return answered[0][0][0], way.ledger()


async def _asked(where: tuple[str, int], pieces: Sequence[bytes], expected: int) -> bytes:
    """Everything that is answered: as much as is expected, then what the end still brings."""
    reader, writer = await asyncio.open_connection(*where)
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0)
    said = b""
    try:
        while len(said) < expected and (more := await reader.read(65_536)):
            said += more
        writer.write_eof()
        said += await reader.read()
    except OSError:  # it has closed already
        pass
    writer.close()
    return said


async def _over_a_socket(
    short: bool, pieces: Sequence[bytes], expected: str
) -> tuple[str, list[str]]:
    way = Way(short=short, late=False, trusted=())
    listener = Listener(way.app.serve, "127.0.0.1:0", way.wire)
    await listener.start()
    said = await _asked(listener.bound, pieces, len(expected) + ID_BYTES * expected.count('"dlv"'))
    await listener.stop(5)
    return IDS.sub(r"\1", said.decode("latin-1")), way.ledger()


@pytest.mark.long
@pytest.mark.parametrize("short", [True, False], ids=["short", "general"])
async def test_over_sockets_as_without(short: bool) -> None:
    accepted = 0
    for data, pieces in _streams():
        wanted = await _without_sockets(data)
        # What is not read yet when a connection closes resets it, and may eat the answer.
        whole = "connection: close" in wanted[0]
        assert await _over_a_socket(short, [data] if whole else pieces, wanted[0]) == wanted
        accepted += len(wanted[1])
    assert accepted > STREAMS / 2
