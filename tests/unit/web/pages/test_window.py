"""Who sees which page, what a form needs, and what every page carries."""

from urllib.parse import urlencode

import pytest

from router.web.admin.callers import Caller, HeldToken
from router.web.pages.guard import COOKIE
from router.web.pages.request import FORM_MAX
from router.web.pages.sessions import LASTS_S
from tests.unit.web.admin.rig import HOST
from tests.unit.web.pages.rig import TOKENS, PageRow, Rig, nodes

FORMS = {
    "/plan/{verb}": {"state": "dead"},
    "/targets/{verb}": {"target": "t"},
    "/tokens": {"name": "ci", "role": "viewer"},
    "/tokens/revoke": {"name": "ci"},
}


ADMINS = {"/tokens", "/tokens/revoke"}
OPERATORS = {"/plan"}
"""Besides every form."""
PAYLOADS = {
    "/compare", "/deliveries/{delivery}/body", "/deliveries/{delivery}/try", "/refused/{refusal}",
}  # fmt: skip


def promised(view: PageRow) -> PageRow:
    """Who may see it and use it, as docs/api.md says and whatever the page says of itself."""
    changes = view.method == "POST" or view.path in OPERATORS
    access = "admin" if view.path in ADMINS else "operator" if changes else "viewer"
    return PageRow(view.method, view.path, access, view.path in PAYLOADS)


def expected(view: PageRow, who: str) -> int:
    """The status of a good request, redirections apart."""
    may = {"operator": ("admin", "operator"), "admin": ("admin",)}
    if who not in may.get(view.access, TOKENS):
        return 403
    return 403 if view.payloads and who == "hidden" else 200


@pytest.mark.parametrize("who", [None, *TOKENS])
async def test_who_sees_what(rig: Rig, who: str | None) -> None:
    """Every page of the table, with its own role; nobody sees one without having logged in."""
    if who is not None:
        await rig.log_in(who)
    for view in rig.views():
        path = view.path.format_map(rig.ids)
        if path in ("/signal", "/plan", "/compare"):
            continue
        if view.method == "GET":
            answer = await rig.get(path)
        else:
            path = path.replace("/targets/replay", "/targets/pause")
            answer = await rig.post(path, **FORMS.get(view.path, {}))
        status = 200 if answer.status == 303 and who else answer.status
        if who is None:
            assert answer.status in (303, 401), view.path
            assert answer.headers.get("location", "/login").startswith("/login"), view.path
        else:
            assert status == expected(promised(view), who), (view.path, answer.body[-900:])
    assert rig.views() == list(map(promised, rig.views()))


async def test_logging_in_gives_a_cookie_that_scripts_and_other_sites_do_not_get(rig: Rig) -> None:
    answer = await rig.log_in("operator")
    assert (answer.status, answer.headers["location"]) == (303, "/rules")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKENS["operator"].value.decode() not in cookie
    assert (await rig.get("/rules")).status == 200


async def test_behind_a_proxy_with_tls_forms_are_ours_and_the_cookie_is_secure(rig: Rig) -> None:
    """The router itself hears plain HTTP then; what the browser says of the site is believed."""
    form = {"token": TOKENS["operator"].value.decode()}
    outside = {"origin": f"https://{HOST}", "sec_fetch_site": "same-origin"}
    answer = await rig.ask("POST", "/login", form=form, **outside)
    assert (answer.status, "; Secure" in answer.headers["set-cookie"]) == (303, True)
    for site in ({}, {"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"}):
        refused = await rig.ask("POST", "/login", form=form, origin=f"https://{HOST}", **site)
        assert refused.status == 403
    elsewhere = {"origin": "https://evil.example", "sec_fetch_site": "same-origin"}
    assert (await rig.ask("POST", "/login", form=form, **elsewhere)).status == 403


