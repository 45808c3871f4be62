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

HEAD_MAX = 65_536


class Act(Enum):
    """What a sender does beside sending bytes."""

    HALF_CLOSE = "closes its sending side"


Step = bytes | Act
Steps = Sequence[Step]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)


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
            answer = await read_answer(reader)
            if answer is None:
                result.closed = True
                break
            result.answers.append(answer)
            result.seconds = time.monotonic() - began
    except ConnectionError:
        result.closed = True
    except (ValueError, asyncio.LimitOverrunError) as error:
        result.garbled = f"no HTTP: {error}"
    if not result.answers:
        result.seconds = time.monotonic() - began


async def read_answer(reader: asyncio.StreamReader) -> Answer | None:
    """
    The next answer; None at the end.

    Raises:
        ValueError: it is no HTTP, or ends in the middle.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise ValueError(f"half a head: {error.partial[:60]!r}") from None
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    version, code, *_ = first.split(" ", 2)
    if version != "HTTP/1.1" or not code.isdigit():
        raise ValueError(f"no status line: {first[:60]!r}")
    pairs = (line.partition(": ") for line in lines)
    headers = tuple((name.lower(), value) for name, _, value in pairs)
    length = int(dict(headers).get("content-length", "0"))
    try:
        body = await reader.readexactly(length)
    except asyncio.IncompleteReadError as error:
        body = error.partial  # the answer to a HEAD announces what it does not send
    return Answer(int(code), headers, body)
