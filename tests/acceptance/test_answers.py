"""Answers made of the request, byte for byte: what a sender gets, and that it is stored first."""

import json
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import environ
from tests.acceptance.test_requests import asked

pytestmark = pytest.mark.long

RULES = """
secrets: {key: {env: KEY}}
endpoints:
  text:
    paths: /text
    provider: none
    verify: none
    dedupe: {key: payload.id}
    answer:
      status: "{{ default(payload.status, 200) }}"
      type: text/xml
      headers: {X-Name: "{{ payload.name }}", x-delivery: "{{ delivery.id }}"}
      body: "<a>{{ payload.name }} {{ query.q }}</a>"
      otherwise: {status: 202, headers: {x-other: "1"}, body: "otherwise {{ delivery.id }}"}
  json:
    paths: /json
    provider: none
    verify: none
    answer: {json: {name: "{{ payload.name }}", told: ["{{ headers.x-a }}", 1]}}
  both:
    paths: /both
    provider: none
    verify: none
    answer:
      body: "{{ payload.name }}"
      otherwise: {status: "{{ payload.status }}", json: {name: "{{ payload.other }}"}}
  fixed: {paths: /fixed, provider: none, verify: none, answer: {headers: {X-B: b}, json: {a: 1}}}
  batch:
    paths: /batch
    provider: sendgrid
    verify: none
    answer: {json: {count: "{{ length(payload) }}", first: "{{ payload[0].event }}"}}
  usual: {paths: /usual, provider: discord, verify: none, answer: {body: "{{ payload.name }}"}}
  token: {paths: /token, provider: token, secrets: key, verify: {header: X-Key}, answer: &shown
    {json: {key: '{{ headers."x-key" }}', auth: "{{ headers.authorization }}"}}}
  hidden:
    paths: /hidden
    provider: none
    verify: none
    redact: {fields: [payload.name], when: stored}
    answer: {body: "{{ payload.name }}"}
rules:
  - {id: all, from: all, actions: {log: seen}}
""".replace("headers.x-a", 'headers.\\"x-a\\"')
OURS = '{"status":"accepted","delivery":"ID"}'
LATE = "otherwise ID"


class Row(NamedTuple):
    """A request, and its answer with `ID` in place of the delivery's."""

    path: str
    body: Any
    status: int
    answer: str
    headers: Mapping[str, str] = MappingProxyType({})
    head: bytes = b""


ROWS = {
    "of the payload and the query": Row(
        "/text?q=2",
        {"id": 1, "name": "Anna"},
        200,
        "<a>Anna 2</a>",
        {"content-type": "text/xml", "x-name": "Anna", "x-delivery": "ID"},
    ),
    "a status of the payload": Row("/text?q=", {"name": "A", "status": 204.5}, 202, LATE),
    "a status that says it failed": Row("/text?q=", {"name": "A", "status": 500}, 202, LATE),
    "a status as a text": Row("/text?q=", {"name": "A", "status": "201"}, 201, "<a>A </a>"),
    "a status without a body": Row("/text?q=", {"name": "A", "status": 204}, 202, LATE),
    "a value that is not there": Row("/text?q=2", {}, 202, LATE, {"x-other": "1"}),
    "a field of the query that is not there": Row("/text", {"name": "A"}, 202, LATE),
    "a header that would begin another": Row("/text?q=", {"name": "A\r\nX-In: 1"}, 202, LATE),
    "a header with a bare line feed": Row("/text?q=", {"name": "A\nX-In: 1"}, 202, LATE),
    "a header with NUL": Row("/text?q=", {"name": "A\0"}, 202, LATE),
    "a header beyond Latin-1": Row("/text?q=", {"name": "\u0142"}, 202, LATE),
    "a header that is too long": Row("/text?q=", {"name": "a" * 9_000}, 202, LATE),
    "no JSON": Row("/text?q=", b"{", 202, LATE),
    "JSON keeps types": Row(
        "/json",
        {"name": [True, {"a": 1.50}]},
        200,
        '{"name":[true,{"a":1.5}],"told":["b",1]}',
        {"content-type": "application/json"},
        b"X-A: b\r\n",
    ),
    "JSON of null": Row("/json", {"name": None}, 200, OURS, {}, b"X-A: b\r\n"),
    "JSON that is too long": Row("/json", {"name": "a" * 66_000}, 200, OURS, {}, b"X-A: b\r\n"),
    "as long as it may be": Row("/both", {"name": "a" * 65_536}, 200, "a" * 65_536),
    "one more": Row("/both", {"name": "a" * 65_537, "other": 1, "status": 299}, 299, '{"name":1}'),
    "otherwise fails, too": Row("/both", {"other": 1}, 200, OURS),
    "of no request": Row("/fixed", {}, 200, '{"a":1}', {"x-b": "b"}),
    "all of a batch": Row(
        "/batch", [{"event": "open"}, {"event": "bounce"}], 200, '{"count":2,"first":"open"}'
    ),
    "an empty batch": Row("/batch", [], 200, OURS),
    "the sender's usual answer": Row("/usual", {"type": 2}, 204, ""),
    "a handshake stays": Row(
        "/usual", {"type": 1, "token": "a", "name": "Anna"}, 200, '{"type":1}'
    ),
    "what proves the sender is not shown": Row(
        "/token",
        {},
        200,
        '{"key":"[removed]","auth":"[removed]"}',
        {},
        b"X-Key: a-made-up-key-0123456789\r\nAuthorization: Bearer private\r\n",
    ),
    "what is never stored": Row("/hidden", {"name": "Anna"}, 200, "Anna"),
}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rig, RouterProcess]]:
    folder = tmp_path_factory.mktemp("answers") / "router"
    rig = Rig(folder, RULES, environ() | {"KEY": "a-made-up-key-0123456789"})
    with rig.router() as router:
        yield rig, router


def sent(rig: Rig, path: str, body: Any, head: bytes = b"") -> tuple[int, dict[str, str], str]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    status, headers, answer = asked(rig, path, b"Content-Type: application/json\r\n" + head, raw)
    return status, headers, answer.decode()


def nameless(text: str) -> str:
    return re.sub(r"dlv_\w+", "ID", text)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_an_answer_is_made_of_the_request(running: tuple[Rig, RouterProcess], row: Row) -> None:
    rig, _ = running
    status, headers, answer = sent(rig, row.path, row.body, row.head)
    assert (status, nameless(answer)) == (row.status, row.answer)
    assert {name: nameless(headers.get(name, "")) for name in row.headers} == row.headers
    assert "x-in" not in headers


def test_a_copy_gets_an_answer_of_its_own(running: tuple[Rig, RouterProcess]) -> None:
    """It is made of the copy, and has the first delivery's id."""
    rig, _ = running
    first = sent(rig, "/text?q=1", {"id": "c", "name": "Anna"})
    copy = sent(rig, "/text?q=2", {"id": "c", "name": "Ada"})
    assert (first[0], first[2]) == (200, "<a>Anna 1</a>")
    assert (copy[0], copy[2]) == (200, "<a>Ada 2</a>")
    assert first[1]["x-delivery"] == copy[1]["x-delivery"] != ""
