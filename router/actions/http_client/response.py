"""
An answer, read from bytes as they come, within bounds that hold before it is whole.

The parser is llhttp, made as lenient as targets need that no usual client refuses.
"""

import os
from typing import NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

ANSWER_MAX = 64 * 1024
INTERIM_MAX = 16
INTERIM_BYTES_MAX = 16 * 1024
FRAMING_MAX = 64 * 1024
"""Of all that is not content: heads, sizes and extensions of chunks, trailers."""
PIECE = 4 * 1024
"""What is parsed before it is looked at again: some 160 of the shortest answers, a millisecond."""
FIELD_MAX = 8190
"""Of a status line's reason, and of a header's name and value together."""
FIELDS_MAX = 128
SWITCHING = 101
_WITHOUT_BODY = frozenset({SWITCHING, 204, 304})


class TransferError(Exception):
    """A call that has no answer; the text is our own words for it, with no secret in them."""


class HttpAnswer(NamedTuple):
    """A final answer. Names of headers are in lower case, `cut` says that there is more body."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    cut: bool


class ResponseReader:
    """
    Reads the answers of one connection, one after another: bytes in, an answer out.

    After an answer, `reusable` says whether the connection is where the next one may begin.
    """

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        self.expect()

    def expect(self, *, bare: bool = False) -> None:
        """A request is about to be sent. A `bare` answer has no body, whatever it says: HEAD's."""
        self._bare = bare
        self._received = self._content = self._interim = self._interim_bytes = self._reason = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        self._status = 0  # until the head of a final answer is whole
        self._whole = self._beyond = self.reusable = False

    @property
    def heard(self) -> bool:
        """Whether anything came of an answer."""
        return self._received > 0

    def feed(self, data: bytes | memoryview) -> HttpAnswer | None:
        """
        The answer, once it is whole or longer than what is kept of it.

        Raises:
            TransferError: these bytes are no answer, or too much beside one.
        """
        for start in range(0, len(data), PIECE):
            if (answer := self._fed(data[start : start + PIECE])) is not None:
                if len(data) > start + PIECE:
                    self.reusable = False
                return answer
        return None

    def end(self, broke: OSError | None) -> HttpAnswer:
        """
        The answer that ends with its connection, which `broke` or was closed.

        Raises:
            TransferError: it has not even begun, or should have gone on.
        """
        if self._status:
            if self._ends_with_connection():
                return self._answer()
            raise TransferError("the answer broke off")
        if broke is None:
            raise TransferError("the connection was closed without an answer")
        raise TransferError("the connection broke" + errno_words(broke))

    def _fed(self, piece: bytes | memoryview) -> HttpAnswer | None:
        self._received += len(piece)
        begun = self._status
        try:
            self._parser.feed_data(piece)
        except (HttpParserUpgrade, HttpParserError):
            self.reusable = False
            # What switches to another protocol, which nobody speaks here, is an answer. So is one
            # with something behind it, unless all of it came in one piece.
            if self._status != SWITCHING and not (begun and self._whole):
                raise TransferError("the answer is not acceptable HTTP") from None
        if (excess := self._excess()) is not None:
            self.reusable = False
            raise TransferError(excess)
        if self._whole or self._content > ANSWER_MAX:
            return self._answer()
        return None

    def _excess(self) -> str | None:
        """What there is too much of."""
        if self._interim > INTERIM_MAX:
            return f"more than {INTERIM_MAX} interim answers (1xx) came"
        if self._interim_bytes > INTERIM_BYTES_MAX:
            return f"more than {INTERIM_BYTES_MAX // 1024} KiB of interim answers (1xx) came"
        if self._received - self._content > FRAMING_MAX:
            return f"the answer has more than {FRAMING_MAX // 1024} KiB of headers and chunk sizes"
        return None

    def _answer(self) -> HttpAnswer:
        chunks = self._chunks
        body = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        cut = len(body) > ANSWER_MAX
        headers = [
            (name.decode("latin-1").lower(), value.decode("utf-8", "surrogateescape"))
            for name, value in self._headers
        ]
        return HttpAnswer(self._status, headers, body[:ANSWER_MAX] if cut else body, cut)

    def _ends_with_connection(self) -> bool:
        """Whether nothing but the end of the connection can end the body."""
        codings = [value for name, value in self._headers if name.lower() == b"transfer-encoding"]
        if codings:
            return codings[-1].rpartition(b",")[2].strip().lower() != b"chunked"
        return all(name.lower() != b"content-length" for name, _ in self._headers)

    # What the parser calls. What it raises ends the parsing of the piece.

    def on_message_begin(self) -> None:
        """The first byte of an answer; behind a whole one, nobody asked for it."""
        if self._whole:
            self._beyond = True
            self.reusable = False
        self._reason = 0

    def on_status(self, reason: bytes) -> None:
        """A part of the words behind the status."""
        self._reason += len(reason)
        if self._reason > FIELD_MAX:
            raise ValueError("a long reason")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer."""
        if len(name) + len(value) > FIELD_MAX or b"\0" in value:
            raise ValueError("a header too long, or with a NUL")
        if self._status:
            return  # a trailer says nothing that is kept
        self._headers.append((name, value.rstrip(b" \t")))
        if len(self._headers) > FIELDS_MAX:
            raise ValueError("too many headers")

    def on_headers_complete(self) -> None:
        """The end of a head."""
        if self._status:
            return
        status = self._parser.get_status_code()
        if 100 <= status <= 199 and status != SWITCHING:
            self._interim += 1
            line = len(b"HTTP/1.1 100 \r\n") + self._reason
            lines = sum(len(name) + len(value) + len(b": \r\n") for name, value in self._headers)
            self._interim_bytes += line + lines + len(b"\r\n")
            self._headers.clear()
            return
        self._status = status
        self._whole = self._bare or status in _WITHOUT_BODY

    def on_body(self, part: bytes) -> None:
        """A part of a body: of the final answer's, if that has one."""
        if self._status and not self._whole:
            self._content += len(part)
            self._chunks.append(part)

    def on_message_complete(self) -> None:
        """The end of an answer."""
        if self._status and not self._beyond:
            self._whole = True
            keeps = self._parser.should_keep_alive() and self._status != SWITCHING
            self.reusable = keeps and not self._bare  # whose body the parser would wait for


def errno_words(error: BaseException) -> str:
    """What the system calls this error, if it is one of the system's."""
    number = getattr(error, "errno", None)
    return f": {os.strerror(number).lower()}" if number and number > 0 else ""
