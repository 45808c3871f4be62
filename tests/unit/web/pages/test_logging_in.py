"""Logging in and being logged in: what ends it, what it cannot get round, and its cookie."""

import asyncio

import pytest

from router.operator.requests import TokenName, TokenRequest
from router.operator.tokens import FRESH_S
from router.web.admin.callers import HeldToken
from router.web.admin.token_throttle import ALLOWED, PAUSE_S, WINDOW_S
from router.web.pages.sessions import LASTS_S
from tests.clocks import settle
from tests.unit.web.pages.rig import TOKENS, Rig


async def guess_too_often(rig: Rig) -> None:
    for number in range(ALLOWED):
        assert (await rig.ask("POST", "/login", form={"token": f"guess-{number}"})).status == 401


async def test_the_cookie_is_named_as_cookies_may_be_and_lasts_as_the_session(rig: Rig) -> None:
    given = (await rig.log_in("viewer")).headers["set-cookie"]
    assert given.startswith("router_session=")
    assert f"Max-Age={LASTS_S:.0f}" in given.split("; ")


async def test_logging_out_takes_the_cookie_away(rig: Rig) -> None:
    await rig.log_in("viewer")
    taken = (await rig.post("/logout")).headers["set-cookie"]
    assert taken.startswith("router_session=;")
    assert "Max-Age=0" in taken.split("; ")


async def test_nobody_is_logged_out_by_a_form_that_is_not_ours(rig: Rig) -> None:
    await rig.log_in("viewer")
    for form in ({}, {"proof": ""}, {"proof": "0" * 64}):
        answer = await rig.ask("POST", "/logout", form=form)
        assert (answer.status, "set-cookie" in answer.headers) == (403, False)
    assert (await rig.get("/rules")).status == 200


async def test_a_token_that_comes_back_does_not_bring_its_sessions_back(rig: Rig) -> None:
    """Somebody took it back because it had been lost: who has a cookie of then is nobody."""
    await rig.log_in("viewer")
    kept = dict(rig.jar)
    rig.held.remove(TOKENS["viewer"])
    assert (await rig.get("/rules")).headers["location"] == "/login?next=%2Frules"
    rig.held.append(TOKENS["viewer"])
    assert rig.jar == kept
    assert (await rig.get("/rules")).status == 303
    await rig.log_in("viewer")
    assert (await rig.get("/rules")).status == 200


async def test_a_named_token_logs_in_and_its_sessions_end_when_it_is_revoked(rig: Rig) -> None:
    made = await rig.verbs.new_token(TokenRequest("ci"))
    await rig.ask("POST", "/login", form={"token": made.token})
    page = await rig.get("/rules")
    assert (page.status, b"ci" in page.body) == (200, True)
    assert (await rig.get("/no-such-page")).status == 404
    await rig.clock.advance(FRESH_S)
    assert (await rig.get("/no-such-page")).status == 404, "nobody asks the store for it"
    assert (await rig.get("/rules")).status == 200
    await rig.verbs.revoke_token(TokenName("ci"))
    assert (await rig.get("/rules")).status == 303


async def test_wrong_tokens_hold_up_no_session_and_no_right_token(rig: Rig) -> None:
    """Whoever guesses may share the address of somebody who works."""
    await rig.log_in("viewer")
    await guess_too_often(rig)
    assert (await rig.get("/rules")).status == 200
    asked = asyncio.ensure_future(rig.ask("POST", "/login", form={"token": "one-more"}))
    right = {"token": TOKENS["viewer"].value.decode()}
    logging_in = asyncio.ensure_future(rig.ask("POST", "/login", form=right))
    await settle()
    assert (logging_in.done(), asked.done()) == (True, False)
    taken = await logging_in
    assert (taken.status, "set-cookie" in taken.headers) == (303, True)
    await rig.clock.advance(PAUSE_S)
    answer = await asked
    assert (answer.status, answer.headers["retry-after"]) == (429, f"{WINDOW_S:.0f}")
    assert b"too many wrong tokens" in answer.body


