"""A condition on payloads is for a token that may see them, by every route that takes one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from router.model.settings import ROLES
from router.web.admin.callers import Caller, HeldToken
from router.web.admin.openapi import ApiRoute
from tests.unit.web.admin.rig import Rig
from tests.unit.web.pages import rig as pages

WHERE = "payload.id == 1"
BLIND = [
    HeldToken(Caller(f"blind-{r}", r, bodies=False), f"blind-{r}-".encode() * 3) for r in ROLES
]
VERBS = ("replay", "revive", "cancel")


def requests(rig: Rig) -> Iterator[tuple[ApiRoute, str, dict[str, Any]]]:
    """Every route that takes a condition, in each of the ways it can be asked with one."""
    for route in rig.routes:
        body = rig.body_of(route)
        if "where" in {parameter.name for parameter in route.query}:
            yield route, f"?where={quote(WHERE)}", {}
        elif body is not None and "selector" in body.__struct_fields__:
            for more in ({"dry_run": True}, {"dry_run": False}):
                yield route, "", {"selector": {"where": WHERE}, **more}
                yield (
                    route,
                    "",
                    {"selector": {"where": "payload.id == var.n", "var": {"n": 1}}} | more,
                )
    [replay] = [route for route in rig.routes if route.path == "/api/replay"]
    yield replay, "", {"selector": {"where": WHERE}, "name": "known"}


async def test_a_token_without_bodies_uses_no_condition_whatever_its_role(rig: Rig) -> None:
    rig.verbs = rig.world.operator
    rig.held = [*(rig.held or ()), *BLIND]
    rig.listener()
    known = msgspec.json.encode({"selector": {"where": WHERE}, "name": "known"})
    assert (await rig.ask("POST", "/api/replay", "local", body=known)).status == 200
    asked = {route.path for route, _, _ in requests(rig)}
    lists = {"/api/deliveries", "/api/jobs", "/api/dead", "/api/export"}
    assert asked == lists | {"/api/replay", "/api/cancel", "/api/revive", "/api/erase"}
    for route, query, body in requests(rig):
        given = msgspec.json.encode(body) if body else b""
        for token in BLIND:
            head = {"authorization": f"Bearer {token.value.decode()}"}
            answer = await rig.ask(route.method, route.path + query, headers=head, body=given)
            assert answer.status == 403, (route.path, body, token, answer.body)
            assert "may" in answer.json["detail"]
        if not body or body.get("dry_run"):
            answer = await rig.ask(route.method, route.path + query, "local", body=given)
            assert answer.status == 200, (route.path, body, answer.body)


@pytest.mark.parametrize("token", BLIND, ids=lambda token: token.caller.role)
async def test_nor_by_a_page_or_a_form(tmp_path: Path, token: HeldToken) -> None:
    async with pages.a_rig(tmp_path) as rig:
        rig.held = [*rig.held, token]
        await rig.ask("POST", "/login", form={"token": token.value.decode(), "next": "/rules"})
        for path in ("/deliveries", "/jobs", *(f"/plan?verb={v}" for v in VERBS)):
            answer = await rig.get(f"{path}{'&' if '?' in path else '?'}where={quote(WHERE)}")
            assert answer.status == 403, path
        for verb in VERBS:
            assert (await rig.post(f"/plan/{verb}", where=WHERE, name="x")).status == 403, verb
