"""The bytes that requests are answered with, by whichever way they came."""

from functools import lru_cache

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from router.intake.reply import RETRY_AFTER_S, Reply

Headers = tuple[tuple[bytes, bytes], ...]

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


def refusal(refused: IngestRefusal) -> Reply:
    """What a refusal is answered with."""
    return Reply(
        refused.status,
        b'{"error":"%b"}' % refused.word.encode("ascii"),
        close=not refused.keep_alive,
        retry_after=RETRY_AFTER_S if refused.status == 503 else None,
    )


def reply_headers(
    length: int, content_type: str, retry_after: int | None, challenge: bytes | None, close: bool
) -> list[tuple[bytes, bytes]]:
    """The headers of an answer; `length` is its body's."""
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


def reply_bytes(reply: Reply, *, keep_alive: bool) -> bytes:
    """A whole answer."""
    body = reply.body
    head = _reply_head(
        reply.status,
        len(body),
        reply.content_type,
        reply.retry_after,
        reply.challenge,
        reply.close or not keep_alive,
        reply.headers,
    )
    return head + body


def refusal_bytes(refused: IngestRefusal, *, keep_alive: bool) -> bytes:
    """A whole refusal, without what only an application adds."""
    return reply_bytes(refusal(refused), keep_alive=keep_alive)


@lru_cache(maxsize=256)
def _reply_head(
    status: int,
    length: int,
    content_type: str,
    retry_after: int | None,
    challenge: bytes | None,
    close: bool,
    further: Headers,
) -> bytes:
    headers = [*reply_headers(length, content_type, retry_after, challenge, close), *further]
    return b"".join([STATUS_LINE[status], *[b"%b: %b\r\n" % pair for pair in headers], b"\r\n"])


BUSY_ANSWER = refusal_bytes(IngestRefusal(503, "busy", keep_alive=True), keep_alive=True)
"""To a request that was read to its end, on a connection that goes on."""
