"""
What a target sends, counted as it comes, before it is parsed and not when somebody reads it.

aiohttp bounds the length of one header. Interim answers, blanks, line ends and the framing of
chunks it takes without end, and parses up to 256 KiB of them in one turn of the loop: a target
that sends nothing else would stop whatever else the loop does.
"""

import asyncio
import functools
from typing import Any

from aiohttp import ClientError, StreamReader, TCPConnector
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import RawResponseMessage

INTERIM_MAX = 16
INTERIM_BYTES_MAX = 16 * 1024
FRAMING_MAX = 64 * 1024
"""Of all that is not content: heads, sizes and extensions of chunks, trailers."""
PIECE = 4 * 1024
"""What is parsed before it is looked at again: some 160 of the shortest answers, a millisecond."""
SWITCHING = 101


class ExcessError(ClientError):
    """The target sent more than an answer needs; the text says of what."""


class BoundedProtocol(ResponseHandler):
    """One connection, which is closed once more comes over it than one answer may need."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._answer: StreamReader | None = None
        self._received = self._interim = self._interim_bytes = 0

    def set_response_params(self, **params: Any) -> None:
        """A request is about to be sent."""
        self._answer = None
        self._received = self._interim = self._interim_bytes = 0
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Parse it piece by piece, for as long as it may still be an answer."""
        for start in range(0, len(data) or 1, PIECE):
            piece = data[start : start + PIECE]
            if piece and self._answer is not None and self._answer.is_eof():
                self._leave()
                return
            self._received += len(piece)
            super().data_received(piece)
            if (excess := self._excess()) is not None:
                self._refuse(ExcessError(excess))
                return

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """The head of an answer was parsed."""
        message, content = data
        if 100 <= message.code <= 199 and message.code != SWITCHING:
            self._interim += 1
            self._interim_bytes += _length(message)
            if self._interim > INTERIM_MAX:
                return  # of one piece; `data_received` says so
        elif self._answer is None:
            self._answer = content
        super().feed_data(data, size)

    def _excess(self) -> str | None:
        """What there is too much of."""
        if self._interim > INTERIM_MAX:
            return f"more than {INTERIM_MAX} interim answers (1xx) came"
        if self._interim_bytes > INTERIM_BYTES_MAX:
            return f"more than {INTERIM_BYTES_MAX // 1024} KiB of interim answers (1xx) came"
        content = 0 if self._answer is None else self._answer.total_bytes
        if self._received - content > FRAMING_MAX and not self._reading_paused:
            return f"the answer has more than {FRAMING_MAX // 1024} KiB of headers and chunk sizes"
        return None  # a paused parser holds content that it has not counted yet

    def _refuse(self, error: ExcessError) -> None:
        """The call fails with this error, wherever it is waiting."""
        self.set_exception(error)
        if self._payload is not None:
            self._payload.set_exception(error)
        self._leave()

    def _leave(self) -> None:
        """Hang up at once; what was read of a whole answer stays."""
        self._payload = None  # which would hear of the end as of its own
        if self.transport is not None:
            self.transport.abort()


class BoundedConnector(TCPConnector):
    """Connections that bound what comes over them."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        factory: Any = functools.partial(BoundedProtocol, loop=self._loop)  # invariant to mypy
        self._factory = factory


def _length(message: RawResponseMessage) -> int:
    """Of the head as it is written without needless blanks."""
    line = len(f"HTTP/1.1 {message.code} {message.reason}\r\n")
    return line + sum(len(n) + len(v) + 4 for n, v in message.raw_headers) + len("\r\n")
