"""Requests that ask for another protocol: their parser stops at the head, another reads on."""

from collections.abc import Iterable
from typing import Protocol

import httptools

_FRAMING = frozenset({b"content-length", b"transfer-encoding"})


class UpgradableConnection(Protocol):
    """A connection, as far as the end of its last request goes."""

    def on_body(self, body: bytes) -> None: ...

    def on_message_complete(self) -> None: ...

    def read_no_more(self) -> None: ...


class _RestOfRequest:
    """What a second parser finds of a request whose head was read by another: body and end."""

    def __init__(self, protocol: UpgradableConnection) -> None:
        self._protocol = protocol
        self._ended = False

    def on_body(self, body: bytes) -> None:
        """A piece of this request's body, and of no other's."""
        if not self._ended:
            self._protocol.on_body(body)

    def on_message_complete(self) -> None:
        """It was the connection's last request."""
        if not self._ended:
            self._ended = True
            self._protocol.on_message_complete()
            self._protocol.read_no_more()


def parser_of_rest(
    protocol: UpgradableConnection, headers: Iterable[tuple[bytes, bytes]]
) -> httptools.HttpRequestParser:
    """A parser for what follows a head with these headers; it knows the body's framing only."""
    parser = httptools.HttpRequestParser(_RestOfRequest(protocol))
    framing = [b"%b: %b\r\n" % pair for pair in headers if pair[0] in _FRAMING]
    parser.feed_data(b"POST / HTTP/1.1\r\n%b\r\n" % b"".join(framing))
    return parser
