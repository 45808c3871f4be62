"""Every page: what is seen on it, by everybody, on a desk in the light, on a phone in the dark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from router.web.pages.application import HANDLERS
from tests.browser.conftest import Open
from tests.browser.pages import FAULTY, LOOKS, PAGES, ids_of
from tests.browser.rig import Served, Watched

BROKEN = (Path(__file__).parent / "broken.js").read_text("utf-8")
QUICK = ("desk-light", "phone-dark")
NO_PAGES = {"/signal", "/deliveries/{delivery}/body", "/login", "/static/{name}"}
"""What a script or another test looks at."""


def handled() -> Iterator[str]:
    for controller in HANDLERS:
        for handler in vars(controller).values():
            if "GET" in getattr(handler, "http_methods", ()):
                yield from (re.sub(r":\w+}", "}", path) for path in handler.paths)


def test_the_table_has_every_page() -> None:
    there = {re.sub(r"\?.*", "", path) for path in PAGES}
    assert set(handled()) - NO_PAGES == there - {"/nothing"}


@pytest.fixture(scope="module")
def ids(router: Served) -> dict[str, str]:
    return ids_of(router)


@pytest.fixture(scope="module")
def axe() -> Any:
    """Deque's rules of accessibility, as a package brings them."""
    return pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is missing: pip install '.[browser]'"
    ).Axe()


@pytest.mark.parametrize(
    "look", [pytest.param(n, marks=() if n in QUICK else pytest.mark.long) for n in LOOKS]
)
def test_every_page_is_whole_and_for_everybody(
    ids: dict[str, str], opened: Open, axe: Any, look: str
) -> None:
    """What must be seen is there, no word is broken, nothing is too wide, and axe finds nothing."""
    page, found = opened(**LOOKS[look]), dict[str, list[str]]()
    for pattern, words in PAGES.items():
        page.open(pattern.format_map(ids))
        shown = page.page.inner_text("body")
        found[pattern] = [f"not seen: {w}" for w in words if w not in shown]
        found[pattern] += [f"broken: {word}" for word in page.page.evaluate(BROKEN)]
        found[pattern] += ["too wide"] if page.width_over() > 0 else []
        found[pattern] += violations(axe, page)
        if pattern in FAULTY:
            page.problems = [p for p in page.problems if "the server responded with" not in p]
    assert {path: faults for path, faults in found.items() if faults} == {}


def test_the_log_in_is_for_everybody(opened: Open, axe: Any) -> None:
    page = opened(log_in=False)
    page.open("/login")
    assert violations(axe, page) == []


def violations(axe: Any, page: Watched) -> list[str]:
    """What axe finds, each with the first element that it means."""
    found = axe.run(page.page).response["violations"]
    return [f"{v['id']}: {v['help']}: {v['nodes'][0]['html'][:200]}" for v in found]
