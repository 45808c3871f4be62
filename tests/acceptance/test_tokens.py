"""Tokens by name at real routers: what they open, and that nothing opens once they are revoked."""

import json
from pathlib import Path
from threading import Thread

import httpx
import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import Rig, called
from tests.acceptance.senders import ENDPOINTS, environ
from tests.postgres.server import Server

pytestmark = pytest.mark.long

RULES = "rules: [{id: all, from: all, actions: {log: hi}}]\n"
PATIENCE_S = 60.0


def made(rig: Rig, name: str, role: str) -> str:
    code, out, err = called(rig, "token", "new", name, "--role", role)
    assert (code, "it is not shown again" in err) == (0, True)
    return out.strip()


def asked(url: str, token: str, path: str = "/api/whoami") -> httpx.Response:
    return httpx.get(url + path, headers={"authorization": f"Bearer {token}"}, timeout=PATIENCE_S)


def test_a_revoked_token_opens_nothing_and_ends_what_it_began(make_rig: MakeRig) -> None:
    rig = make_rig(RULES)
    with (
        rig.router() as router,
        httpx.Client(base_url=router.admin_url, timeout=PATIENCE_S) as browser,
    ):
        early = made(rig, "early", "viewer")
        assert asked(router.admin_url, early).json()["role"] == "viewer"
        token = made(rig, "ann", "operator")
        who = asked(router.admin_url, token).json()
        assert (who["name"], who["role"]) == ("ann", "operator")
        assert asked(router.admin_url, token, "/api/tokens").status_code == 403
        assert browser.post("/login", data={"token": token}).status_code == 303
        assert browser.get("/rules").status_code == 200
        head = {"authorization": f"Bearer {token}"}
        with httpx.stream(
            "GET", f"{router.admin_url}/api/signal", headers=head, timeout=PATIENCE_S
        ) as signal:
            lines = signal.iter_lines()
            assert next(lines)
            watching = Thread(target=lambda: list(lines))
            watching.start()
            assert called(rig, "token", "revoke", "ann")[0] == 0
            assert asked(router.admin_url, token).status_code == 401
            assert browser.get("/rules").headers["location"] == "/login?next=%2Frules"
            assert called(rig, "send", "shop", "orders/paid")[0] == 0  # the next that it would see
            watching.join(PATIENCE_S)
            assert not watching.is_alive()
        listed = {row["name"]: row for row in json.loads(called(rig, "token", "list", "--json")[1])}
        assert set(listed) == {"token", "early"}
        assert listed["early"]["used_at"] is not None
        audit = json.loads(called(rig, "audit", "--json")[1])
        assert [line["command"] for line in audit] == [
            "router token revoke ann",
            "router token new --role operator ann",
            "router token new --role viewer early",
        ]
        assert [(line["who"], line["way"]) for line in audit] == [
            ("token", "api"),
            ("token", "api"),
            ("token", "api"),
        ]
        assert router.stop() == 0, router.output()
    said = router.log.read_bytes() + b"".join(f.read_bytes() for f in rig.folder.glob("router*"))
    assert b"revoke_token" in said
    assert not [one for one in (token, early) if one.encode() in said]


def test_revoked_by_one_router_it_opens_no_other_of_the_database(
    tmp_path: Path, postgres_server: Server, new_database: str
) -> None:
    known = {**environ(), "ROUTER_STORE": postgres_server.address(new_database)}
    one, other = (Rig(tmp_path / name, ENDPOINTS + RULES, known) for name in ("one", "other"))
    with one.router() as first, other.router() as second:
        token = made(one, "ann", "viewer")
        second.until(lambda: asked(second.admin_url, token).status_code == 200, "the token")
        assert called(one, "token", "revoke", "ann")[0] == 0
        assert asked(first.admin_url, token).status_code == 401
        second.until(lambda: asked(second.admin_url, token).status_code == 401, "its end")
