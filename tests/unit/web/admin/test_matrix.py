"""Every route of the application x who asks x where the request comes from."""

import msgspec
import pytest

from router.web.admin.app import STRICT
from router.web.admin.openapi import ApiRoute
from tests.unit.web.admin.rig import HERE, TOKENS, Rig

QUERIES = {"/api/output": "?job=job_1"}
"""What a route cannot do without."""

ADMINS = {
    "/api/erase", "/api/erasures", "/api/erasures/{erasure}", "/api/tokens", "/api/tokens/revoke",
}  # fmt: skip
OPEN, LOOPBACK = {"/livez", "/readyz"}, {"/metrics"}
PAYLOADS = {
    "/api/deliveries/after", "/api/deliveries/{delivery}/body", "/api/export", "/api/output",
    "/api/refusal",
}  # fmt: skip
WHO = (None, "wrong", *TOKENS)


def promised(route: ApiRoute) -> tuple[str, bool]:
    """Who may ask, and whether payloads are shown: docs/api.md, whatever the route itself says."""
    rest = "operator" if route.method == "POST" else "viewer"
    kinds = {"admin": ADMINS, "open": OPEN, "loopback": LOOPBACK}
    access = next((kind for kind, paths in kinds.items() if route.path in paths), rest)
    return access, route.path in PAYLOADS


def expected(route: ApiRoute, who: str | None) -> int:
    """The status of a request that is right in all but who asks."""
    if route.access == "open":
        return 200
    if who is None or who == "wrong":
        return 401
    may = {"operator": ("local", "operator"), "admin": ("local",)}
    if who not in may.get(route.access, WHO):
        return 403
    return 403 if route.payloads and who == "hidden" else 200


def body_of(rig: Rig, route: ApiRoute) -> bytes:
    """The least that the route's Struct can be."""
    body = rig.body_of(route)
    if body is None:
        return b""
    needed = [field for field in msgspec.structs.fields(body) if field.required]
    return msgspec.json.encode({f.encode_name: "x" if f.type is str else {} for f in needed})


async def asked(rig: Rig, route: ApiRoute, who: str | None, **headers: str) -> int:
    if who == "wrong":
        who, headers = None, {"authorization": "Bearer wrong", **headers}
    path = rig.path_of(route) + QUERIES.get(route.path, "")
    body = body_of(rig, route)
    return (await rig.ask(route.method, path, who, headers=headers, body=body)).status


@pytest.mark.parametrize("who", WHO)
async def test_who_may_do_what(rig: Rig, who: str | None) -> None:
    for route in rig.routes:
        assert await asked(rig, route, who) == expected(route, who), route.path
    changing = [r for r in rig.routes if r.method == "POST"]
    allowed = [r for r in changing if expected(r, who) == 200]
    assert len(allowed) == {"local": len(changing), "operator": len(changing) - 3}.get(who or "", 0)
    assert len(rig.operator.changes) == len(allowed)


@pytest.mark.parametrize("who", WHO)
async def test_nobody_comes_from_another_site_or_by_another_name(rig: Rig, who: str | None) -> None:
    for route in rig.routes:
        for headers, status in (
            ({"origin": "http://evil.example"}, 403),
            ({"origin": "null"}, 403),
            ({"origin": "https://127.0.0.1"}, 403),
            ({"origin": "http://127.0.0.1:8000"}, 403),
            ({"sec-fetch-site": "cross-site"}, 403),
            ({"sec-fetch-site": "same-site"}, 403),
            ({"host": "evil.example"}, 400),
            ({"host": "localhost.evil.example:8001"}, 400),
        ):
            assert await asked(rig, route, who, **headers) == status, (route.path, headers)
    assert rig.operator.calls == []


async def test_the_same_site_may(rig: Rig) -> None:
    for scheme in ("http", "https"):  # https: through a proxy with TLS
        headers = {"origin": f"{scheme}://127.0.0.1:8001", "sec-fetch-site": "same-origin"}
        for route in rig.routes:
            assert await asked(rig, route, "local", **headers) == 200, route.path


async def test_where_no_token_is_asked_for_the_other_walls_stand(rig: Rig) -> None:
    rig.held = None
    rig.listener()
    for route in rig.routes:
        assert await asked(rig, route, None) == 200, route.path
        assert await asked(rig, route, None, origin="http://evil.example") == 403
        assert await asked(rig, route, None, host="evil.example") == 400


async def test_no_state_changes_by_get_and_only_operators_change(rig: Rig) -> None:
    for route in rig.routes:
        assert (route.access, route.payloads) == promised(route), route.path
        assert (rig.body_of(route) is not None) == (route.method == "POST"), route.path
        known = {one.method for one in rig.routes if one.path == route.path}
        for other in {"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"} - known:
            answer = await rig.ask(other, rig.path_of(route), "operator")
            assert (answer.status, answer.headers["allow"]) == (405, ", ".join(sorted(known)))
    assert rig.operator.calls == []


async def test_every_answer_is_safe_in_a_browser(rig: Rig) -> None:
    paths = [rig.path_of(route) for route in rig.routes] + ["/no"]
    for path in paths:
        for who in (None, "operator"):
            headers = (await rig.ask("GET", path, who)).headers
            assert headers["content-security-policy"].encode() == STRICT
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["x-frame-options"] == "DENY"
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["cache-control"] == "no-store"
            assert not {"access-control-allow-origin", "server", "set-cookie"} & headers.keys()


async def test_metrics_need_no_token_on_this_machine_unless_a_proxy_forwards(rig: Rig) -> None:
    [route] = [r for r in rig.routes if r.access == "loopback"]
    assert route.path == "/metrics"
    for headers, client, status in (
        ({}, HERE, 200),
        ({}, ("::1", 1), 200),
        ({"x-forwarded-for": "1.1.1.1"}, HERE, 401),
        ({"forwarded": "for=1.1.1.1"}, HERE, 401),
        ({"x-real-ip": "1.1.1.1"}, HERE, 401),
        ({}, ("192.0.2.1", 1), 401),
        ({}, None, 401),
    ):
        answer = await rig.ask("GET", "/metrics", headers=headers, client=client)
        assert answer.status == status, (headers, client)
    for route in (r for r in rig.routes if r.access not in ("loopback", "open")):
        answer = await rig.ask(route.method, rig.path_of(route), client=HERE)
        assert answer.status == 401, route.path


async def test_a_strange_path_is_no_page(rig: Rig) -> None:
    for path in (
        "/", "/api/", "/api/status/", "//livez", "/api/%72eload", "/api/jobs/{job}", "/api/jobs/",
        "/api/deliveries/a/b", "/api/deliveries/../jobs", "/api/jobs/%2e%2e", "/API/status",
        "/api/jobs/" + "a" * 129, "/api/jobs/\xe4",
    ):  # fmt: skip
        assert (await rig.ask("GET", path, "operator")).status == 404, path