async def test_a_session_ends_with_its_time_its_token_and_by_logging_out(rig: Rig) -> None:
    await rig.log_in("viewer")
    await rig.clock.advance(LASTS_S - 1)
    assert (await rig.get("/rules")).status == 200
    await rig.clock.advance(2)
    assert (await rig.get("/rules")).status == 303
    await rig.log_in("viewer")
    rig.held.remove(TOKENS["viewer"])
    assert (await rig.get("/rules")).status == 303
    await rig.log_in("operator")
    kept = dict(rig.jar)
    assert (await rig.post("/logout")).headers["location"] == "/login"
    rig.jar = kept
    assert (await rig.get("/rules")).status == 303


async def test_logging_in_again_makes_a_new_session_and_ends_the_old(rig: Rig) -> None:
    await rig.log_in("viewer")
    first = dict(rig.jar)
    token = TOKENS["operator"].value.decode()
    await rig.ask("POST", "/login", form={"token": token})
    assert rig.jar != first
    rig.jar = first
    assert (await rig.get("/rules")).status == 303


async def test_an_id_of_somebody_elses_making_is_no_session(rig: Rig) -> None:
    for value in ("", "0" * 64, "../etc", "\xe4"):
        rig.jar = {COOKIE: value}
        assert (await rig.get("/rules")).status == 303


async def test_a_role_that_changes_counts_at_once(rig: Rig) -> None:
    await rig.log_in("operator")
    proof = await rig.proof("/reload")
    held = TOKENS["operator"]
    rig.held = [HeldToken(Caller("bob", "viewer"), held.value)]
    assert (await rig.ask("POST", "/reload", form={"proof": proof})).status == 403
    assert rig.reloads == 0


@pytest.mark.parametrize("proof", ["", "0" * 64, "ä"])
async def test_a_form_without_its_proof_changes_nothing(rig: Rig, proof: str) -> None:
    await rig.log_in("operator")
    for view in rig.views():
        if view.method == "POST":
            path = view.path.format_map(rig.ids)
            answer = await rig.ask("POST", path, form={"proof": proof})
            assert answer.status == 403, path
    assert rig.reloads == 0
    assert rig.done == []


async def test_the_proof_of_another_session_is_none(rig: Rig) -> None:
    await rig.log_in("operator")
    proof = await rig.proof("/reload")
    await rig.log_in("operator")
    assert (await rig.ask("POST", "/reload", form={"proof": proof})).status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors", "sec_fetch_dest": "script"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"},
    ],
)
async def test_other_sites_get_nothing(free: Rig, headers: dict[str, str]) -> None:
    for view in free.views():
        path = view.path.format_map(free.ids)
        assert (await free.ask(view.method, path, **headers)).status == 403, path
    assert (await free.get("/login", **headers)).status == 403
    assert free.reloads == 0


async def test_a_link_from_another_site_may_be_followed(free: Rig) -> None:
    """To a page, in a window of its own; a form may not be sent like that."""
    followed = {
        "sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "document",
    }  # fmt: skip
    assert (await free.get("/rules", **followed)).status == 200
    proof = await free.proof("/reload")
    answer = await free.ask("POST", "/reload", form={"proof": proof}, **followed)
    assert (answer.status, free.reloads) == (403, 0)


async def test_without_a_token_forms_need_their_proof_all_the_same(free: Rig) -> None:
    assert (await free.ask("POST", "/reload", form={})).status == 403
    assert (await free.post("/reload", on="/reload")).status == 303
    assert free.reloads == 1


async def test_every_answer_keeps_browsers_strict(rig: Rig) -> None:
    answers = [await rig.get("/login"), await rig.get("/nothing"), await rig.get("/rules")]
    await rig.log_in("operator")
    answers += [await rig.get(path) for path in [*rig.paths(), "/nothing"]]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in answer.headers


async def test_no_page_has_a_script_or_a_style_of_its_own_or_from_elsewhere(rig: Rig) -> None:
    await rig.log_in("operator")
    for path in rig.paths():
        answer = await rig.get(path)
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        page = nodes(answer.body)
        assert not [tag for tag, _ in page.elements if tag in ("style", "iframe", "object", "base")]
        for tag, given in page.elements:
            assert not [name for name in given if name.startswith("on") or name == "style"], path
            assert tag != "script" or str(given["src"]).startswith("/static/")
            for name in ("href", "src", "action"):
                target = given.get(name) or "/"
                assert target.startswith(("/", "#")), (path, target)
                assert not target.startswith("//"), (path, target)


