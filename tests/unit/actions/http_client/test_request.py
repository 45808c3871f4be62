"""What is written, to the byte; and what is not written at all."""

import ssl
from typing import Any

import pytest

from router.actions.http_client.request import (
    BODY_MAX,
    METHODS,
    OutgoingRequest,
    place_of,
    request_of,
)
from router.config.kinds.http import METHODS as WRITTEN
from tests.sim.makers import an_http_call

AUTOMATIC = b"User-Agent: webhook-rules-router\r\nAccept-Encoding: identity\r\nAccept: */*\r\n"


def _request(url: str = "http://127.0.0.1:8080/in", **changes: Any) -> OutgoingRequest | None:
    call = an_http_call(url, **{"headers": (), "body": b"", **changes})
    place = place_of(call.url)
    return None if place is None else request_of(call, place, call.headers, None)


def _written(url: str = "http://127.0.0.1:8080/in", **changes: Any) -> bytes:
    request = _request(url, **changes)
    assert request is not None
    return request.data


def test_a_request_to_the_byte() -> None:
    headers = (("x-one", "1"), ("content-type", "application/json"), ("X-One", "ü\t"))
    assert _written("http://127.0.0.1:8080/in?a=b", headers=headers, body=b"{}") == (
        b"POST /in?a=b HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n" + AUTOMATIC + b"x-one: 1\r\n"
        b"content-type: application/json\r\nX-One: \xc3\xbc\t\r\nContent-Length: 2\r\n\r\n{}"
    )


def test_what_the_call_says_itself_is_said_once() -> None:
    headers = (("user-agent", "mine"), ("ACCEPT", "text/plain"), ("accept-encoding", "br"))
    assert _written(headers=headers, method="GET") == (
        b"GET /in HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
        b"user-agent: mine\r\nACCEPT: text/plain\r\naccept-encoding: br\r\n\r\n"
    )


def test_every_method_of_the_rules_can_be_written() -> None:
    assert set(WRITTEN) == METHODS


def test_a_large_body_is_written_behind_its_head() -> None:
    for size, behind in ((BODY_MAX, 0), (BODY_MAX + 1, BODY_MAX + 1)):
        request = _request(body=b"x" * size)
        assert request is not None
        assert len(request.rest) == behind
        assert request.data.endswith(b"\r\n\r\n" + b"x" * (size - behind))


@pytest.mark.parametrize(
    ("url", "host", "port", "authority", "path"),
    [
        ("http://127.0.0.1/", "127.0.0.1", 80, "127.0.0.1", "/"),
        ("http://127.0.0.1:80/a", "127.0.0.1", 80, "127.0.0.1", "/a"),
        ("https://127.0.0.1/", "127.0.0.1", 443, "127.0.0.1", "/"),
        ("https://erp.example:80", "erp.example", 80, "erp.example:80", "/"),
        ("http://[::1]:8080/a%2F", "::1", 8080, "[::1]:8080", "/a%2F"),
        ("http://[0:0:0:0:0:0:0:1]/", "::1", 80, "[::1]", "/"),
        ("http://localhost?q=1", "localhost", 80, "localhost", "/?q=1"),
        ("http://127.0.0.1?", "127.0.0.1", 80, "127.0.0.1", "/"),
        ("http://a-1.b_2.example/?//#f?", "a-1.b_2.example", 80, "a-1.b_2.example", "/?//"),
        ("HTTP://ERP.Example.:/a/../b", "erp.example.", 80, "erp.example", "/a/../b"),
        ("http://bücher.example/ü a", "xn--bcher-kva.example", 80, None, "/%C3%BC%20a"),
        ("http://127.0.0.1/\\a", "127.0.0.1", 80, "127.0.0.1", "/\\a"),
    ],
)
def test_where_a_call_goes(
    url: str, host: str, port: int, authority: str | None, path: str
) -> None:
    place = place_of(url)
    assert place is not None
    assert place[1:5] == (host, port, authority or host, path)
    assert place.secure is url.startswith("https")


TWO_FACED = r"""
ftp://127.0.0.1/ //127.0.0.1/ http:127.0.0.1 http:// http:///127.0.0.1/ https:\\127.0.0.1/
http://127.0.0.1\@erp.example/ http://a@b@127.0.0.1/ http://[::1%25lo]/ http://[127.0.0.1]/
http://::1/ http://[::1/ http://[erp.example]/ http://[::1]x/ http://erp..example/
http://.erp.example/ http://①②⑦.0.0.1/ http://127。0。0。1/ http://erp.example:0/
http://erp.example:65536/ http://erp.example:80a/ http://erp%2eexample/ http://./
"""
TOO_LONG = (f"http://{'a' * 64}.example/", f"http://{'a.' * 128}example/")


@pytest.mark.parametrize("url", [*TWO_FACED.split(), *TOO_LONG, "http://erp .example/"])
def test_what_two_could_read_differently_is_not_called(url: str) -> None:
    assert place_of(url) is None


def test_connections_of_other_tls_settings_are_another_s() -> None:
    call = an_http_call("https://erp.example/")
    place = place_of(call.url)
    assert place is not None
    contexts = [None, ssl.create_default_context(), ssl.create_default_context()]
    found = [request_of(call, place, (), context) for context in contexts]
    assert len({one.origin for one in found if one}) == 3
