"""What is written, to the byte; and what is left to the other client."""

from random import Random
from typing import Any

import pytest
from yarl import URL

from router.actions.plain_http.request import BODY_MAX, METHODS, Origin, place_of, request_of
from router.model.settings import Tls
from tests.sim.makers import an_http_call


def _words(text: str) -> list[str]:
    return text.split()


def _written(url: str = "http://127.0.0.1:8080/in", **changes: Any) -> bytes | None:
    call = an_http_call(url, **{"headers": (), "body": b"", **changes})
    place = place_of(call)
    request = None if place is None else request_of(call, place, call.headers)
    return None if request is None else request.data


AUTOMATIC = b"User-Agent: webhook-rules-router\r\nAccept-Encoding: identity\r\nAccept: */*\r\n"


def test_a_request_to_the_byte() -> None:
    headers = (("x-one", "1"), ("content-type", "application/json"), ("X-One", "ü"))
    assert _written("http://127.0.0.1:8080/in?a=b", headers=headers, body=b"{}") == (
        b"POST /in?a=b HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n" + AUTOMATIC + b"x-one: 1\r\n"
        b"content-type: application/json\r\nX-One: \xc3\xbc\r\nContent-Length: 2\r\n\r\n{}"
    )


def test_what_the_call_says_itself_is_said_once() -> None:
    headers = (("user-agent", "mine"), ("ACCEPT", "text/plain"), ("accept-encoding", "br"))
    assert _written(headers=headers, method="GET") == (
        b"GET /in HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n"
        b"user-agent: mine\r\nACCEPT: text/plain\r\naccept-encoding: br\r\n\r\n"
    )


@pytest.mark.parametrize("method", sorted(METHODS))
def test_only_a_get_without_a_body_has_no_length(method: str) -> None:
    written = _written(method=method)
    assert written is not None
    assert (b"Content-Length: 0\r\n" in written) is (method != "GET")


@pytest.mark.parametrize(
    ("url", "origin", "path"),
    [
        ("http://127.0.0.1/", Origin("127.0.0.1", 80, "127.0.0.1"), "/"),
        ("http://127.0.0.1:80/a", Origin("127.0.0.1", 80, "127.0.0.1"), "/a"),
        ("http://10.0.0.1:65535", Origin("10.0.0.1", 65_535, "10.0.0.1:65535"), "/"),
        ("http://[::1]:8080/a%2F", Origin("::1", 8080, "[::1]:8080"), "/a%2F"),
        ("http://localhost?q=1", Origin("localhost", 80, "localhost"), "/?q=1"),
        ("http://erp.example:81/a/../b", Origin("erp.example", 81, "erp.example:81"), "/a/../b"),
        ("http://a-1.b2.example/?//", Origin("a-1.b2.example", 80, "a-1.b2.example"), "/?//"),
    ],
)
def test_where_a_call_goes(url: str, origin: Origin, path: str) -> None:
    assert place_of(an_http_call(url)) == (origin, path)


TRICKS = _words("""
    https://127.0.0.1/ ftp://127.0.0.1/ //127.0.0.1/ HTTP://127.0.0.1/ http:127.0.0.1 http://
    http://user@127.0.0.1/ http://user:word@127.0.0.1/ http://127.0.0.1\\@erp.example/
    http://127.0.0.1/\\a http://127.0.0.1/#a http://127.0.0.1#a http://127.1/ http://127.0.0.01/
    http://0x7f.1/ http://2130706433/ http://127.0.0.1./ http://erp.example./ http://ERP.example/
    http://[::1%25lo]/ http://[::ffff:127.0.0.1%lo]/ http://[0:0:0:0:0:0:0:1]/ http://[127.0.0.1]/
    http://::1/ http://[::1/ http://[erp.example]/ http://erp..example/ http://.erp.example/
    http://-erp.example/ http://erp-.example/ http://erp_1.example/ http://xn--bcher-kva.example/
    http://bücher.example/ http://①②⑦.0.0.1/ http://erp.example:0/ http://erp.example:080/
    http://erp.example:65536/ http://erp.example:/ http://erp.example:80a/ http://erp%2eexample/
    http://metadata.google.internal/ http://instance-data/ http://127.0.0.1/ü http://1.2.3.4.5/
    http://127.0.0.1/? http://127.0.0.1?
""")


@pytest.mark.parametrize("url", TRICKS)
def test_what_is_not_plainly_harmless_is_declined(url: str) -> None:
    assert place_of(an_http_call(url)) is None


@pytest.mark.parametrize("character", [" ", "\t", "\r", "\n", "\0", "\x7f", "\x80", "ü", "\udcff"])
def test_nothing_but_printable_ascii_stands_in_a_request_line(character: str) -> None:
    assert place_of(an_http_call(f"http://127.0.0.1/a{character}b")) is None
    assert place_of(an_http_call(f"http://127.0.0.1/a{character}")) is None
    assert place_of(an_http_call(f"http://erp{character}.example/")) is None


@pytest.mark.parametrize(
    "header",
    [
        ("X-A", "one\r\nX-B: two"),
        ("X-A", "a\rb"),
        ("X-A", "a\nb"),
        ("X-A", "a\0b"),
        ("X-A", "a\tb"),
        ("X-A", "\x7f"),
        ("X-A", "a\u2028b"),
        ("X-A", "\udcff"),
        ("X A", "1"),
        ("X-A:", "1"),
        ("X-Ä", "1"),
        ("", "1"),
        ("X-A\r\nX-B", "1"),
        ("Host", "erp.example"),
        ("host", "erp.example"),
        ("Content-Length", "1"),
        ("TRANSFER-ENCODING", "chunked"),
        ("Connection", "close"),
        ("Expect", "100-continue"),
        ("Upgrade", "h2c"),
    ],
)
def test_a_header_that_could_change_the_message_is_declined(header: tuple[str, str]) -> None:
    assert _written(headers=(("x-good", "1"),)) is not None
    assert _written(headers=(("x-good", "1"), header)) is None


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "CONNECT", "TRACE", "get", "GET /x\r\n"])
def test_methods_whose_answers_have_rules_of_their_own_are_declined(method: str) -> None:
    assert _written(method=method) is None


def test_large_bodies_and_tls_are_declined() -> None:
    assert _written(body=b"x" * BODY_MAX) is not None
    assert _written(body=b"x" * (BODY_MAX + 1)) is None
    assert _written(tls=Tls()) is None


def test_what_is_taken_is_what_the_other_client_makes_of_it() -> None:
    """10,000 random addresses: host, port and path are those that yarl reads."""
    random, taken = Random(1), 0
    letters = "aab1.:/?[]@%-_~\\#&=; é"
    for _ in range(10_000):
        host = random.choice(("127.0.0.1", "[::1]", "erp.example", "localhost", ""))
        port = random.choice(("", "", ":80", ":8080", ":0", ":99999", ":"))
        rest = "".join(random.choice(letters) for _ in range(random.randrange(8)))
        text = f"http://{host}{port}{rest}"
        if (place := place_of(an_http_call(text))) is None:
            continue
        (origin, path), url = place, URL(text, encoded=True)
        taken += 1
        assert (origin.host, origin.port, path) == (url.host, url.port, url.raw_path_qs), text
        assert origin.authority == url.host_port_subcomponent
    assert taken > 500
