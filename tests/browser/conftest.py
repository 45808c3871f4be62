"""One browser and one router for all of these tests; skipped, with the reason, without either."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.rig import Served, Watched, chromium, served

Open = Callable[..., Watched]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Of a module: as long as it runs, Playwright's event loop stands in the way of all others."""
    driving = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install '.[browser]'"
    )
    path = chromium()
    if path is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with driving.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def router(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("browser") / "router"
    with served(folder) as running:
        yield running


@pytest.fixture
def opened(browser: Any, router: Served) -> Iterator[Open]:
    """
    A page in a context of its own, logged in unless told otherwise. In the end nothing may have
    gone wrong in it: no error on the console, no request elsewhere, no script but ours.
    """
    contexts: list[Any] = []
    pages: list[Watched] = []

    def make(*, log_in: bool = True, at: str | None = None, **given: Any) -> Watched:
        context = browser.new_context(**given)
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = Watched(context.new_page(), at or router.url)
        pages.append(page)
        if log_in:
            page.log_in(router.token)
        return page

    yield make
    for context in contexts:
        context.close()
    assert [problem for page in pages for problem in page.problems] == []
    assert [violation for page in pages for violation in page.violations] == []


@pytest.fixture
def page(opened: Open) -> Watched:
    """An operator's page."""
    return opened()
