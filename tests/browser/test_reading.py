"""What the scripts of reading pages do: times, the tree of a body, ticks and two side by side."""

import re
from datetime import datetime

from tests.browser.conftest import Open
from tests.browser.rig import Served, Watched

WRITTEN = "new Promise(done => setTimeout(() => setTimeout(done)))"
"""Times are written after what the event did; a timer that is set later ends later."""
SEARCH = "[aria-label='Search in the body']"


def test_times_are_relative_and_exact_in_the_readers_zone_with_the_focus(
    router: Served, opened: Open
) -> None:
    page = opened(timezone_id="Asia/Tokyo")
    page.open("/deliveries")
    first = page.page.locator("tbody tr").first
    time = first.locator("time")
    assert re.fullmatch(r"just now|\d+ (s|min) ago", time.inner_text())
    page.page.keyboard.press("j")
    page.page.wait_for_selector("tbody tr:first-child time:text-matches('^2')")
    there = datetime.fromisoformat(f"{time.inner_text()}+09:00")
    stored = datetime.fromisoformat(str(time.get_attribute("datetime")))
    assert abs((there - stored).total_seconds()) < 1
    page.page.keyboard.press("j")
    page.page.wait_for_selector("tbody tr:first-child time:text-matches('ago|now')")
    assert page.page.inner_text("#zone") == "times are in your zone, Asia/Tokyo"


def test_a_link_beside_a_time_stays_under_the_mouse_that_is_pressed_on_it(page: Watched) -> None:
    page.open("/dead")
    row = page.page.locator("tbody tr").first
    link, times = row.locator("text=plan a replay"), row.locator("time").all_inner_texts()
    link.hover()
    place = link.bounding_box()
    page.page.mouse.down()
    page.page.evaluate(WRITTEN)
    assert row.locator("time").all_inner_texts() == times
    assert link.bounding_box() == place


def test_without_scripts_times_are_utc_and_say_so(opened: Open) -> None:
    page = opened(java_script_enabled=False)
    page.open("/deliveries")
    assert page.page.locator("tbody time").first.inner_text().endswith("Z")
    assert "times are UTC" in page.page.inner_text("footer")
    assert page.page.locator("#zone").count() == 1


def test_a_body_is_a_tree_with_search_and_paths(router: Served, opened: Open) -> None:
    delivery = router.send(
        items=[{"odd key": [1.50, None]}, {"sku": "A-1"}] * 2, big=12345678901234567890
    )
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    page.open(f"/deliveries/{delivery}")
    tree = page.page.locator("[role=tree]")
    assert "12345678901234567890" in tree.inner_text()
    assert "A-1" not in tree.inner_text()
    assert not page.page.locator("#body-text").is_visible()
    page.page.keyboard.press("/")
    page.page.keyboard.type("A-1")
    page.shows("#tree-path", "payload.items[1].sku")
    page.page.keyboard.press("Enter")
    page.shows("#tree-path", "payload.items[3].sku")
    page.page.fill(SEARCH, "odd")
    page.page.focus("[role=treeitem][tabindex='0']")
    for key in ("ArrowRight", "ArrowDown"):
        page.page.keyboard.press(key)
    page.shows("#tree-path", 'payload.items[0]."odd key"[0]')
    page.page.click("text=Copy path")
    page.page.wait_for_selector("text=copied")
    copied = page.page.evaluate("navigator.clipboard.readText()")
    assert copied == 'payload.items[0]."odd key"[0]'
    page.page.click("button:text('As text')")
    assert page.page.locator("#body-text").is_visible()
    assert not tree.is_visible()


def test_of_a_large_body_only_what_is_open_is_made(router: Served, page: Watched) -> None:
    delivery = router.send(rows=[{"n": n, "text": f"row {n}"} for n in range(9_000)])
    page.open(f"/deliveries/{delivery}?body=all")
    page.page.wait_for_selector("[role=tree]")
    assert page.page.locator("[role=treeitem]").count() < 300
    page.page.click("[role=tree] >> text=rows")
    page.page.click("text=8800 more")
    page.page.wait_for_selector("text=8600 more")


def test_text_and_cut_json_stay_readable(router: Served, page: Watched) -> None:
    delivery = router.send(rows=[{"n": n} for n in range(3_000)])
    page.open(f"/deliveries/{delivery}")
    page.page.wait_for_selector("[role=tree]")
    assert "rows" in page.page.inner_text("[role=tree]")
    assert page.page.locator(".note:text-is('cut')").count() == 1


def test_lines_are_ticked_by_keys_compared_and_planned(router: Served, page: Watched) -> None:
    first = router.send(number=3, note="one")
    second = router.send(number=3, note="two")
    router.until_quiet()
    page.open("/deliveries")
    for key in "jxjx":
        page.page.keyboard.press(key)
    assert page.page.locator("td input:checked").count() == 2
    page.page.click("text=Compare two")
    page.page.wait_for_url(re.compile("/compare"))
    row = page.page.locator("tr:has-text('payload.note')").inner_text()
    assert row.split("\t") == ["payload.note", "two", "one"]
    page.page.go_back()
    page.page.click("button:text('Plan a replay')")
    page.page.wait_for_url(re.compile("/plan"))
    assert f"{second},{first}" in page.page.inner_text("main")
    assert "Make 4 new jobs" in page.page.inner_text("main")
    page.page.click("button.main")
    page.page.wait_for_url(re.compile("/replays/web-"))
    assert "4 jobs of 2 deliveries" in page.page.inner_text("main")