async def test_sessions_of_a_token_that_was_taken_back_are_no_guesses(rig: Rig) -> None:
    """Many who were logged in by it come again: whoever mistypes next is told so at once."""
    jars = []
    for _ in range(ALLOWED + 1):
        await rig.log_in("viewer")
        jars.append(dict(rig.jar))
    rig.held.remove(TOKENS["viewer"])
    for jar in jars:
        rig.jar = jar
        assert (await rig.get("/rules")).status == 303
    assert (await rig.ask("POST", "/login", form={"token": "guess"})).status == 401


async def test_a_wrong_token_is_reported_where_it_was_given(rig: Rig) -> None:
    """And what was wanted is not lost."""
    form = {"token": "guess", "next": "/jobs?state=dead"}
    answer = await rig.ask("POST", "/login", form=form)
    assert (answer.status, "set-cookie" in answer.headers) == (401, False)
    assert b"Invalid token." in answer.body
    assert b'value="/jobs?state=dead"' in answer.body


async def test_the_form_keeps_where_one_wanted_to_go(rig: Rig) -> None:
    for asked, kept in (
        ("?next=%2Fjobs", b'value="/jobs"'),
        ("?next=%2F%2Fevil.example", b'value="/"'),
        ("?next=/jobs&next=/rules", b'value="/jobs"'),
        ("", b'value="/"'),
    ):
        answer = await rig.get(f"/login{asked}")
        assert (answer.status, kept in answer.body) == (200, True), asked
        assert b"Invalid token" not in answer.body


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST"])
async def test_where_no_token_is_asked_for_there_is_nothing_to_log_in_to(
    free: Rig, method: str
) -> None:
    answer = await free.ask(method, "/login?next=/jobs")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "set-cookie" not in answer.headers


async def test_where_no_token_is_asked_for_a_cookie_makes_nobody_of_anyone(free: Rig) -> None:
    free.jar = {"router_session": "0" * 64}
    assert (await free.get("/rules")).status == 200


@pytest.mark.parametrize(("size", "status"), [(4_096, 303), (4_095, 401)])
async def test_a_token_is_read_up_to_4096_bytes(rig: Rig, size: int, status: int) -> None:
    """What is beyond is cut off, so that no form makes much to compare."""
    long = HeldToken(TOKENS["viewer"].caller, b"x" * 4_096)
    rig.held.append(long)
    answer = await rig.ask("POST", "/login", form={"token": "x" * size})
    assert answer.status == status
    if status == 303:
        assert (await rig.ask("POST", "/login", form={"token": "x" * (size + 1)})).status == 303


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/deliveries/dlv_00000000000000000000000000", 404, b"no delivery"),
        ("/jobs?state=nonsense", 400, b"nonsense"),
    ],
)
async def test_what_is_not_there_is_a_page_that_says_so(
    rig: Rig, path: str, status: int, says: bytes
) -> None:
    await rig.log_in("viewer")
    answer = await rig.get(path)
    assert (answer.status, says in answer.body) == (status, True), answer.body
    assert b"log out" in answer.body.lower(), "who looks at it is still known"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST"])
async def test_only_what_can_be_looked_at_is_gone_on_to(rig: Rig, method: str) -> None:
    answer = await rig.ask(method, "/targets/pause?target=t")
    assert answer.headers["location"] == "/login?next=%2F"
    assert (await rig.ask("HEAD", "/jobs?a=1")).headers["location"] == "/login?next=%2Fjobs%3Fa%3D1"


async def test_logging_out_is_offered_to_whoever_has_logged_in(rig: Rig) -> None:
    await rig.log_in("viewer")
    assert b"/logout" in (await rig.get("/rules")).body
    rig.jar = {}
    assert b"/logout" not in (await rig.get("/login")).body


async def test_where_no_token_is_asked_for_nobody_can_log_out(free: Rig) -> None:
    assert b"/logout" not in (await free.get("/rules")).body


@pytest.mark.parametrize(
    ("path", "page"),
    [
        *((b"/", True), (b"/rules", True), (b"/login", True), (b"/nothing", True)),
        *((b"/api", False), (b"/api/jobs", False), (b"/livez", False), (b"/readyz", False)),
        *((b"/metrics", False), (b"/a/metrics", True), (b"/signal", True)),
    ],
)
def test_what_tools_ask_for_is_no_page(rig: Rig, path: bytes, page: bool) -> None:
    assert rig.pages.owns(path) is page
