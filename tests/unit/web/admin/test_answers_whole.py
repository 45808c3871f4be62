"""What stands around every answer of the admin door, and what becomes of one that is given up."""

import asyncio
from typing import Any

import pytest

from router.web.admin.app import Admin
from router.web.admin.browsers import Hosts
from router.web.admin.call import STRICT, TEXT, Call, Rejected, Route, RouteAnswer, Stream
from router.web.admin.callers import Callers
from tests.clocks import ManualClock
from tests.unit.web.admin.rig import HERE, HOST, Answer, called

OURS = {
    "content-type": TEXT,
    "content-security-policy": STRICT.decode(),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


def a_door(handle: Any, path: str = "/x") -> Admin:
    """A door of one route, at which no token is asked for."""
    return Admin(
        [Route("GET", path, "open", "", handle)],
        callers=Callers(None, clock=ManualClock()),
        hosts=Hosts(HOST),
        clock=ManualClock(),
    )


def a_scope(path: str = "/x") -> dict[str, Any]:
    return {
        "type": "http", "method": "GET", "scheme": "http", "path": path, "raw_path": path.encode(),
        "query_string": b"", "headers": [(b"host", HOST.encode())], "client": HERE,
    }  # fmt: skip


async def answered(page: RouteAnswer | Stream) -> Answer:
    async def handle(_: Call) -> RouteAnswer | Stream:
        return page

    return await called(a_door(handle), a_scope())


@pytest.mark.parametrize(
    ("status", "ends"),
    [(200, False), (303, False), (399, False), (400, True), (401, True), (404, True), (503, True)],
)
async def test_a_connection_ends_with_a_refusal(status: int, ends: bool) -> None:
    """What follows a request that was not read to its end is no request."""
    answer = await answered(RouteAnswer(status, TEXT, b"ab"))
    rest = {"connection": "close"} if ends else {}
    assert answer.headers == OURS | {"content-length": "2"} | rest


@pytest.mark.parametrize("name", sorted(OURS))
async def test_a_header_of_the_answer_s_own_takes_the_place_of_ours(name: str) -> None:
    own = ((name.encode(), b"own"), (b"x-more", b"1"))
    answer = await answered(RouteAnswer(200, TEXT, b"", own))
    assert answer.headers == OURS | {name: "own", "x-more": "1", "content-length": "0"}


async def test_a_stream_has_what_a_page_has_but_no_length() -> None:
    async def write(_: Any, send: Any) -> None:
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await send({"type": "http.response.body", "body": b" two"})

    answer = await answered(Stream("text/event-stream", write, b"default-src 'self'"))
    own = {"content-type": "text/event-stream", "content-security-policy": "default-src 'self'"}
    assert (answer.status, answer.headers, answer.body) == (200, OURS | own, b"one two")


async def test_a_refusal_s_own_headers_stand_in_the_answer() -> None:
    async def handle(_: Call) -> RouteAnswer:
        raise Rejected(429, "wait", (b"retry-after", b"7"), (b"cache-control", b"own"))

    answer = await called(a_door(handle), a_scope())
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    assert answer.headers["cache-control"] == "own"
    assert answer.json == {"title": "Too Many Requests", "status": 429, "detail": "wait"}


async def test_a_request_that_is_given_up_is_answered_nothing_and_is_no_fault() -> None:
    """The listener ends while a handler still waits: its task ends quietly."""
    begun = asyncio.Event()
    sent: list[Any] = []

    async def handle(_: Call) -> RouteAnswer:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("it waits for ever")

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    task = asyncio.create_task(a_door(handle).serve(a_scope(), receive, send))
    await begun.wait()
    task.cancel()
    await task
    assert sent == []


@pytest.mark.parametrize(("path", "status"), [("/x.json", 200), ("/xyjson", 404), ("/x", 404)])
async def test_a_path_is_itself_and_nothing_that_looks_like_it(path: str, status: int) -> None:
    async def handle(_: Call) -> RouteAnswer:
        return RouteAnswer(200, TEXT, b"")

    assert (await called(a_door(handle, "/x.json"), a_scope(path))).status == status
