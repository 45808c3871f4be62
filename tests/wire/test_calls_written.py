"""
What of a call goes over the wire, to the byte, and what of it never does; when a connection is
used again; and what a call that ends early leaves behind.
"""

import asyncio
import json

import pytest

from router.log import Redactor
from tests.hostile.targets import CHUNKED, OK, SHORT, Wire, serving
from tests.waiting import until
from tests.wire.calls import CLOSE, NEXT, RESET, STAY, Answer, Calls, answering, turns

MALFORMED = "the request cannot be written: a malformed URL or header"
AGENT = b"User-Agent: webhook-rules-router\r\n"
AUTOMATIC = AGENT + b"Accept-Encoding: identity\r\nAccept: */*\r\n"
MIB = 1024 * 1024

URLS = [
    # address (PORT is the target's), request line's path, Host
    ("http://erp.example:PORT", "/", "erp.example:PORT"),
    ("http://erp.example:PORT/", "/", "erp.example:PORT"),
    ("http://erp.example:PORT/in?a=b&c", "/in?a=b&c", "erp.example:PORT"),
    ("http://erp.example:PORT?q=1", "/?q=1", "erp.example:PORT"),
    ("http://erp.example:PORT/a/../b", "/a/../b", "erp.example:PORT"),
    ("http://erp.example:PORT/?//", "/?//", "erp.example:PORT"),
    ("http://erp.example:PORT/a%2Fb%20c/?q=%7B1%7D", "/a%2Fb%20c/?q=%7B1%7D", "erp.example:PORT"),
    ("http://erp.example:PORT/a#frag", "/a", "erp.example:PORT"),
    ("http://erp.example:PORT/ü b", "/%C3%BC%20b", "erp.example:PORT"),
    ("HTTP://ERP.Example:PORT/A", "/A", "erp.example:PORT"),
    ("http://erp.example.:PORT/", "/", "erp.example:PORT"),
    ("http://a_b.example:PORT/", "/", "a_b.example:PORT"),
    ("http://bücher.example:PORT/", "/", "xn--bcher-kva.example:PORT"),
    ("http://BÜCHER.example:PORT/", "/", "xn--bcher-kva.example:PORT"),
    ("http://127.0.0.1:PORT/", "/", "127.0.0.1:PORT"),
    ("http://[::1]:PORT/", "/", "[::1]:PORT"),
    ("http://[0:0:0:0:0:0:0:1]:PORT/", "/", "[::1]:PORT"),
]
REFUSED = r"""
    http:// ftp://127.0.0.1/ //127.0.0.1/ http:127.0.0.1 http://[::1 http://::1/ http://[127.0.0.1]/
    http://h:99999/ http://h:0/ http://h:80a/ http://h:-1/ http://h:8:0/ http://[erp.example]/
    http://[::1%25lo]/ http://erp..example/ http://.erp.example/ http://erp%2eexample/ http://h%00/
    http:///127.0.0.1/ https:\\127.0.0.1/ http://a@b@127.0.0.1/ http://[::1]x/
    http://h:65536/ http://./
    http://①②⑦.0.0.1/ http://127。0。0。1/ http://127.0.0.1%25lo/
    http://h^/ http://h|/ http://h\@erp.example/ http://@/ mailto:a@b
"""
UNWRITABLE = ["\r\n", "\n", "\r", "\t", "\0", "\x7f", "\udcff"]
HEADERS = [
    ("X-A", "one\r\nX-B: two"), ("X-A", "a\rb"), ("X-A", "a\nb"), ("X-A", "a\0b"), ("X-A", "\x7f"),
    ("X-A", "\udcff"), ("X A", "1"), ("X-A:", "1"), ("X-Ä", "1"), ("", "1"), ("X-A\r\nX-B", "1"),
    ("Host", "evil.example"), ("content-length", "0"), ("Transfer-Encoding", "chunked"),
]  # fmt: skip


