"""What is read of an answer, what is made of it, and the words for a call that had none."""

import asyncio
import base64
import contextlib
import errno
import json
import socket
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from yarl import URL

from router.actions.http import LARGE_BODY, HttpAction, _body, _LargeBody
from router.actions.kept_response import result_of
from router.actions.plain_http.response import ANSWER_MAX, HttpAnswer
from router.egress import EgressPolicy, is_written
from router.expressions import encode_json
from router.kinds.http import HttpCall
from router.log import Redactor
from router.model.job import Done, FailOutcome, RetryOutcome
from tests.hostile.targets import OK, Wire, serving
from tests.sim.makers import a_job, an_http_call

KEY = ConnectionKey("erp.example", 443, True, True, None, None, None)


@contextlib.asynccontextmanager
async def answering(*pieces: bytes, headers: str = "") -> AsyncIterator[str]:
    """A server that gives this answer, piece by piece; its address."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        length = sum(map(len, pieces))
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n"
        writer.write(head.encode())
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


def _result(
    call: HttpCall, status: int, headers: dict[str, str], body: bytes, cut: bool
) -> dict[str, Any]:
    pairs = [(name.lower(), value) for name, value in headers.items()]
    return result_of(call, HttpAnswer(status, pairs, body, cut), Redactor())


async def _called(action: HttpAction, url: str) -> dict[str, Any]:
    outcome = await action.run(an_http_call(url, method="GET", headers=(), body=b""), a_job())
    assert isinstance(outcome, Done)
    return outcome.result


@pytest.mark.parametrize(
    ("sizes", "cut"),
    [
        ([65_535], False),
        ([65_536], False),
        ([65_537], True),
        ([30_000, 35_536], False),
        ([30_000, 35_537], True),
        ([65_536, 1], True),
        ([65_536, 65_536], True),
    ],
)
async def test_64_kib_are_read_and_more_is_cut(
    action: HttpAction, sizes: list[int], cut: bool
) -> None:
    assert ANSWER_MAX == 65_536
    async with answering(*[bytes([97 + i]) * size for i, size in enumerate(sizes)]) as url:
        result = await _called(action, url)
    whole = "".join(chr(97 + i) * size for i, size in enumerate(sizes))
    assert result["text"] == whole[:65_536]
    assert result.get("truncated", False) is cut


@pytest.mark.parametrize(
    ("content_type", "body", "value"),
    [
        ("application/json", b"12", 12),
        ("application/problem+json; charset=utf-8", b'"x"', "x"),
        ("text/plain", b'{"a": 1}', {"a": 1}),
        ("text/plain", b"[1]", [1]),
        ("text/plain", b"12", None),
        ("text/plain", b' {"a": 1}', None),
        ("text/plain", b"{not json", None),
        ("application/json", b"not json", None),
        ("application/json", b"", None),
        ("text/plain", b"", None),
    ],
)
def test_what_says_or_looks_like_it_is_json_is_read_as_such(
    content_type: str, body: bytes, value: Any
) -> None:
    result = _result(an_http_call(), 200, {"Content-Type": content_type}, body, False)
    assert result.get("json") == value
    assert ("json" in result) is (value is not None)
    assert result["text"] == body.decode()
    assert "truncated" not in result


def test_without_a_content_type_it_is_what_it_looks_like() -> None:
    assert _result(an_http_call(), 200, {}, b"[1]", False)["json"] == [1]
    assert "json" not in _result(an_http_call(), 200, {}, b"1", False)


def test_what_was_cut_is_not_read_as_json() -> None:
    result = _result(an_http_call(), 201, {"Content-Type": "application/json"}, b"[1]", True)
    assert result == {
        "status": 201,
        "headers": {"content-type": "application/json"},
        "text": "[1]",
        "truncated": True,
    }


def test_what_is_no_text_is_shown_as_far_as_it_is() -> None:
    assert _result(an_http_call(), 200, {}, b"a\xffb", False)["text"] == "a\ufffdb"


async def test_a_header_that_is_no_text_is_kept_as_far_as_it_is(action: HttpAction) -> None:
    """A lone surrogate in it could not be stored, and the whole answer would be lost."""

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK + b"X-A: caf\xe9\r\nX-B: caf\xc3\xa9\r\nContent-Length: 0\r\n\r\n")

    async with serving(script) as (url, _):
        outcome = await action.run(an_http_call(url), a_job())
    headers = outcome.result["headers"]
    assert (headers["x-a"], headers["x-b"]) == ("caf\ufffd", "café")
    assert encode_json(outcome.result)


@pytest.mark.parametrize("more", [0, 1])
def test_more_than_512_kib_are_written_in_pieces(more: int) -> None:
    assert LARGE_BODY == 524_288
    body = _body(b"x" * (524_288 + more))
    assert isinstance(body, _LargeBody) is bool(more)
    assert bytes(body.getbuffer() if more else body) == b"x" * (524_288 + more)


def _certificate() -> Exception:
    return aiohttp.ClientConnectorCertificateError(KEY, ValueError("s3cr3t"))


def _system(kind: type[aiohttp.ClientConnectorError], number: int) -> Exception:
    return kind(KEY, OSError(number, "s3cr3t"))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (_certificate(), "the certificate was not accepted"),
        (_system(aiohttp.ClientConnectorSSLError, errno.EPERM), "the TLS handshake failed"),
        (_system(aiohttp.ClientConnectorDNSError, -2), "the name was not found"),
        (_system(aiohttp.ClientConnectorError, errno.ECONNREFUSED), "no connection: refused"),
        (aiohttp.ServerDisconnectedError(), "the connection was closed without an answer"),
        (aiohttp.ClientPayloadError("s3cr3t"), "the answer broke off"),
        (
            aiohttp.ClientResponseError(None, (), message="s3cr3t"),  # type: ignore[arg-type]
            "the answer is not acceptable HTTP",
        ),
        (OSError(errno.ECONNRESET, "s3cr3t"), "the connection broke: connection reset by peer"),
        (aiohttp.ClientError("s3cr3t"), "the connection broke"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_call_without_an_answer_has_words_of_our_own(
    action: HttpAction, error: Exception, words: str
) -> None:
    """And an error number's only where it is one of the system's."""
    expected = words.replace(": refused", ": connection refused")
    assert action._broken(error) == RetryOutcome("network", expected)


@pytest.mark.parametrize(
    "error", [ValueError("s3cr3t"), aiohttp.NonHttpUrlClientError("ftp://s3cr3t"), URL]
)
def test_what_cannot_be_written_is_dead(action: HttpAction, error: Any) -> None:
    found = aiohttp.InvalidURL("s3cr3t") if error is URL else error
    malformed = FailOutcome("the request cannot be written: a malformed URL or header")
    assert action._broken(found) == malformed


@pytest.mark.parametrize(
    "answers", [["127.0.0.77", "10.0.0.1"], ["10.0.0.1", "127.0.0.77"], ["127.0.0.77"]]
)
async def test_of_several_addresses_the_one_that_may_be_called_says_what_is_wrong(
    answers: list[str], plain: bool
) -> None:

    async def lookup(_host: str) -> list[str]:
        return answers

    action = HttpAction(EgressPolicy(["127.0.0.77/32"]), lookup=lookup, plain=plain)
    with socket.socket() as taken:
        taken.bind(("127.0.0.77", 0))  # and does not listen
        url = f"http://erp.example:{taken.getsockname()[1]}/"
        outcome = await action.run(an_http_call(url), a_job())
    await action.close()
    assert isinstance(outcome, RetryOutcome)
    assert outcome.failure == "network"
    assert "no connection" in outcome.reason


@pytest.mark.parametrize(
    ("written", "address", "names"),
    [
        ("http://10.0.0.1/", "10.0.0.1", True),
        ("http://10.0.0.1/", "10.0.0.2", False),
        ("http://[fd00::1]/", "fd00::1", True),
        ("http://localhost/", "127.0.0.9", True),
        ("http://api.localhost/", "::1", True),
        ("http://localhost/", "10.0.0.1", False),
        ("http://erp.example/", "10.0.0.1", False),
        ("http://erp.example/10.0.0.1", "10.0.0.1", False),
        ("http://10.0.0.1/", "127.1", False),
    ],
)
def test_which_addresses_the_operator_wrote_down(written: str, address: str, names: bool) -> None:
    assert is_written(address, URL(written).host or "", written.lower()) is names


def test_what_the_url_became_only_when_it_was_read_was_not_written_down() -> None:
    assert not is_written("10.0.0.1", "10.0.0.1", "http://①⓪.⓪.⓪.①/")


async def test_calls_of_one_target_do_not_wait_for_one_another(action: HttpAction) -> None:
    """How many run at a time is counted elsewhere."""
    reached, release = asyncio.Semaphore(0), asyncio.Event()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        reached.release()
        await release.wait()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(connected, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        calls = [asyncio.create_task(_called(action, url)) for _ in range(12)]
        for _ in calls:
            await reached.acquire()
        release.set()
        assert [result["status"] for result in await asyncio.gather(*calls)] == [200] * 12


# -- secrets that the call was not given ----------------------------------------------------------

CANARY = "canary/with+odd=letters-9f2e"


@pytest.fixture
async def knowing(plain: bool) -> AsyncIterator[HttpAction]:
    """An action of a router that knows the canary from elsewhere."""
    redactor = Redactor(8, encoded=True)
    redactor.register([CANARY])
    made = HttpAction(EgressPolicy(), redactor=redactor, plain=plain)
    yield made
    await made.close()


@pytest.mark.parametrize(
    "said",
    [
        CANARY,
        json.dumps({"deep": [{CANARY: f"Bearer {CANARY}"}]}),
        json.dumps({"a": CANARY}).replace("/", "\\/"),
        "".join(f"\\u{ord(letter):04x}" for letter in CANARY).join(('{"a": "', '"}')),
        quote(CANARY, safe=""),
        base64.b64encode(f"user:{CANARY}".encode()).decode(),
        base64.urlsafe_b64encode(f"x{CANARY}??".encode()).decode(),
    ],
)
async def test_no_answer_brings_a_known_secret_into_the_record(
    knowing: HttpAction, said: str
) -> None:
    pieces = (said[:9].encode(), said[9:].encode())
    async with answering(*pieces, headers=f"X-Echo: a {CANARY}\r\n") as url:
        result = await _called(knowing, url)
    kept = json.dumps({**result, "text": ""}) if "\\u" in said else json.dumps(result)
    assert CANARY not in kept
    assert CANARY not in str(result.get("json"))
    assert said not in kept
    assert result["headers"]["x-echo"] == "a ***"
    assert "***" in str(result.get("json", result["text"]))


@pytest.mark.parametrize("key", [True, False])
def test_no_escape_hides_a_secret_from_what_is_masked(key: bool) -> None:
    """Nothing in the text looks like it; what the text means does."""
    redactor = Redactor(8)
    redactor.register([CANARY])
    hidden = CANARY.replace("canary", "\\u0063anary")
    body = (f'{{"{hidden}": 1}}' if key else f'["{hidden}"]').encode()
    result = result_of(an_http_call(), HttpAnswer(200, [], body, False), redactor)
    assert result["json"] == ({"***": 1} if key else ["***"])


@pytest.mark.parametrize("kept", range(4, len(CANARY)))
async def test_no_part_of_a_secret_stands_where_an_answer_is_cut(
    knowing: HttpAction, kept: int
) -> None:
    before = b"x" * (ANSWER_MAX - kept)
    async with answering(before, CANARY.encode() * 2) as url:
        result = await _called(knowing, url)
    assert result["truncated"]
    assert result["text"].rstrip("*").endswith("xxx")
    assert CANARY[:4] not in result["text"]
