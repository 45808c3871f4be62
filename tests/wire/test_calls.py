"""
What comes of one answer, over http and https, and that nothing of it comes to the next call.

Three calls to one origin, back to back: the first makes a connection that is kept, the second is
answered as the row says, the third must be answered by what was meant for it.
"""

import time
from typing import Any, NamedTuple

import pytest

from tests.hostile.targets import (
    CHUNKED,
    CONTINUE,
    HINT,
    HINT_LINE,
    OK,
    SHORT,
    SWITCH,
    TABLE,
    Wire,
    serving,
)
from tests.hostile.turns import watched
from tests.wire.calls import CLOSE, FIN, NEXT, RESET, STAY, Answer, Calls, Trust, answering, turns

KIB, ANY, KEPT = 1024, 0, "x" * 64 * 1024
EVIL_CHUNK = b"4\r\nevil\r\n0\r\n\r\n"
EVIL = OK + b"Content-Length: 4\r\n\r\nevil"
NOT_HTTP = "the answer is not acceptable HTTP"
BROKE_OFF = "the answer broke off"
NONE = "the connection was closed without an answer"
MANY_INTERIM = "more than 16 interim answers (1xx) came"
LONG_INTERIM = "more than 16 KiB of interim answers (1xx) came"
TOO_MUCH = "the answer has more than 64 KiB of headers and chunk sizes"


class Row(NamedTuple):
    """`says` is the kept body of what is done, the reason otherwise."""

    how: str
    says: str
    connections: int
    answer: Answer
    method: str = "POST"


def done(connections: int, answer: Answer, body: str = "ok", method: str = "POST") -> Row:
    return Row("done", body, connections, answer, method)


def broken(reason: str, answer: Answer) -> Row:
    """No answer; its connection is not used again."""
    return Row("network", reason, 2, answer)


def redirected(code: int, method: str) -> Row:
    """To another place of the same target: which is not asked for."""
    head = b"HTTP/1.1 %d Moved\r\nLocation: /evil\r\nContent-Length: 0\r\n\r\n" % code
    return Row("client", f"HTTP {code}", 1, head, method)


def late(*begin: bytes) -> Row:
    """It stops there."""
    return Row("timeout", "no answer within 0.2 s", 2, [*begin, STAY])


