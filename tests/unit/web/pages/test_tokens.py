"""The page of tokens: made, seen once, revoked; for admins alone."""

import re
from html import unescape

import pytest

from tests.clocks import settle
from tests.unit.web.pages.rig import Rig

_VALUE = re.compile(r"rtr_[A-Za-z0-9_-]{43}")


async def test_a_token_is_shown_once_and_logs_in(rig: Rig) -> None:
    await rig.log_in("admin")
    made = await rig.post("/tokens", on="/tokens", name="ci", role="operator", until="90d")
    assert (made.status, made.headers["cache-control"]) == (200, "no-store")
    [value] = _VALUE.findall(made.body.decode())
    listed = (await rig.get("/tokens")).body.decode()
    assert not _VALUE.findall(listed)
    assert 'action="/tokens/revoke"' in listed
    [kept] = await rig.verbs.tokens.counting()
    assert (kept.name, kept.role, kept.bodies, kept.by) == ("ci", "operator", False, "root")
    assert kept.until == rig.clock.now() + 90 * 86_400_000
    await rig.ask("POST", "/login", form={"token": value})
    assert (await rig.get("/rules")).status == 200
    await settle()


async def test_who_is_revoked_is_logged_out(rig: Rig) -> None:
    await rig.log_in("admin")
    admin = dict(rig.jar)
    made = await rig.post("/tokens", on="/tokens", name="ci", role="viewer", bodies="yes")
    [value] = _VALUE.findall(made.body.decode())
    await rig.ask("POST", "/login", form={"token": value})
    theirs, rig.jar = dict(rig.jar), admin
    await rig.log_in("admin")
    answer = await rig.post("/tokens/revoke", on="/tokens", name="ci")
    assert "ci is revoked" in answer.body.decode()
    rig.jar = theirs
    assert (await rig.get("/rules")).status == 303
    lines = await rig.store.reads.audited(None, None, 2)
    assert [(line.who, line.verb, line.way) for line in lines] == [
        ("root", "revoke_token", "page"),
        ("root", "new_token", "page"),
    ]


@pytest.mark.parametrize(
    ("path", "form", "says"),
    [
        ("/tokens", {"name": "Ci", "role": "viewer"}, "cannot be the name of a token"),
        ("/tokens", {"name": "ci", "role": "root"}, "a role is one of viewer, operator, admin"),
        ("/tokens", {"name": "ci", "role": "viewer", "until": "soon"}, "is not a time"),
        ("/tokens/revoke", {"name": "ci"}, "there is no token 'ci'"),
    ],
)
async def test_what_cannot_be_is_said_beside_the_form(
    rig: Rig, path: str, form: dict[str, str], says: str
) -> None:
    await rig.log_in("admin")
    answer = await rig.post(path, on="/tokens", **form)
    assert answer.status == 400
    assert says in unescape(answer.body.decode())
    assert await rig.verbs.tokens.counting() == []


async def test_only_an_admin_is_led_there(rig: Rig) -> None:
    for who, led in (("admin", True), ("operator", False), ("viewer", False)):
        await rig.log_in(who)
        assert (b'href="/tokens"' in (await rig.get("/rules")).body) is led
