"""What operators do at the window, with keys and on small screens, and what strangers cannot."""

import re
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.conftest import Open
from tests.browser.rig import Served, Watched, hostile_groups, served
from tests.postgres.server import Server

HERE = Path(__file__).parent

ACTIVE = (HERE / "active.js").read_text("utf-8")
BROKEN = (HERE / "broken.js").read_text("utf-8")
BREAK_IN = (HERE / "break_in.js").read_text("utf-8")


def test_a_delivery_appears_while_one_looks(router: Served, page: Watched) -> None:
    page.open("/deliveries")
    page.shows("#live-state", "live")
    delivery = router.send(number=1)
    page.page.wait_for_selector(f"#row-{delivery}")
    first = page.page.locator("#rows tr").first
    assert first.get_attribute("id") == f"row-{delivery}"
    page.page.wait_for_selector(f"#row-{delivery} .s-succeeded")  # its job ends under our eyes


def test_the_overview_renews_itself_and_leaves_what_is_open(router: Served, page: Watched) -> None:
    page.page.clock.install()
    page.open("/")
    page.page.click("#charts summary")
    before = page.page.inner_text("#tiles a[href='/dead'] strong")
    router.send(number=7)
    router.until_quiet()  # one more died

    def renewed() -> bool:
        with page.page.expect_response(router.url + "/"):
            page.page.clock.run_for(11_000)
        return bool(page.page.inner_text("#tiles a[href='/dead'] strong") != before)

    router.process.until(renewed, "a newer overview")
    assert page.page.locator("#charts details[open]").count() == 1
    page.page.route(router.url + "/", lambda route: route.abort())
    page.page.clock.run_for(11_000)
    page.page.wait_for_selector("#overview-failed:has-text('does not answer')")
    page.problems = [p for p in page.problems if "ERR_FAILED" not in p]


def test_a_delivery_appears_though_a_proxy_holds_the_signal_back(
    router: Served, page: Watched
) -> None:
    page.page.clock.install()
    page.page.route(router.url + "/signal", lambda _held: None)
    page.open("/deliveries")
    delivery = router.send(number=1)
    with page.page.expect_response(router.url + "/deliveries"):
        page.page.clock.run_for(6_000)
    page.page.wait_for_selector(f"#row-{delivery}")


def test_a_held_view_stands_still_until_it_goes_on(router: Served, page: Watched) -> None:
    page.open("/deliveries")
    page.shows("#live-state", "live")
    page.page.click("#live-pause")
    delivery = router.send(number=1)
    router.until_quiet()
    page.page.wait_for_timeout(1_500)
    assert page.page.locator(f"#row-{delivery}").count() == 0
    page.page.click("#live-pause")
    page.page.wait_for_selector(f"#row-{delivery}")


def test_ticked_lines_stand_still_until_they_are_free(router: Served, page: Watched) -> None:
    page.open("/deliveries")
    page.shows("#live-state", "live")
    ticked = page.page.locator("#rows input").first
    ticked.check()
    delivery = router.send(number=1)
    router.until_quiet()
    page.page.wait_for_timeout(1_500)
    assert page.page.locator(f"#row-{delivery}").count() == 0
    assert ticked.is_checked()
    ticked.uncheck()
    page.page.evaluate("document.activeElement.blur()")
    page.page.wait_for_selector(f"#row-{delivery}")


def test_a_refused_request_appears_while_one_looks(router: Served, page: Watched) -> None:
    page.open("/refused")
    page.shows("#live-state", "live")
    before = page.page.locator("#live tbody tr").count()
    router.forge()
    page.page.wait_for_selector(f"#live tbody tr:nth-child({before + 1})")


def test_down_the_list_into_a_delivery_and_replayed_by_keys_alone(
    router: Served, page: Watched
) -> None:
    page.open("/deliveries?endpoint=shop")
    keys = page.page.keyboard
    keys.press("j")
    keys.press("j")
    keys.press("k")
    focused = page.page.evaluate("document.activeElement.getAttribute('href')")
    assert focused == page.page.locator("[data-row]").first.get_attribute("href")
    keys.press("Enter")
    page.page.wait_for_url(re.compile("/deliveries/dlv_"))
    keys.press("r")
    keys.press("Enter")
    page.page.wait_for_url(re.compile("/replays/web-"))
    assert "jobs of 1 deliveries" in page.page.inner_text("main")
    line = router.api("/api/audit")["audit"][0]
    assert (line["verb"], line["who"]) == ("replay", "token")
    keys.press("u")
    page.page.wait_for_url(re.compile("/replays$"))