def sized(begin: bytes, size: int) -> bytes:
    """A head of so many bytes in headers of at most 8,000."""
    room = size - len(begin) - 2
    while room > 16_000:
        begin += b"A: " + b"a" * 7_995 + b"\r\n"
        room -= 8_000
    for part in (room // 2, room - room // 2):
        begin += b"A: " + b"a" * (part - 5) + b"\r\n"
    return begin + b"\r\n"


def status(line: str, head: bytes = b"") -> bytes:
    return f"HTTP/1.1 {line}\r\n".encode() + head + b"\r\n"


CHUNKS = b"Transfer-Encoding: chunked\r\n"
LENGTH = b"Content-Length: %d\r\n"
TWO = LENGTH % 2
ROWS = {
    # -- whole answers, after which the connection is kept
    "a length": done(1, SHORT),
    "byte by byte": done(1, [bytes([byte]) for byte in HINT + SHORT]),
    "nothing": done(1, OK + LENGTH % 0 + b"\r\n", ""),
    "chunks": done(1, CHUNKED + b"2;a=b\r\nok\r\n1 \r\n!\r\n0\r\nX-T: 1\r\n\r\n", "ok!"),
    "no chunk": done(1, CHUNKED + b"0\r\n\r\n", ""),
    "ten thousand chunks": done(1, CHUNKED + b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n", "x" * 10_000),
    "the most that is kept": done(1, OK + LENGTH % (64 * KIB) + b"\r\n" + b"x" * 65_536, KEPT),
    "a continue nobody asked for": done(1, CONTINUE + SHORT),
    "the most interim answers": done(1, HINT * 16 + SHORT),
    "the longest interim answers": done(1, sized(HINT_LINE, 8 * KIB) * 2 + SHORT),
    "the longest head": done(1, sized(OK + TWO, 60 * KIB) + b"ok"),
    "the longest reason": done(1, b"HTTP/1.1 200 " + b"O" * 8190 + b"\r\n" + TWO + b"\r\nok"),
    "the longest header": done(1, OK + b"X-A: " + b"a" * 8187 + b"\r\n" + TWO + b"\r\nok"),
    "the most headers": done(1, OK + b"X-A: 1\r\n" * 127 + TWO + b"\r\nok"),
    "204": done(1, status("204 No Content"), ""),
    "204 with a length": done(1, status("204 No Content", LENGTH % 9), ""),
    # -- whole answers, after which it is not
    "close": done(2, OK + b"Connection: close\r\n" + TWO + b"\r\nok"),
    "HTTP/1.0": done(2, b"HTTP/1.0 200 OK\r\n" + TWO + b"\r\nok"),
    "a body to the end": done(2, [OK + b"\r\nto the ", b"end", CLOSE], "to the end"),
    "another coding to the end": done(
        2, [OK + b"Transfer-Encoding: gzip\r\n\r\nzip", CLOSE], "zip"
    ),
    "a half-close behind it": done(2, [SHORT, FIN]),
    "a close behind it": done(2, [SHORT, CLOSE]),
    "more than is kept": done(ANY, OK + LENGTH % 65_537 + b"\r\n" + b"x" * 65_537, KEPT),
    "nine million bytes": done(2, OK + LENGTH % 9_000_000 + b"\r\n" + b"x" * 9_000_000, KEPT),
    "a second answer": done(2, SHORT + EVIL),
    "a second answer far behind it": done(2, SHORT + b"\r\n\r\n" + EVIL),
    "a thousand more answers": done(2, SHORT + EVIL * 1_000),
    "an interim answer behind it": done(2, SHORT + HINT),
    "half a status line behind it": done(2, SHORT + b"HT"),
    "a body behind a 204": broken(NOT_HTTP, status("204 No Content", LENGTH % 2) + b"ok"),
    "chunks behind a 204": broken(NOT_HTTP, status("204 No Content", CHUNKS) + EVIL_CHUNK),
    # -- other statuses
    "304": Row("client", "HTTP 304", 1, status("304 Not Modified", LENGTH % 9)),
    "a body behind a 304": broken(NOT_HTTP, status("304 Not Modified", LENGTH % 4) + b"evil"),
    "another protocol": Row("client", "HTTP 101", 2, SWITCH + EVIL),
    "another protocol without a name": Row("client", "HTTP 101", 2, status("101 Switching") + EVIL),
    # -- no answer
    "seventeen interim answers": broken(MANY_INTERIM, HINT * 17 + SHORT),
    "seventeen continues": broken(MANY_INTERIM, CONTINUE * 17 + SHORT),
    "long interim answers": broken(LONG_INTERIM, sized(HINT_LINE, 16 * KIB + 1) + SHORT),
    "interim answers that are long together": broken(
        LONG_INTERIM, sized(HINT_LINE, 8 * KIB) + sized(HINT_LINE, 8 * KIB + 1) + SHORT
    ),
    "a longer head": broken(TOO_MUCH, sized(OK + TWO, 68 * KIB) + b"ok"),
    "nothing but sizes": broken(
        TOO_MUCH, CHUNKED + b"10\r\n" + b"y" * 16 + b"\r\n" + b"1\r\nx\r\n" * 20_000
    ),
    "a longer reason": broken(NOT_HTTP, b"HTTP/1.1 200 " + b"O" * 8191 + b"\r\n" + TWO + b"\r\nok"),
    "a longer header": broken(NOT_HTTP, OK + b"X-A: " + b"a" * 8188 + b"\r\n" + TWO + b"\r\nok"),
    "one header more": broken(NOT_HTTP, OK + b"X-A: 1\r\n" * 128 + TWO + b"\r\nok"),
    "two lengths": broken(NOT_HTTP, OK + TWO + LENGTH % 9 + b"\r\nok"),
    "the same length twice": broken(NOT_HTTP, OK + TWO + TWO + b"\r\nok"),
    "a negative length": broken(NOT_HTTP, OK + b"Content-Length: -1\r\n\r\n"),
    "a hexadecimal length": broken(NOT_HTTP, OK + b"Content-Length: 0x2\r\n\r\nok"),
    "a length of twenty digits": broken(NOT_HTTP, OK + LENGTH % (10**20 - 1) + b"\r\nok"),
    "a length and chunks": broken(NOT_HTTP, OK + TWO + CHUNKED[17:] + b"2\r\nok\r\n0\r\n\r\n"),
    "chunks and a length": broken(NOT_HTTP, CHUNKED[:-2] + TWO + b"\r\n2\r\nok\r\n0\r\n\r\n"),
    "a chunk size of letters": broken(NOT_HTTP, CHUNKED + b"zz\r\nok\r\n"),
    "a negative chunk size": broken(NOT_HTTP, CHUNKED + b"-2\r\nok\r\n0\r\n\r\n"),
    "a chunk longer than it says": broken(NOT_HTTP, CHUNKED + b"2\r\nokay\r\n0\r\n\r\n"),
    "garbage behind it": broken(NOT_HTTP, SHORT + b"garbage"),
    "a NUL in a header": broken(NOT_HTTP, OK + b"X-A: a\0b\r\n" + TWO + b"\r\nok"),
    "no colon": broken(NOT_HTTP, OK + b"no colon\r\n\r\n"),
    "a blank in a name": broken(NOT_HTTP, OK + b"X A: 1\r\n\r\n"),
    "HTTP/3.0": broken(NOT_HTTP, b"HTTP/3.0 200 OK\r\n\r\n"),
    "SSH": broken(NOT_HTTP, b"SSH-2.0-OpenSSH\r\n"),
    "zeros": broken(NOT_HTTP, b"\0" * 100),
    "an early close": broken(NONE, [b"", CLOSE]),
    "a close in the status line": broken(NONE, [OK[:9], CLOSE]),
    "a close in the head": broken(NONE, [OK + b"X-A: 1\r\n", CLOSE]),
    "a close after a hint": broken(NONE, [HINT, CLOSE]),
    "a half-close without an answer": broken(NONE, [b"", FIN]),
    "a body that breaks off": broken(BROKE_OFF, [OK + LENGTH % 3 + b"\r\nok", CLOSE]),
    "a body that breaks off unsaid": broken(BROKE_OFF, [OK + LENGTH % 3 + b"\r\nok", FIN]),
    "capital letters that break off": broken(
        BROKE_OFF, [OK + b"content-LENGTH: 3\r\n\r\nok", CLOSE]
    ),
    "chunks that break off": broken(BROKE_OFF, [CHUNKED + b"2\r\nok\r\n", CLOSE]),
    "chunks without the last line": broken(BROKE_OFF, [CHUNKED + b"2\r\nok\r\n0\r\n", CLOSE]),
    "capital chunks that break off": broken(
        BROKE_OFF, [OK + b"transfer-ENCODING: gzip,\tCHUNKED \r\n\r\n2\r\nok\r\n", CLOSE]
    ),
    "chunks of two lines that break off": broken(
        BROKE_OFF,
        [OK + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok", CLOSE],
    ),
    "silence": late(b""),
    "half a head, then silence": late(OK),
    "half a body, then silence": late(OK + LENGTH % 9 + b"\r\nok"),
    "half a chunk, then silence": late(CHUNKED + b"9\r\nok"),
    **{
        f"a redirect of {method}, {code}": redirected(code, method)
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
        for code in (300, 301, 302, 303, 307, 308)
    },
}


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust(tmp_path_factory.mktemp("trust"))


@pytest.fixture(params=["http", "https"], scope="module")
def secure(request: pytest.FixtureRequest, trust: Trust) -> dict[str, Any]:
    """How a target is served and called: `serve` and `call`, what each needs for it."""
    if request.param == "http":
        return {"serve": {}, "call": {}}
    return {"serve": {"tls": trust.server()}, "call": {"tls": trust.ca}}


@pytest.mark.parametrize("name", ROWS)
async def test_an_answer(name: str, secure: dict[str, Any]) -> None:
    row = ROWS[name]
    limit_s = 0.2 if row.how == "timeout" else 10.0
    async with Calls() as calls, answering(SHORT, row.answer, NEXT, **secure["serve"]) as target:
        assert (await calls.to(target.url, **secure["call"])).text == "ok"
        found = await calls.to(target.url, method=row.method, timeout_s=limit_s, **secure["call"])
        kept = found.text if row.how == "done" else found.reason
        assert (found.how, kept) == (row.how, row.says)
        await turns()
        after = await calls.to(target.url, **secure["call"])
        assert (after.how, after.text) == ("done", "next")
        assert len(target.requests) == 3
        assert len(target.wires) == row.connections or row.connections == ANY


UNASKED = {
    "an answer": EVIL,
    "many answers": EVIL * 100,
    "an interim answer": HINT,
    "a part of a head": EVIL[:20],
    "a line end": b"\r\n",
    "another protocol": SWITCH,
    "zeros": b"\0" * 100,
}


@pytest.mark.parametrize("at_once", [False, True], ids=["seen", "at once"])
@pytest.mark.parametrize("what", UNASKED)
async def test_what_nobody_asked_for_between_two_calls(
    what: str, at_once: bool, secure: dict[str, Any]
) -> None:
    """Also when it lies in the socket, unread, as the next request is about to be written."""
    async with Calls() as calls, answering(SHORT, NEXT, **secure["serve"]) as target:
        assert (await calls.to(target.url, **secure["call"])).text == "ok"
        await turns()
        target.wires[0].writer.write(UNASKED[what])
        if not at_once:
            await target.gone()
        after = await calls.to(target.url, **secure["call"])
        assert (after.how, after.text) == ("done", "next")
        assert len(target.wires) == 2


@pytest.mark.parametrize("ending", [CLOSE, FIN, RESET])
async def test_an_end_between_two_calls(ending: str, secure: dict[str, Any]) -> None:
    async with Calls() as calls, answering(SHORT, NEXT, **secure["serve"]) as target:
        assert (await calls.to(target.url, **secure["call"])).text == "ok"
        wire = target.wires[0]
        {CLOSE: wire.writer.close, FIN: wire.half_close, RESET: wire.reset}[ending]()
        await turns()
        after = await calls.to(target.url, **secure["call"])
        assert (after.how, after.text) == ("done", "next")
        assert len(target.requests) == len(target.wires) == 2


WRITTEN_MAX = 16 * 1024 * KIB
"""What a server may get rid of before nobody reads any more: mostly the kernel's buffers."""


@pytest.mark.long
@pytest.mark.parametrize("name", TABLE)
async def test_a_target_that_means_harm(name: str, secure: dict[str, Any]) -> None:
    """Each ends in time and in the right class, and the next call to it is answered by its own."""
    expected, script = TABLE[name]
    wires: list[Wire] = []

    async def then_well(wire: Wire) -> None:
        wires.append(wire)
        if len(wires) == 1:
            await script(wire)
            return
        await wire.request()
        await wire.say(NEXT)

    limit_s, began = 0.4 if expected == "timeout" else 10.0, time.monotonic()
    async with Calls() as calls, serving(then_well, **secure["serve"]) as (url, _):
        with watched():
            found = await calls.to(url, timeout_s=limit_s, **secure["call"])
        assert found.how == expected, found
        assert time.monotonic() - began < 10.0
        assert len(str(found.result)) < 3 * 64 * KIB
        assert sum(wire.written for wire in wires) < WRITTEN_MAX + 64 * KIB
        after = await calls.to(url, **secure["call"])
        assert (after.how, after.text) in (("done", "next"), ("network", "")), after
        assert len(wires) <= 2
