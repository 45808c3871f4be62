"""A chunk is taken for one whole POST only if the parser of all requests says so."""

import pytest

from router.web.whole_post import path_of_whole_post
from tests.unit.web.wire_requests import PATH, post

CODED = b"Transfer-Encoding: chunked\r\n"
CHUNKED = post(b"2\r\n{}\r\n0\r\n\r\n", head=CODED, length=False)
NOT_ALONE_OR_NOT_WHOLE = {
    "nothing": b"",
    "half a head": post()[:20],
    "half a body": post(b"abcd")[:-1],
    "two": post() + post(),
    "one and the next's first byte": post() + b"P",
    "half a chunked body": CHUNKED[:-2],
    "a lie about its length": post(head=CODED),
    "two lengths": post(head=b"Content-Length: 3\r\n"),
    "not HTTP": b"hello\r\n\r\n",
    "GET": post(b"", method=b"GET"),
    "1.0": post().replace(b"HTTP/1.1", b"HTTP/1.0"),
    "the last": post(head=b"Connection: close\r\n"),
    "an upgrade": post(head=b"Upgrade: h2c\r\nConnection: upgrade\r\n"),
}


@pytest.mark.parametrize("body", [b"", b"{}", b"x" * 60_000], ids=len)
def test_one_whole_post_is_told_by_its_path(body: bytes) -> None:
    assert path_of_whole_post(post(body)) == PATH
    assert path_of_whole_post(post(body, path=b"/wh_x?a=1")) == PATH


def test_the_end_of_a_chunked_body_is_found() -> None:
    assert path_of_whole_post(CHUNKED) == PATH


@pytest.mark.parametrize("name", NOT_ALONE_OR_NOT_WHOLE)
def test_anything_else_is_nothing(name: str) -> None:
    assert path_of_whole_post(NOT_ALONE_OR_NOT_WHOLE[name]) is None
