"""What the head of one request may be, as far as its connection cares."""

import string
from collections.abc import Sequence

from router.model.packed import HEADER, WINDOWS
from router.model.settings import Limits
from router.web.answers import IngestRefusal

_HOST = (string.ascii_letters + string.digits + "!$&'()*+,;=-._~:[]@%").encode()
"""What a Host may be made of (RFC 3986, 3.2.2)."""
WATCHED = frozenset(
    {b"host", b"expect", b"transfer-encoding", b"content-length", b"content-encoding", b"upgrade"}
)
"""The fields that `RequestHead.watch` wants to see; lower case."""


def is_readable(headers: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether the body is packed in no other way than can be read; else it gets 415."""
    words = [value.strip().lower() for name, value in headers if name == HEADER]
    given = [word for word in words if word]
    return all(word == b"identity" for word in given) or (len(given) == 1 and given[0] in WINDOWS)


class RequestHead:
    """What the fields of one head have said so far."""

    hosts = 0
    codings = 0
    expects = False
    length = 0
    """What the body is announced with; the parser has checked that it is a number, given once."""
    unusual = False
    """It says more of its body than a length, or of its connection than whether it stays."""
    blanks = 0
    """Bytes that values lost around them."""
    late_bytes = 0
    """Bytes after the chunk in which it began."""
    cut = False
    """It did not come in one chunk."""
    wire_bytes = 0
    """Bytes of the chunks of the network that hold parts of the body."""

    def watch(self, name: bytes, value: bytes) -> None:
        """
        Note a field of `WATCHED`.

        Raises:
            IngestRefusal: it may not be so.
        """
        if name == b"host":
            self.hosts += 1
            if value.translate(None, _HOST):
                raise IngestRefusal(400, "malformed_request")
        elif name == b"content-length":
            self.length = int(value)
        else:
            self.unusual = True
            if name == b"expect":
                if value.lower() != b"100-continue":
                    raise IngestRefusal(417, "expectation_failed")
                self.expects = True
            elif name == b"transfer-encoding":
                self.codings += 1
                if value.lower() != b"chunked" or self.codings > 1:
                    raise IngestRefusal(400, "malformed_request")

    def check(
        self,
        target: bytes,
        headers: Sequence[tuple[bytes, bytes]],
        came: int,
        limits: Limits,
        version: str,
    ) -> None:
        """
        Check the whole of it; `came`: how many bytes the chunk has in which it ended.

        Raises:
            IngestRefusal: it is too large, asks for `*`, names not one host, or is not HTTP/1.x.
        """
        if len(headers) > limits.header_count:
            raise IngestRefusal(431, "too_many_headers")
        # Most heads are smaller than the limit because the chunk they came in is.
        if self.cut or came > limits.header_bytes:
            size = sum([len(name) + len(value) + 4 for name, value in headers])
            if size + self.blanks > limits.header_bytes:
                raise IngestRefusal(431, "headers_too_large")
        if target == b"*":
            raise IngestRefusal(400, "malformed_request")
        if self.hosts != 1 and (self.hosts or version == "1.1"):
            raise IngestRefusal(400, "bad_host")
        if version not in ("1.1", "1.0"):  # the parser takes 0.9 and 2.0, too
            raise IngestRefusal(400, "malformed_request")