@pytest.mark.parametrize(("url", "path", "host"), URLS)
async def test_where_a_call_goes(url: str, path: str, host: str) -> None:
    address = "::1" if "[" in url else "127.0.0.1"
    async with Calls("127.0.0.0/8") as calls, answering(SHORT, host=address) as target:
        for name in ("erp", "ERP", "a_b", "bücher", "xn--bcher-kva", "BÜCHER"):
            calls.names |= {f"{name}.example{dot}": ["127.0.0.1"] for dot in ("", ".")}
        calls.names["ERP.Example"] = ["127.0.0.1"]
        port = str(target.port)
        found = await calls.to(url.replace("PORT", port))
        assert found.how == "done", found
        head = target.requests[0].split(b"\r\n")
    assert head[0].decode() == f"POST {path} HTTP/1.1"
    assert head[1].decode() == f"Host: {host.replace('PORT', port)}"


TOO_LONG = (f"http://{'a' * 64}.example/", f"http://{'a.' * 128}example/")


@pytest.mark.parametrize("url", [*REFUSED.split(), *TOO_LONG, "http://erp .example/"])
async def test_an_address_that_is_none(url: str) -> None:
    async with Calls() as calls:
        found = await calls.to(url)
        assert (found.how, found.reason) == ("fail", MALFORMED)
        assert calls.asked == []


@pytest.mark.parametrize("character", UNWRITABLE)
@pytest.mark.parametrize("place", ["path", "end", "host", "user"])
async def test_no_control_character_in_an_address(place: str, character: str) -> None:
    """Nor is it taken out: what is left would be another address than the one that was given."""
    async with Calls() as calls, answering(SHORT) as target:
        port = target.port
        found = await calls.to(
            {
                "path": f"http://127.0.0.1:{port}/a{character}b",
                "end": f"http://127.0.0.1:{port}/a{character}",
                "host": f"http://127.0.0.1{character}:{port}/",
                "user": f"http://u{character}:w@127.0.0.1:{port}/",
            }[place]
        )
        assert (found.how, found.reason) == ("fail", MALFORMED)
        assert target.wires == []


@pytest.mark.parametrize("header", HEADERS)
async def test_a_header_that_could_change_the_message(header: tuple[str, str]) -> None:
    async with Calls() as calls, answering(SHORT) as target:
        found = await calls.to(target.url, headers=(("x-good", "1"), header))
        assert (found.how, found.reason) == ("fail", MALFORMED)
        assert target.wires == []


@pytest.mark.parametrize("method", ["GET /x HTTP/1.1\r\n\r\nGET", "CONNECT", "", "GET\t"])
async def test_a_method_that_could_change_the_message(method: str) -> None:
    async with Calls() as calls, answering(SHORT) as target:
        assert (await calls.to(target.url, method=method)).how == "fail"
        assert target.wires == []


async def test_requests_to_the_byte() -> None:
    sent = [
        ({"headers": (("x-one", "1"), ("X-One", "ü")), "body": b"{}"}, b"POST", AUTOMATIC,
         b"x-one: 1\r\nX-One: \xc3\xbc\r\nContent-Length: 2\r\n\r\n{}"),
        ({"headers": (("user-agent", "mine"), ("ACCEPT", "a/b"), ("accept-encoding", "br")),
          "method": "GET", "body": b""}, b"GET", b"",
         b"user-agent: mine\r\nACCEPT: a/b\r\naccept-encoding: br\r\n\r\n"),
        *(({"headers": (), "method": method, "body": b""}, method.encode(), AUTOMATIC,
           b"Content-Length: 0\r\n\r\n") for method in ("POST", "PUT", "PATCH", "DELETE")),
        *(({"headers": (), "method": method, "body": b""}, method.encode(), AUTOMATIC, b"\r\n")
          for method in ("HEAD", "OPTIONS")),
    ]  # fmt: skip
    async with Calls() as calls, answering(SHORT) as target:
        host = f" /in HTTP/1.1\r\nHost: 127.0.0.1:{target.port}\r\n".encode()
        for changes, method, automatic, rest in sent:
            assert (await calls.to(f"{target.url}in", **changes)).how == "done"
            assert target.requests[-1] == method + host + automatic + rest


