"""
The shortest look at a request: whether a chunk is one whole POST, where it goes, and whether it
would wait too long there.

The same parser as for all requests says where it ends, so that nobody is answered for a request
that is none; but nothing is made of its head.
"""

import httptools

from router.web.connections import Wire
from router.web.small_post import SMALL_BYTES


class _Seen:
    """What the parser calls back for one chunk."""

    begun = whole = 0
    plain = False
    target = b""

    def __init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)

    def on_message_begin(self) -> None:
        self.begun += 1

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_headers_complete(self) -> None:
        parser = self.parser
        usual = parser.get_method() == b"POST" and parser.get_http_version() == "1.1"
        self.plain = usual and parser.should_keep_alive()

    def on_message_complete(self) -> None:
        self.whole += 1


def path_of_whole_post(chunk: bytes) -> bytes | None:
    """
    The raw path of the only request in these bytes, which stand between two requests; None if they
    are anything but one whole POST of HTTP/1.1 whose connection goes on.
    """
    seen = _Seen()
    try:
        seen.parser.feed_data(chunk)
    except (httptools.HttpParserError, httptools.HttpParserUpgrade):
        return None  # whoever reads it in earnest finds the same
    finally:
        del seen.parser  # they hold each other: both would wait for a collection
    if not (seen.plain and seen.begun == seen.whole == 1):
        return None
    return seen.target.partition(b"?")[0]


def path_if_hopeless(chunk: bytes, wire: Wire, now: float) -> bytes | None:
    """The raw path of one whole small POST that is to be refused at once; None: it is not."""
    if (group := wire.group) is None or len(chunk) > SMALL_BYTES:
        return None
    path = path_of_whole_post(chunk)
    endpoint = None if path is None else group.endpoint(path)
    if endpoint is None or len(chunk) > endpoint.body_max:
        return None  # a body that is too large is told so
    return path if wire.patience.hopeless(group.expected_s(endpoint), now) else None
