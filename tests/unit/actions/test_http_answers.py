"""What is read of an answer, what is made of it, and the words for a call that had none."""

import base64
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest

from router.actions.http import HttpAction
from router.actions.http_client.response import ANSWER_MAX, HttpAnswer
from router.actions.kept_response import result_of
from router.egress import EgressPolicy, is_written
from router.kinds.http import HttpCall
from router.log import Redactor
from router.model.job import Done
from tests.sim.makers import a_job, an_http_call
from tests.wire.calls import CLOSE, answering


def _head(length: int) -> bytes:
    said = f"Content-Length: {length}\r\nX-Echo: a {CANARY}\r\n\r\n"
    return f"HTTP/1.1 200 OK\r\nConnection: close\r\n{said}".encode()


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


@pytest.mark.parametrize(
    ("host", "address", "names"),
    [
        ("10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("fd00::1", "fd00::1", True),
        ("localhost", "127.0.0.9", True),
        ("api.localhost", "::1", True),
        ("localhost", "10.0.0.1", False),
        ("erp.example", "10.0.0.1", False),
        ("10.0.0.1", "127.1", False),
    ],
)
def test_which_addresses_the_operator_wrote_down(host: str, address: str, names: bool) -> None:
    assert is_written(address, host, (host,)) is names


# -- secrets that the call was not given ----------------------------------------------------------

CANARY = "canary/with+odd=letters-9f2e"


@pytest.fixture
async def knowing() -> AsyncIterator[HttpAction]:
    """An action of a router that knows the canary from elsewhere."""
    redactor = Redactor(8, encoded=True)
    redactor.register([CANARY])
    made = HttpAction(EgressPolicy(), redactor=redactor)
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
    async with answering([_head(len(said)), *pieces, CLOSE]) as target:
        result = await _called(knowing, target.url)
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
    body = before + CANARY.encode() * 2
    async with answering([_head(len(body)), before, body[len(before) :], CLOSE]) as target:
        result = await _called(knowing, target.url)
    assert result["truncated"]
    assert result["text"].rstrip("*").endswith("xxx")
    assert CANARY[:4] not in result["text"]