PAINTED = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def test_keys_help_search_and_do_not_disturb_typing(page: Watched) -> None:
    keys = page.page.keyboard
    page.open("/deliveries")
    keys.press("?")
    assert page.page.locator("#keys").is_visible()
    keys.press("Escape")
    assert not page.page.locator("#keys").is_visible()
    page.page.evaluate(PAINTED)  # a closed dialog gives the focus back with the next picture
    keys.press("/")
    page.page.wait_for_selector("[name=where]:focus")
    keys.type("jk?/ru")
    assert page.page.input_value("[name=where]") == "jk?/ru"
    assert not page.page.locator("#keys").is_visible()


def test_the_first_tab_skips_to_the_content(page: Watched) -> None:
    page.page.keyboard.press("Tab")
    assert page.page.evaluate("document.activeElement.className") == "skip"
    page.page.keyboard.press("Enter")
    assert page.page.evaluate("document.activeElement.id") == "main"


def test_a_replay_is_planned_before_it_is_made(router: Served, page: Watched) -> None:
    def replays() -> int:
        return [line["verb"] for line in router.api("/api/audit")["audit"]].count("replay")

    before = replays()
    page.open("/dead")
    page.go("text=plan a replay")
    assert "Nothing has been done yet" in page.page.inner_text("main")
    assert replays() == before
    page.page.click("button.main")
    page.page.wait_for_url(re.compile("/replays/web-"))
    assert replays() == before + 1


def test_a_condition_is_tried(router: Served, page: Watched) -> None:
    delivery = router.send(number=7, total=512.5)
    page.open(f"/deliveries/{delivery}/try")
    page.page.fill("#text", "payload.total > 500 && payload.country != 'US'")
    page.go("main button.main")
    reported = page.page.inner_text("main")
    assert "payload.total = 512.5 (number)" in reported
    assert "payload.country is not there" in reported
    page.page.fill("#text", "payload.total >>> 500")
    page.go("main button.main")
    assert page.page.inner_text(".mark") == ">"
    page.page.fill("#text", "payload.country == DE")
    page.page.keyboard.press("Control+Enter")
    page.page.click("text=Use payload.country == 'DE'")
    assert page.page.input_value("#text") == "payload.country == 'DE'"


def test_fields_are_completed_while_one_types(router: Served, page: Watched) -> None:
    delivery = router.send(number=7, items=[{"odd name": 1}])
    page.open(f"/deliveries/{delivery}/try")
    page.page.type("#text", "payload.ite")
    assert page.page.locator("#completions li code").all_inner_texts() == [
        "length(payload.items)",
        'payload.items[0]."odd name"',
    ]
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.page.press("#text", key)
    assert page.page.input_value("#text") == 'payload.items[0]."odd name"'
    page.page.type("#text", " == 1")
    page.page.click("text=Make a rule of it")
    assert 'match: payload.items[0]."odd name" == 1' in page.page.inner_text("#made")


def _until_ready(router: Served, page: Watched) -> None:
    """Load the page of nodes until its node is ready: a page without scripts is as old as its
    loading, and on a busy machine a beat may just have been late."""

    def ready() -> int:
        page.open("/nodes")
        return page.page.locator(".s-ready").count()

    router.process.until(ready, "a ready node")


@pytest.mark.long
def test_the_page_of_nodes_needs_no_script_and_no_wide_window(
    opened: Open, tmp_path: Path, postgres_server: Server, new_database: str
) -> None:
    address = postgres_server.address(new_database)
    with served(tmp_path / "shared", ROUTER_STORE=address) as router:
        for width in (320, 768, 1100):
            window = {"width": width, "height": 700}
            page = opened(at=router.url, log_in=False, viewport=window, java_script_enabled=False)
            page.log_in("eve-token-eve-token-eve")
            page.page.click("nav >> text=Nodes")
            _until_ready(router, page)
            assert "#1, version" in page.page.inner_text("tbody")
            assert page.width_over() <= 0
        page = opened(at=router.url, log_in=False)
        page.log_in(router.token)
        page.open("/nodes")
        assert page.page.evaluate(BROKEN) == []


def test_pages_work_without_scripts(router: Served, opened: Open) -> None:
    page = opened(java_script_enabled=False)
    page.open("/deliveries")
    assert "reload it" in page.page.inner_text("noscript") or page.page.locator("noscript").count()
    page.page.select_option("[name=state]", "routed")
    page.go("form.filter button")
    assert page.page.locator("[data-row]").count() > 0
    page.go("[data-row]")
    page.page.click("main button.main")
    page.page.wait_for_url(re.compile("/replays/web-"))


