"""Requests as bytes, signed as their senders sign, and the ways to spoil them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tests.acceptance.senders import delivery_id
from tests.faults.wire.payloads import payload
from tests.signing import signed

Pair = tuple[bytes, bytes]


@dataclass(frozen=True)
class Message:
    """One request in parts; `raw` is what stands after the head, the body if nothing is said."""

    path: bytes
    headers: tuple[Pair, ...]
    body: bytes
    method: bytes = b"POST"
    version: bytes = b"HTTP/1.1"
    raw: bytes | None = None
    measured: bool = True

    def encode(self) -> bytes:
        """The bytes on the wire; Content-Length is last, unless it is not wanted."""
        return self.head() + (self.body if self.raw is None else self.raw)

    def head(self) -> bytes:
        lines = [b"%b: %b" % pair for pair in self.headers]
        if self.measured:
            lines.append(b"Content-Length: %d" % len(self.body))
        return b"\r\n".join([b" ".join((self.method, self.path, self.version)), *lines, b"", b""])

    def with_(self, *pairs: Pair) -> "Message":
        """With more headers, in front of the others."""
        return replace(self, headers=(*pairs, *self.headers))

    def without(self, *names: bytes) -> "Message":
        kept = tuple(p for p in self.headers if p[0].lower() not in names)
        return replace(self, headers=kept)

    def changed(self, name: bytes, change: Callable[[bytes], bytes]) -> "Message":
        """With another value of one header."""
        pairs = [(n, change(v) if n.lower() == name else v) for n, v in self.headers]
        return replace(self, headers=tuple(pairs))

    def chunked(self, *parts: bytes, end: bytes = b"0\r\n\r\n") -> "Message":
        """The body as these chunks."""
        raw = b"".join(b"%x\r\n%b\r\n" % (len(p), p) for p in parts) + end
        return self.coded(raw)

    def coded(self, raw: bytes) -> "Message":
        """Transfer-Encoding: chunked, and these bytes for the body."""
        pairs = (*self.headers, (b"Transfer-Encoding", b"chunked"))
        return replace(self, headers=pairs, raw=raw, measured=False)

    def at(self, path: bytes) -> "Message":
        return replace(self, path=path)

    def of(self, **fields: object) -> "Message":
        return replace(self, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Place:
    """
    Where one provider's deliveries go, and how they are proved there.

    `other` is a key that opens nothing; `refused` what a bad proof is answered with.
    """

    provider: str
    endpoint: str
    event: str
    key: bytes
    refused: int = 401
    body_max: int = 5 * 1024 * 1024
    other: bytes = b""

    @property
    def path(self) -> bytes:
        return b"/wh_" + self.endpoint.encode()

    @property
    def signature(self) -> bytes:
        """The header that proves, in lower case."""
        return self.signed(b"", 1, 0).headers[-1][0].lower()

    def body(self, number: int) -> bytes:
        """A believable payload; `number` makes it its own."""
        return payload(self.provider, delivery_id(number), number)

    def signed(
        self,
        body: bytes,
        number: int,
        now_ms: int,
        *,
        key: bytes | None = None,
        extra: Sequence[Pair] = (),
    ) -> Message:
        """Delivery `number` with this body, as the sender would sign it."""
        headers = signed(
            self.provider,
            body,
            self.key if key is None else key,
            event=self.event,
            delivery_id=delivery_id(number),
            now_ms=now_ms,
        )
        pairs = [(n.encode("latin-1"), v.encode("latin-1")) for n, v in headers]
        return Message(self.path, ((b"Host", b"127.0.0.1"), *extra, *pairs), body)