async def test_files_of_ours_may_be_kept_for_ever_for_their_names_change(rig: Rig) -> None:
    page = nodes((await rig.get("/login")).body)
    files = [g.get("src") or g.get("href") for t, g in page.elements if t in ("script", "link")]
    assert len(files) == 4
    for path in files:
        answer = await rig.get(str(path))
        assert answer.status == 200
        assert "immutable" in answer.headers["cache-control"]
    for path in ("/static/", "/static/router.css", "/static/../window.py", "/static/x.js"):
        assert (await rig.get(path)).status == 404


async def test_nothing_of_the_router_is_reported_before_logging_in(rig: Rig) -> None:
    rig.state.ok, rig.state.error = False, "rules.yaml:1:1: error"
    for path in ("/login", "/nothing", "/deliveries/x"):
        page = (await rig.get(path)).body.decode()
        assert "rules.yaml" not in page
        assert "router 0" not in page


async def test_a_failed_reload_stands_on_every_page(rig: Rig) -> None:
    await rig.log_in("viewer")
    rig.state.ok, rig.state.error = False, "rules.yaml:3:7: error unknown-key: <b>"
    for path in [p for p in rig.paths() if not p.endswith("/body")] + ["/nothing"]:
        if path.startswith("/plan"):
            continue
        page = (await rig.get(path)).body.decode()
        assert "rules.yaml:3:7: error unknown-key: &lt;b&gt;" in page, path


async def test_a_fault_of_ours_is_a_page_that_tells_nothing(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.log_in("viewer")
    await rig.store.close()
    answer = await rig.get("/deliveries")
    assert answer.status == 503
    assert b"Traceback" not in answer.body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/rules", 405),
        ("DELETE", "/deliveries", 405),
        ("GET", "/rules/", 404),
        ("GET", "//rules", 404),
        ("GET", "/deliveries/dlv_/x", 404),
        ("GET", "/deliveries/%2e%2e", 404),
        ("GET", "/rules/../api", 404),
    ],
)
async def test_odd_requests(free: Rig, method: str, path: str, status: int) -> None:
    assert (await free.ask(method, path)).status == status


async def test_forms_are_bounded(free: Rig) -> None:
    proof = await free.proof("/reload")
    rest = FORM_MAX - len(urlencode({"proof": proof, "x": ""}))
    for size, status in ((rest, 303), (rest + 1, 413)):
        big = {"proof": proof, "x": "y" * size}
        assert (await free.ask("POST", "/reload", form=big)).status == status


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/login", "GET, HEAD, POST"),
        ("GET", "/logout", "POST"),
        ("PUT", "/rules", "GET"),
        ("GET", "/targets/pause", "POST"),
    ],
)
async def test_what_may_be_used_instead_is_named(
    rig: Rig, method: str, path: str, allow: str
) -> None:
    await rig.log_in("operator")
    answer = await rig.ask(method, path)
    assert (answer.status, answer.headers["allow"]) == (405, allow)


async def test_after_logging_in_one_is_where_one_wanted_to_be(rig: Rig) -> None:
    sent = await rig.get("/deliveries?state=dead&rule=r")
    assert sent.headers["location"] == "/login?next=%2Fdeliveries%3Fstate%3Ddead%26rule%3Dr"
    assert (await rig.get("/rules")).headers["location"] == "/login?next=%2Frules"
    token = TOKENS["viewer"].value.decode()
    for form, to in (
        ({"next": "/deliveries?state=dead"}, "/deliveries?state=dead"),
        ({"next": "//evil.example"}, "/"),
        ({}, "/"),
    ):
        answer = await rig.ask("POST", "/login", form={"token": f" {token}\n", **form})
        assert (answer.status, answer.headers["location"]) == (303, to)


async def test_what_listens_is_sent_to_log_in_and_not_sent_away(rig: Rig) -> None:
    assert (await rig.get("/signal", accept="text/event-stream")).status == 401
    assert (await rig.get("/rules", accept="text/event-stream")).status == 401
    assert (await rig.get("/rules", accept="text/html")).status == 303
