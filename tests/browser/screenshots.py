"""
Takes pictures of the dashboard: `python -m tests.browser.screenshots FOLDER` of every page in every
look, to be looked at; without a folder, the three of docs/dashboard.md anew.

It starts a router with made-up traffic and needs what the tests of this folder need.
"""

import asyncio
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from router.clock import SystemClock
from router.model.activity import MINUTE_S, QUARTER_S, ActivityCount, ActivityKind
from router.store.sqlite.store import open_store
from tests.browser.pages import CONDITION, LOOKS, PAGES, ids_of
from tests.browser.rig import Served, Watched, chromium, served

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
MOST_BYTES = 150_000
_WIDE = {"width": 1280, "height": 800}
_DOCS = {
    "overview": ("/", "light"),
    "delivery": ("/deliveries/{delivery}", "dark"),
    "try": (f"/deliveries/{{delivery}}/try?text={CONDITION}", "light"),
}
_OFTEN: tuple[tuple[ActivityKind, str, str, float], ...] = (
    ("delivery", "shop", "routed", 9),
    ("delivery", "code", "routed", 4),
    ("refusal", "shop", "bad_signature", 0.3),
    ("attempt", "erp", "succeeded", 8),
    ("attempt", "erp", "failed", 0.5),
)
"""How often a minute, on average, something happened on the day before."""


def main() -> None:
    """Write them."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - it may be missing

    path = chromium()
    if path is None:
        raise SystemExit("there is no Chromium: apt-get install chromium")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    into = folder or PICTURES
    into.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as place,
        served(Path(place) / "router", before=lambda at: asyncio.run(_fill(at))) as router,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        ids = ids_of(router)
        for name, data in (_all if folder else _of_docs)(browser, router, ids):
            (into / f"{name}.png").write_bytes(data)
            sys.stdout.write(f"{name}.png  {len(data)} bytes\n")
        browser.close()


def _all(browser: Any, router: Served, ids: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    for look, given in LOOKS.items():
        page = _page(browser, router, given)
        for pattern in PAGES:
            page.open(pattern.format_map(ids))
            name = re.sub(r"\W+", "-", pattern).strip("-") or "overview"
            yield f"{name}.{look}", page.page.screenshot(full_page=True)


def _of_docs(browser: Any, router: Served, ids: dict[str, str]) -> Iterator[tuple[str, bytes]]:
    for name, (pattern, scheme) in _DOCS.items():
        page = _page(browser, router, {"viewport": _WIDE, "color_scheme": scheme})
        page.open(pattern.format_map(ids))
        data = page.page.screenshot()
        if len(data) > MOST_BYTES:
            raise SystemExit(f"{name} has {len(data)} bytes, more than {MOST_BYTES}")
        yield name, data


def _page(browser: Any, router: Served, look: dict[str, Any]) -> Watched:
    page = Watched(browser.new_context(**look).new_page(), router.url)
    page.log_in(router.token)
    return page


async def _fill(folder: Path) -> None:
    """A store that remembers a day of traffic."""
    store = await open_store(str(folder / "router.db"), clock=SystemClock())
    now, rng = time.time_ns() // 1_000_000, random.Random(4)
    counts = [
        ActivityCount(span_s, at, kind, name, detail, count, total=count * 180, most=900)
        for span_s, spans in ((MINUTE_S, 60), (QUARTER_S, 96))
        for at in range(now - now % (span_s * 1000) - spans * span_s * 1000, now, span_s * 1000)
        for kind, name, detail, often in _OFTEN
        if (count := round(rng.gauss(often, often / 2) * span_s / 60)) > 0
    ]
    await store.count_activity(counts)
    await store.close()


if __name__ == "__main__":
    main()