async def test_user_and_password_of_an_address() -> None:
    async with Calls() as calls, answering(SHORT) as target:
        url = target.url.replace("//", "//us%40er:w@")
        assert (await calls.to(url, shown_url="http://***")).how == "done"
        assert b"\r\nAuthorization: Basic dXNAZXI6dw==\r\n" in target.requests[0]


@pytest.mark.parametrize("size", [0, 1, 65_536, 65_537, 524_289, 25 * MIB])
async def test_a_body_of_any_size_out_and_back(size: int) -> None:
    body = b"x" * size
    back = OK + b"Content-Length: %d\r\n\r\n" % size + body
    async with Calls() as calls, answering(back, NEXT) as target:
        found = await calls.to(target.url, body=body)
        assert (found.how, len(found.text)) == ("done", min(size, 65_536))
        assert found.result.get("truncated", False) is (size > 65_536)
        assert target.requests[0].partition(b"\r\n\r\n")[2] == body
        assert (await calls.to(target.url)).text == "next"


async def test_an_answer_before_the_request_was_sent_ends_the_connection() -> None:
    """What was not written yet must not become the beginning of the next request."""
    heads = []

    async def script(wire: Wire) -> None:
        heads.append(await wire.reader.readuntil(b"\r\n\r\n"))
        await wire.say(SHORT if len(heads) == 1 else NEXT)
        await wire.nothing()

    async with Calls() as calls, serving(script) as (url, wires):
        assert (await calls.to(url, body=b"x" * 25 * MIB)).text == "ok"
        assert (await calls.to(url)).text == "next"
        assert len(wires) == len(heads) == 2


@pytest.mark.parametrize("head", [OK + b"Content-Length: 9\r\n\r\n", CHUNKED, OK + b"\r\n"])
async def test_the_answer_to_a_head_has_no_body(head: bytes) -> None:
    async with Calls() as calls, answering(head, NEXT) as target:
        found = await calls.to(target.url, method="HEAD", body=b"", timeout_s=2.0)
        assert (found.how, found.text) == ("done", "")
        assert (await calls.to(target.url)).text == "next"


@pytest.mark.parametrize("answers", [1, 0])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "POST", "PATCH"])
async def test_what_is_sent_once_more(method: str, answers: int) -> None:
    """Over a connection that has served, if nothing of an answer came, and it does no harm."""
    answered: list[Answer] = [SHORT] * answers
    async with Calls() as calls, answering(*answered, [b"", CLOSE], NEXT) as target:
        for _ in range(answers):
            assert (await calls.to(target.url)).how == "done"
        found = await calls.to(target.url, method=method)
        again = answers == 1 and method not in ("POST", "PATCH")
        assert found.how == ("done" if again else "network")
        assert found.text == ("next" if again else "")
        assert len(target.requests) == answers + 1 + again


async def test_what_is_not_sent_once_more() -> None:
    async with Calls() as calls, answering(SHORT, [OK, CLOSE], NEXT) as target:
        assert (await calls.to(target.url)).how == "done"
        assert (await calls.to(target.url, method="GET")).how == "network"
        assert len(target.requests) == 2


async def test_calls_at_once_have_connections_of_their_own() -> None:
    async with Calls() as calls, answering(SHORT) as target:
        for _ in range(3):
            found = await asyncio.gather(*(calls.to(target.url) for _ in range(4)))
            assert [one.text for one in found] == ["ok"] * 4
        assert len(target.wires) == 4


