"""The admin door: who may do what, and what each route answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from router.errors import NotFound, RouterError, StoreUnavailable, UsageError
from router.model.settings import Limits
from router.web.admin import Admin
from router.web.app import admin_app
from router.web.server import Listener
from router.web.wire import Wire
from tests.unit.web.wire_client import Client, Response

TOKEN = "made-up-token-made-up"
BEARER = f"Authorization: Bearer {TOKEN}"


class FakeOperator:
    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.fault: Exception | None = None
        self.is_ready = True

    async def ready(self) -> bool:
        return self.is_ready

    async def status(self) -> dict[str, Any]:
        return self._done("status", None)

    def refusals(self, limit: int) -> list[dict[str, Any]]:
        self._done("refusals", limit)
        return [{"reason": "bad_signature"}]

    async def replay(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._done("replay", body)

    async def cancel(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._done("cancel", body)

    async def revive(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._done("revive", body)

    async def reload(self) -> dict[str, Any]:
        return self._done("reload", None)

    def _done(self, verb: str, what: Any) -> dict[str, Any]:
        if self.fault is not None:
            raise self.fault
        self.calls.append((verb, what))
        return {"did": verb}


class Window:
    def __init__(self, operator: FakeOperator, admin: Admin, listener: Listener) -> None:
        self.operator = operator
        self.admin = admin
        self.listener = listener

    async def ask(
        self, method: str, path: str, *heads: str, body: bytes = b"", host: str | None = None
    ) -> Response:
        client = Client(*await _connect(self.listener))
        name = host if host is not None else f"127.0.0.1:{self.listener.bound[1]}"
        lines = [f"{method} {path} HTTP/1.1", f"Host: {name}", *heads]
        if body:
            lines += [f"Content-Length: {len(body)}", "Content-Type: application/json"]
        await client.send("\r\n".join([*lines, "", ""]).encode() + body)
        answer = await client.response()
        await client.close()
        return answer


async def _connect(listener: Listener) -> Any:
    return await asyncio.open_connection(*listener.bound)


@asynccontextmanager
async def window(token: str | None = TOKEN, hosts: tuple[str, ...] = ()) -> AsyncIterator[Window]:
    operator = FakeOperator()
    admin = Admin(operator, token=token, render_metrics=lambda: b"up 1\n", hosts=hosts)
    listener = Listener(admin_app(admin), "127.0.0.1:0", Wire(Limits()))
    await listener.start()
    try:
        yield Window(operator, admin, listener)
    finally:
        await listener.stop(1)


@pytest.fixture
async def door() -> AsyncIterator[Window]:
    async with window() as opened:
        yield opened


async def test_every_route_needs_the_token_but_health_and_local_metrics(door: Window) -> None:
    for path, route in door.admin.routes.items():
        without = await door.ask(route.method, path)
        wrong = await door.ask(route.method, path, "Authorization: Bearer wrong")
        right = await door.ask(route.method, path, BEARER)
        free = path in ("/livez", "/readyz", "/metrics")
        assert (without.status, wrong.status, right.status) == (
            (200, 200, 200) if free else (401, 401, 200)
        ), path


@pytest.mark.parametrize(
    "header",
    [
        "Authorization: Basic " + TOKEN,
        "Authorization: " + TOKEN,
        "Authorization: Bearer",
        "Authorization: Bearer " + TOKEN + "x",
        "Authorization: Bearer " + TOKEN.upper(),
        f"Authorization: Bearer {TOKEN}\r\nAuthorization: Bearer {TOKEN}",
        "X-Token: " + TOKEN,
    ],
)
async def test_nothing_else_is_a_token(door: Window, header: str) -> None:
    assert (await door.ask("POST", "/api/reload", header)).status in (400, 401)
    assert door.operator.calls == []


async def test_without_a_token_nobody_is_asked_for_one() -> None:
    async with window(token=None) as door:
        assert (await door.ask("POST", "/api/reload")).status == 200


async def test_metrics_through_a_proxy_are_not_local(door: Window) -> None:
    assert (await door.ask("GET", "/metrics", "X-Forwarded-For: 1.1.1.1")).status == 401
    assert (await door.ask("GET", "/metrics")).body == b"up 1\n"


async def test_no_state_changes_by_get(door: Window) -> None:
    for path, route in door.admin.routes.items():
        other = "GET" if route.method == "POST" else "POST"
        answer = await door.ask(other, path, BEARER)
        assert (answer.status, answer.headers["allow"]) == (405, route.method)
    assert door.operator.calls == []
    changing = {path for path, route in door.admin.routes.items() if route.method == "POST"}
    assert changing == {"/api/replay", "/api/cancel", "/api/revive", "/api/reload"}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "",
        "127.0.0.1:x",
        "[::1",
        "0.0.0.0",  # noqa: S104 - a Host header
    ],
)
async def test_a_foreign_host_is_refused(door: Window, host: str) -> None:
    assert (await door.ask("GET", "/livez", host=host)).status == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8001", "ops.lan"])
async def test_our_own_names_are_served(host: str) -> None:
    async with window(hosts=("ops.lan", "0.0.0.0")) as door:  # noqa: S104 - a name
        assert (await door.ask("GET", "/livez", host=host)).status == 200


@pytest.mark.parametrize(
    "header",
    [
        "Origin: http://evil.example",
        "Origin: null",
        "Origin: https://127.0.0.1",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ],
)
async def test_another_origin_is_refused(header: str) -> None:
    async with window(token=None) as door:
        for path, route in door.admin.routes.items():
            assert (await door.ask(route.method, path, header)).status == 403
        assert door.operator.calls == []


async def test_the_same_origin_is_served(door: Window) -> None:
    origin = f"Origin: http://127.0.0.1:{door.listener.bound[1]}"
    answer = await door.ask("POST", "/api/reload", BEARER, origin, "Sec-Fetch-Site: same-origin")
    assert answer.status == 200


async def test_verbs_get_their_body_and_answer_json(door: Window) -> None:
    for verb in ("replay", "cancel", "revive"):
        answer = await door.ask("POST", f"/api/{verb}", BEARER, body=b'{"rule":"paid"}')
        assert (answer.status, json.loads(answer.body)) == (200, {"did": verb})
        assert door.operator.calls[-1] == (verb, {"rule": "paid"})


async def test_refusals_take_a_limit(door: Window) -> None:
    for query, limit in (("", 100), ("?limit=5", 5), ("?limit=99999", 1000)):
        answer = await door.ask("GET", "/api/refusals" + query, BEARER)
        assert json.loads(answer.body) == {"refusals": [{"reason": "bad_signature"}]}
        assert door.operator.calls[-1] == ("refusals", limit)
    assert (await door.ask("GET", "/api/refusals?limit=-1", BEARER)).status == 400


@pytest.mark.parametrize(
    ("fault", "status", "detail"),
    [
        (NotFound("no delivery dlv_1"), 404, "no delivery dlv_1"),
        (UsageError("say what"), 400, "say what"),
        (StoreUnavailable("disk"), 503, "disk"),
        (RouterError("not now"), 409, "not now"),
        (RuntimeError("s3cret"), 503, "the router failed; its log says why"),
    ],
)
async def test_a_fault_is_a_problem(
    door: Window, fault: Exception, status: int, detail: str
) -> None:
    door.operator.fault = fault
    answer = await door.ask("POST", "/api/replay", BEARER)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert json.loads(answer.body) == {"status": status, "detail": detail}


@pytest.mark.parametrize("body", [b"[]", b"{", b'"x"', b"\xff", b"[" * 100_000])
async def test_a_body_that_is_no_object_is_400(door: Window, body: bytes) -> None:
    assert (await door.ask("POST", "/api/replay", BEARER, body=body)).status == 400
    assert door.operator.calls == []


async def test_a_body_too_large_is_413(door: Window) -> None:
    assert (await door.ask("POST", "/api/replay", BEARER, body=b" " * 1_100_000)).status == 413


async def test_a_form_of_another_page_cannot_be_a_body(door: Window) -> None:
    answer = await door.ask(
        "POST", "/api/replay", BEARER, "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}"
    )
    assert answer.status == 415


async def test_readiness_says_no(door: Window) -> None:
    door.operator.is_ready = False
    assert (await door.ask("GET", "/readyz")).status == 503
    assert (await door.ask("GET", "/livez")).status == 200


async def test_every_answer_is_safe_in_a_browser(door: Window) -> None:
    for path in (*door.admin.routes, "/no"):
        answer = await door.ask("GET", path, BEARER)
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert not {"access-control-allow-origin", "server"} & answer.headers.keys()


async def test_an_unknown_page_is_404(door: Window) -> None:
    for path in ("/", "/api", "/api/status/", "//livez", "/api/%72eload"):
        assert (await door.ask("GET", path, BEARER)).status == 404