def test_logging_in_and_out(router: Served, opened: Open) -> None:
    page = opened(log_in=False)
    page.open("/rules")
    assert page.page.url.endswith("/login?next=%2Frules")
    page.page.fill("#token", "wrong")
    page.page.press("#token", "Enter")
    assert "Invalid token." in page.page.inner_text("main")
    page.problems = [p for p in page.problems if "401" not in p]
    page.page.fill("#token", router.token)
    page.page.press("#token", "Enter")
    page.page.wait_for_url(router.url + "/rules")
    assert page.page.evaluate("document.cookie") == ""
    cookie = page.page.context.cookies()[0]
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["secure"]) == (True, "Strict", False)
    page.page.click("text=Log out")
    page.page.wait_for_url(router.url + "/login")
    page.open("/rules")
    assert "/login" in page.page.url


def test_a_viewer_gets_no_buttons_and_a_token_without_bodies_no_payloads(
    router: Served, opened: Open
) -> None:
    delivery = router.send(number=2, note="a word for friends alone")
    router.until_quiet()
    for token, sees in (("ann-token-ann-token-ann", True), ("eve-token-eve-token-eve", False)):
        page = opened(log_in=False)
        page.log_in(token)
        page.open(f"/deliveries/{delivery}")
        assert page.page.locator("main button.main").count() == 0
        assert ("a word for friends alone" in page.page.content()) is sees
        assert ("x-shopify" in page.page.content().lower()) is True


def test_what_strangers_write_is_inert(router: Served, page: Watched) -> None:
    """In bodies, and in what rules, traces and answers quote of them."""
    ids = []
    for number, some in enumerate(hostile_groups(), 1):
        keys = {f"k{n} {text}": text for n, text in enumerate(some)}
        ids.append(router.send(note=" ".join(some), id=number, **keys))
    router.until_quiet()
    pairs = [f"/compare?id={one}&id={two}" for one, two in pairwise(ids)]
    paths = ["/", "/deliveries", "/jobs", *pairs, *(f"/deliveries/{i}" for i in ids)]
    for path in paths:
        page.open(path)
        assert page.page.evaluate(ACTIVE) == [], path
    text = page.page.inner_text("#body-text")
    assert "etc/passwd" in text


def test_the_policy_stops_a_script_that_gets_in_all_the_same(opened: Open) -> None:
    page = opened()
    page.page.evaluate(BREAK_IN)
    page.page.wait_for_timeout(500)
    assert page.page.evaluate("window.ran") is None
    assert len(page.violations) >= 1
    page.violations.clear()
    page.problems = [p for p in page.problems if "404" not in p]


def test_the_curl_command_sends_the_same_bytes(router: Served, page: Watched) -> None:
    """Run by a shell, it is a duplicate to the router that has the delivery."""
    delivery = router.send(number=3, note='it\'s $(id) `id` "x" \\ done')
    page.open(f"/deliveries/{delivery}")
    command = page.page.locator("#curl").text_content()
    assert command is not None
    command = command.replace("http://127.0.0.1:8000", router.process.url)
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert ran.stdout == f'{{"status":"duplicate","delivery":"{delivery}"}}'


def test_a_failed_reload_is_seen_everywhere(browser: Any, opened: Open, tmp_path: Path) -> None:
    with served(tmp_path / "router") as other:
        page = opened(at=other.url, log_in=False)
        page.log_in(other.token)
        whole = other.rig.path.read_text("utf-8")
        other.rig.path.write_text(whole.replace("match: payload.number", "mtach: payload.number"))
        page.open("/reload")
        page.page.click("main button")
        page.page.wait_for_selector(".alarm")
        for path in ("/", "/rules", "/deliveries"):
            page.open(path)
            assert "could not be reloaded" in page.page.inner_text(".alarm")
        page.page.click(".alarm summary")
        assert "mtach" in page.page.inner_text(".alarm pre")
        other.rig.path.write_text(whole)
        page.open("/reload")
        page.page.click("main button")
        page.page.wait_for_selector(".alarm", state="detached")


def test_a_target_is_paused_and_resumed(router: Served, page: Watched) -> None:
    page.open("/targets")
    page.page.click("[aria-label='Pause erp']")
    page.page.wait_for_selector("[aria-label='Resume erp']")
    state = {t["name"]: t["state"] for t in router.api("/api/targets")["targets"]}
    assert state["erp"] == "paused"
    page.page.click("[aria-label='Resume erp']")
    page.page.wait_for_selector("[aria-label='Pause erp']")


def test_the_window_is_for_browsers_and_leaves_the_api_alone(router: Served) -> None:
    answer = httpx.get(router.url + "/api/nothing", trust_env=False)
    assert answer.headers["content-type"] == "application/problem+json"
    assert httpx.get(router.url + "/livez", trust_env=False).text == "ok\n"