# -- ends ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [b"", OK, OK + b"Content-Length: 9\r\n\r\nevil"])
async def test_a_call_that_is_cancelled_leaves_nothing_to_the_next(said: bytes) -> None:
    async with Calls() as calls, answering(SHORT, [said, STAY], NEXT) as target:
        assert (await calls.to(target.url)).how == "done"
        call = asyncio.create_task(calls.to(target.url))
        await until(lambda: len(target.requests) == 2)
        await turns(5)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        after = await calls.to(target.url)
        assert (after.text, len(target.wires)) == ("next", 2)
        await until(target.wires[0].reader.at_eof)


async def test_who_is_on_the_way_when_a_router_stops_hears_of_it() -> None:
    async with answering([b"", STAY]) as target:
        calls = Calls()
        call = asyncio.create_task(calls.to(target.url))
        await until(lambda: target.requests)
        await calls.close()
        found = await asyncio.wait_for(call, 5)
        assert (found.how, found.text) == ("network", "")
        await target.gone()


async def test_a_deadline_is_kept_over_a_connection_with_another_one() -> None:
    async with Calls() as calls, answering(SHORT, NEXT, [b"", STAY]) as target:
        assert (await calls.to(target.url, timeout_s=0.3)).text == "ok"
        assert (await calls.to(target.url, timeout_s=30.0)).text == "next"
        found = await asyncio.wait_for(calls.to(target.url, timeout_s=0.1), 5)
        assert (found.how, found.reason) == ("timeout", "no answer within 0.1 s")
        assert len(target.wires) == 1


# -- what of it is kept --------------------------------------------------------------------------

CANARY = "canary/with+odd=letters-9f2e"


@pytest.mark.parametrize(
    "said",
    [
        CANARY,
        json.dumps({CANARY: [CANARY]}),
        '{"\\u0063' + CANARY[1:] + '": 1}',
        f'["\\/{CANARY}"]',
    ],
)
async def test_no_answer_brings_a_secret_into_the_record(said: str) -> None:
    """Neither one that the router knows, nor one that the call has just sent."""
    redactor = Redactor(8)
    redactor.register([CANARY])
    body = said.encode()
    head = OK + f"X-Echo: a {CANARY}\r\nSet-Cookie: s={CANARY}\r\n".encode()
    answer = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    async with answering(answer) as target:
        for knows in (redactor, None):
            async with Calls(redactor=knows) as calls:
                sent = (("Authorization", f"Bearer {CANARY}"),)
                found = await calls.to(target.url, headers=sent)
            assert found.how == "done"
            if knows is not None or "\\u" not in said:
                assert CANARY not in str(found.result.get("json"))
            assert CANARY not in json.dumps({**found.result, "json": None})
            assert found.result["headers"]["x-echo"] == "a ***"
            assert found.result["headers"]["set-cookie"] == "[removed]"


@pytest.mark.parametrize(
    "answer", [[b"", RESET], [OK, CLOSE], b"garbage", b"HTTP/1.1 500 No\r\n\r\n", [b"", STAY]]
)
async def test_no_reason_quotes_the_address(answer: Answer) -> None:
    async with Calls() as calls, answering(answer) as target:
        url = f"{target.url}{CANARY}?token={CANARY}"
        found = await calls.to(url, shown_url="http://***", timeout_s=0.2)
        assert found.how != "done"
        unknown = await calls.to(f"http://{CANARY[:6]}.example/", shown_url="http://***")
    assert CANARY not in repr(found)
    assert unknown.how == "network"
    assert CANARY[:6] not in repr(unknown)


async def test_a_header_that_is_no_text_is_kept_as_far_as_it_is() -> None:
    odd = OK + b"X-A: caf\xe9\r\nX-B: caf\xc3\xa9\r\nVia: a\r\nvia: b\r\nContent-Length: 0\r\n\r\n"
    async with Calls() as calls, answering(odd) as target:
        headers = (await calls.to(target.url)).result["headers"]
    assert (headers["x-a"], headers["x-b"], headers["via"]) == ("caf\ufffd", "café", "a, b")
