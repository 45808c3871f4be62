"""
One raw connection: bytes out in steps, answers in, and what became of the connection.

Nothing here knows HTTP beyond what is needed to tell one answer from the next.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tests.wire.sending import Answer, read_answer

HEAD_MAX = 65_536


class Act(Enum):
    """What a sender does beside sending bytes."""

    HALF_CLOSE = "closes its sending side"


Step = bytes | Act
Steps = Sequence[Step]


@dataclass
class Exchange:
    """What came of one connection. `seconds` until the last answer, or the end without one."""

    answers: list[Answer] = field(default_factory=list)
    closed: bool = False
    hung: bool = False
    seconds: float = 0.0
    garbled: str = ""

    def __str__(self) -> str:
        said = [str(answer.status) for answer in self.answers]
        end = "hangs" if self.hung else "close" if self.closed else "open"
        return " ".join([*said, end, *([self.garbled] if self.garbled else [])])


async def exchange(
    port: int, steps: Iterable[Step], *, answers: int = 1, closes: bool = False, within: float
) -> Exchange:
    """
    Send the steps; read until `answers` answers have come (and, if it `closes`, the end).

    Answers are read while sending, as a refusal may come before the last byte is out.
    """
    result, began = Exchange(), time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=HEAD_MAX)
    sending = asyncio.create_task(_send(writer, steps))
    try:
        async with asyncio.timeout(within):
            await _read(reader, result, answers, closes, began)
    except TimeoutError:
        result.hung = True
    finally:
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
        writer.transport.abort()
    return result


async def _send(writer: asyncio.StreamWriter, steps: Iterable[Step]) -> None:
    with contextlib.suppress(ConnectionError):
        for step in steps:
            if isinstance(step, bytes):
                writer.write(step)
                await writer.drain()
            else:
                writer.write_eof()


async def _read(
    reader: asyncio.StreamReader,
    result: Exchange,
    answers: int,
    closes: bool,
    began: float,
) -> None:
    try:
        while len(result.answers) < answers or closes:
            answer = await read_answer(reader, cut=True)
            if answer is None:
                result.closed = True
                break
            result.answers.append(answer)
            result.seconds = time.monotonic() - began
    except ConnectionError:
        result.closed = True
    except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        result.garbled = f"no HTTP: {error}"
    if not result.answers:
        result.seconds = time.monotonic() - began
