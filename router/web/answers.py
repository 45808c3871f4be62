"""The bytes that requests are answered with, by whichever way they came."""

from collections.abc import Sequence
from functools import lru_cache

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from router.intake.reply import Reply
from router.rules.live import LiveEndpoint

RETRY_AFTER_S = 5

Headers = Sequence[tuple[bytes, bytes]]

_JSON = (b"content-type", b"application/json")
_NOSNIFF = (b"x-content-type-options", b"nosniff")
_CLOSE = (b"connection", b"close")


class IngestRefusal(Exception):
    """
    The request is refused: `status` and a short fixed word for the sender. `keep_alive`: it was
    read to its end, so the connection can go on.
    """

    def __init__(self, status: int, word: str, *, keep_alive: bool = False) -> None:
        super().__init__(word)
        self.status = status
        self.word = word
        self.keep_alive = keep_alive


def error_body(word: str) -> bytes:
    """The whole body of a refusal."""
    return b'{"error":"%s"}' % word.encode("ascii")


def reply_headers(
    length: int, content_type: str, retry_after: int | None, challenge: bytes | None, close: bool
) -> list[tuple[bytes, bytes]]:
    """The headers of an answer that the intake gave; `length` is its body's."""
    headers: list[tuple[bytes, bytes]] = [(b"content-length", b"%d" % length)]
    if content_type == "application/json":
        headers.append(_JSON)
    else:
        headers += [(b"content-type", content_type.encode("latin-1")), _NOSNIFF]
    if retry_after is not None:
        headers.append((b"retry-after", b"%d" % retry_after))
    if challenge is not None:
        headers.append((b"www-authenticate", challenge))
    if close:
        headers.append(_CLOSE)
    return headers


def refusal_headers(
    refused: IngestRefusal, length: int, entry: LiveEndpoint | None
) -> list[tuple[bytes, bytes]]:
    """The headers of a refusal of the listener itself."""
    headers = [_JSON, (b"content-length", b"%d" % length)]
    if not refused.keep_alive:
        headers.append(_CLOSE)
    if refused.status == 405 and entry is not None:
        headers.append((b"allow", ", ".join(sorted(entry.methods)).encode("ascii")))
    if refused.status == 503:
        headers.append((b"retry-after", b"%d" % RETRY_AFTER_S))
    return headers


def reply_bytes(reply: Reply, *, keep_alive: bool) -> bytes:
    """A whole answer that the intake gave."""
    body = reply.body
    head = _reply_head(
        reply.status,
        keep_alive,
        len(body),
        reply.content_type,
        reply.retry_after,
        reply.challenge,
        reply.close,
    )
    return head + body


def refusal_bytes(refused: IngestRefusal, *, keep_alive: bool) -> bytes:
    """A whole refusal of a request that was read to its end."""
    body = error_body(refused.word)
    headers = refusal_headers(refused, len(body), None)
    return _head(refused.status, headers, keep_alive or not refused.keep_alive) + body


def closing_answer(status: int, word: str) -> bytes:
    """A complete response that ends its connection."""
    body = error_body(word)
    retry = b"retry-after: %d\r\n" % RETRY_AFTER_S if status == 503 else b""
    return (
        STATUS_LINE[status]
        + b"content-type: application/json\r\n"
        + b"content-length: %d\r\n" % len(body)
        + retry
        + b"connection: close\r\n\r\n"
        + body
    )


@lru_cache(maxsize=256)
def _reply_head(
    status: int,
    keep_alive: bool,
    length: int,
    content_type: str,
    retry_after: int | None,
    challenge: bytes | None,
    close: bool,
) -> bytes:
    headers = reply_headers(length, content_type, retry_after, challenge, close)
    return _head(status, headers, keep_alive or close)


def _head(status: int, headers: Headers, said: bool) -> bytes:
    """`said`: whether the connection stays, or its end stands among the headers already."""
    lines = [b"%b: %b\r\n" % pair for pair in headers]
    if not said:
        lines.append(b"connection: close\r\n")
    return b"".join([STATUS_LINE[status], *lines, b"\r\n"])


BUSY_ANSWER = refusal_bytes(IngestRefusal(503, "busy", keep_alive=True), keep_alive=True)
"""To a request that was read to its end, on a connection that goes on."""
