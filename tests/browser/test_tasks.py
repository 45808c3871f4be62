"""The tasks that are done on the pages, click by click as the table says."""

import re

import pytest

from tests.browser.conftest import Open
from tests.browser.rig import Served, Watched
from tests.tasks.table import PAGES, Task


def step(page: Watched, text: str) -> None:
    """Do one step."""
    verb, _, what = text.partition(" ")
    match verb:
        case "open":
            page.open(what)
        case "click":
            page.page.locator("main").get_by_text(what, exact=True).first.click()
        case "tick":
            page.page.locator(f"tbody tr:nth-child({what}) input[type=checkbox]").check()
        case "search":
            page.page.fill("[aria-label='Search in the body']", what)
        case "type":
            page.page.fill("#text", what)
        case _:
            raise AssertionError(f"nobody knows how to {text!r}")


@pytest.mark.parametrize("task", PAGES, ids=[task.wants for task in PAGES])
def test_a_task_takes_these_clicks(router: Served, opened: Open, task: Task) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    sent = [router.send(number=number, total=100 * number) for number in (1, 2, 3)]
    router.until_quiet()
    for text in task.after:
        step(page, re.sub("DELIVERY", sent[-1], text))
    page.page.wait_for_selector(f"main:has-text('{task.shows}')")
