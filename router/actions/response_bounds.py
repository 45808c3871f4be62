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

from router.actions.plain_http.response import (
    ANSWER_MAX,
    FRAMING_MAX,
    PIECE,
    SWITCHING,
    TOO_MUCH_FRAMING,
    interim_excess,
)


class NoAnswerError(ClientError):
    """The target sent what is no answer, or more than one needs; the text says what."""


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
            if self.exception() is not None:
                self._break_off()
                return
            if (excess := self._excess()) is not None:
                self._refuse(NoAnswerError(excess))
                return

    def feed_data(self, data: tuple[RawResponseMessage, StreamReader], size: int = 0) -> None:
        """The head of an answer was parsed."""
        message, content = data
        interim = 100 <= message.code <= 199 and message.code != SWITCHING
        if interim:
            self._interim += 1
            self._interim_bytes += _length(message)
        if interim_excess(self._interim, self._interim_bytes) is not None:
            return  # `data_received` says so
        if self._answer is None and not interim:
            self._answer = content
        super().feed_data(data, size)

    def _excess(self) -> str | None:
        """What there is too much of."""
        if (excess := interim_excess(self._interim, self._interim_bytes)) is not None:
            return excess
        content = 0 if self._answer is None else self._answer.total_bytes
        if self._received - content > FRAMING_MAX and not self._reading_paused:
            return TOO_MUCH_FRAMING
        return None  # a paused parser holds content that it has not counted yet

    def _refuse(self, error: NoAnswerError) -> None:
        """The call fails with this error, wherever it is waiting."""
        self.set_exception(error)
        if self._payload is not None:
            self._payload.set_exception(error)
        self._leave()

    def _break_off(self) -> None:
        """The parser found no answer; who reads a body already would not hear of it by itself."""
        answer = self._answer
        if answer is not None and not answer.is_eof() and answer.total_bytes <= ANSWER_MAX:
            answer.set_exception(NoAnswerError("the answer is not acceptable HTTP"))
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
