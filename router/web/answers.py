"""The bytes of responses."""

from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus

from router.intake.reply import RETRY_AFTER_S, Reply

Headers = tuple[tuple[bytes, bytes], ...]
Parts = tuple[int, str, int | None, bytes | None, bool, Headers]
"""What the headers are made of: length, content type, Retry-After, challenge, close, further."""

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
    head = _reply_head(reply.status, _parts(reply, close=reply.close or not keep_alive))
    return head if head_only else head + reply.body


def reply_headers(reply: Reply) -> Headers:
    """Return the headers of a response, names in lower case."""
    return _headers(_parts(reply, close=reply.close))


def _parts(reply: Reply, *, close: bool) -> Parts:
    length, challenge = len(reply.body), reply.challenge
    return length, reply.content_type, reply.retry_after, challenge, close, reply.headers


@lru_cache(maxsize=256)
def _reply_head(status: int, parts: Parts) -> bytes:
    lines = [b"%b: %b\r\n" % pair for pair in _headers(parts)]
    return b"".join([status_line(status), *lines, b"\r\n"])


def _headers(parts: Parts) -> Headers:
    length, content_type, retry_after, challenge, close, further = parts
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
    return (*headers, *further)


def status_line(status: int) -> bytes:
    """Return the first line of a response."""
    return f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode("ascii")
