"""What stands around every answer of the admin listener, and what becomes of one given up."""

import asyncio
from typing import Any

import pytest

from router.web.admin.app import STRICT, AdminApp
from router.web.admin.browsers import Hosts
from router.web.admin.problems import Rejected
from tests.unit.web.admin.rig import HERE, HOST, Answer, called

TEXT = (b"content-type", b"text/plain")
OURS = {
    "content-type": "text/plain",
    "content-security-policy": STRICT.decode(),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


async def unready() -> None:
    """It is ready."""


def never() -> Any:
    raise AssertionError("it is not asked for")


def admin_of(application: Any) -> AdminApp:
    """The admin listener with this application behind it."""
    return AdminApp(lambda: application, hosts=Hosts(HOST), unready=unready)


def a_scope(path: str = "/x", method: str = "GET") -> dict[str, Any]:
    return {
        "type": "http", "method": method, "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": b"", "headers": [(b"host", HOST.encode())],
        "client": HERE,
    }  # fmt: skip


async def answered(status: int, *headers: tuple[bytes, bytes], parts: tuple[bytes, ...]) -> Answer:
    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return await called(admin_of(application), a_scope())


@pytest.mark.parametrize(
    ("client", "forwarded", "proved"),
    [
        (HERE[0], False, True),
        ("192.0.2.1", False, True),
        (HERE[0], True, False),
        ("192.0.2.1", True, False),
        ("192.0.2.9", False, False),
    ],
)
async def test_only_a_client_on_this_machine_is_given_a_proof(
    client: str, forwarded: bool, proved: bool
) -> None:
    """Others could try tokens against it: whoever asks from elsewhere knows the router by TLS."""
    asked = a_scope("/livez")
    asked["headers"] += [(b"router-nonce", b"n"), *[(b"x-forwarded-for", b"a")] * forwarded]
    at = {"client": (client, 4711), "server": ("192.0.2.1", 8001)}
    admin = AdminApp(never, hosts=Hosts(HOST), unready=unready, local=("token", "/r.db"))
    answer = await called(admin, {**asked, **at})
    assert ("router-proof" in answer.headers) is proved


@pytest.mark.parametrize(
    ("status", "ends"),
    [(200, False), (303, False), (399, False), (400, True), (401, True), (404, True), (503, True)],
)
async def test_a_connection_ends_with_a_refusal(status: int, ends: bool) -> None:
    """What follows a request that was not read to its end is no request."""
    answer = await answered(status, TEXT, parts=(b"ab",))
    assert answer.headers == OURS | ({"connection": "close"} if ends else {})


@pytest.mark.parametrize("name", sorted(OURS))
async def test_a_header_of_the_answer_s_own_takes_the_place_of_ours(name: str) -> None:
    given = {"content-type": "text/plain", name: "own", "x-more": "1"}
    headers = [(key.encode(), value.encode()) for key, value in given.items()]
    answer = await answered(200, *headers, parts=())
    assert answer.headers == OURS | given


async def test_a_stream_goes_through_as_it_comes() -> None:
    answer = await answered(200, TEXT, parts=(b"one", b" two"))
    assert (answer.status, answer.headers, answer.body) == (200, OURS, b"one two")


async def test_a_refusal_s_own_headers_stand_in_the_answer() -> None:
    async def application(*_: Any) -> None:
        raise Rejected(429, "wait", {"retry-after": "7", "cache-control": "own"})

    answer = await called(admin_of(application), a_scope())
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    assert answer.headers["cache-control"] == "own"
    words = {"title": "Too Many Requests", "detail": "wait", "error": "too_many_requests"}
    assert answer.json == {**words, "status": 429}


async def test_a_request_that_is_given_up_is_answered_nothing_and_is_no_fault() -> None:
    """The listener ends while a handler still waits: its task ends quietly."""
    begun = asyncio.Event()
    sent: list[Any] = []

    async def application(*_: Any) -> None:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("it waits for ever")

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    task = asyncio.create_task(admin_of(application).serve(a_scope(), receive, send))
    await begun.wait()
    task.cancel()
    await task
    assert sent == []


async def test_probes_are_answered_before_the_application_is_built() -> None:
    admin = AdminApp(never, hosts=Hosts(HOST), unready=unready)
    assert (await called(admin, a_scope("/livez"))).body == b"ok\n"
    assert (await called(admin, a_scope("/readyz"))).body == b"ready\n"


async def test_it_is_built_once_however_many_ask() -> None:
    built: list[int] = []

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    def build() -> Any:
        built.append(1)
        return application

    admin = AdminApp(build, hosts=Hosts(HOST), unready=unready)
    admin.begin()
    answers = await asyncio.gather(*(called(admin, a_scope()) for _ in range(5)))
    assert [answer.status for answer in answers] == [200] * 5
    assert built == [1]


async def test_what_cannot_be_built_is_503_and_no_more() -> None:
    def build() -> Any:
        raise RuntimeError("s3cret")

    answer = await called(AdminApp(build, hosts=Hosts(HOST), unready=unready), a_scope())
    assert (answer.status, b"s3cret" in answer.body) == (503, False)


@pytest.mark.parametrize("path", ["//x", "/x/", "/%78", "/a" * 9, "/" + "x" * 129])
async def test_a_path_that_litestar_would_read_as_another_is_none(path: str) -> None:
    asked: list[str] = []

    async def application(scope: Any, _receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    await called(admin_of(application), a_scope(path))
    await called(admin_of(application), a_scope("/x.json"))
    assert asked[0] not in ("/x", "/x.json", path)
    assert asked[1] == "/x.json"
