"""The bytes of responses."""

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from router.intake.reply import RETRY_AFTER_S, Reply

_JSON = (b"content-type", b"application/json")
_NOSNIFF = (b"x-content-type-options", b"nosniff")
_CLOSE = (b"connection", b"close")
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


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


def refusal(refused: IngestRefusal, methods: Iterable[str] = ()) -> Reply:
    """Return the response to a refused request; `methods` are those that a 405 allows."""
    allow = ", ".join(sorted(methods)).encode("ascii")
    return Reply(
        refused.status,
        b'{"error":"%b"}' % refused.word.encode("ascii"),
        close=not refused.keep_alive,
        retry_after=RETRY_AFTER_S if refused.status == 503 else None,
        headers=((b"allow", allow),) if refused.status == 405 else (),
    )


def reply_bytes(reply: Reply, *, keep_alive: bool, head_only: bool = False) -> bytes:
    """Return a whole response; `head_only`: without its body, for HEAD."""
    make = _reply_head.__wrapped__ if reply.headers else _reply_head  # they may be its alone
    head = make(
        reply.status,
        len(reply.body),
        reply.content_type,
        reply.retry_after,
        reply.challenge,
        reply.close or not keep_alive,
        reply.headers,
    )
    return head if head_only else head + reply.body


@lru_cache(maxsize=256)
def _reply_head(status: int, length: int, *parts: Any) -> bytes:
    lines = [b"%b: %b\r\n" % pair for pair in _headers(length, *parts)]
    return b"".join([status_line(status), *lines, b"\r\n"])


def reply_headers(reply: Reply) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response, names in lower case."""
    parts = reply.content_type, reply.retry_after, reply.challenge, reply.close, reply.headers
    return _headers(len(reply.body), *parts)


def _headers(
    length: int,
    content_type: str,
    retry_after: int | None,
    challenge: bytes | None,
    close: bool,
    further: Iterable[tuple[bytes, bytes]],
) -> list[tuple[bytes, bytes]]:
    headers = [(b"content-length", b"%d" % length)]
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
    return [*headers, *further]


def status_line(status: int) -> bytes:
    """Return the first line of a response."""
    return f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode("ascii")
