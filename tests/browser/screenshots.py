"""
Takes the pictures of docs/dashboard.md anew: `python -m tests.browser.screenshots`.

It starts a router with made-up traffic and needs what the tests of this folder need.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.browser.rig import Served, Watched, chromium, served

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
MOST_BYTES = 150_000
_WIDE, _PHONE = {"width": 1100, "height": 720}, {"width": 390, "height": 780}


def main() -> None:
    """Write every picture."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - it may be missing

    path = chromium()
    if path is None:
        raise SystemExit("there is no Chromium: apt-get install chromium")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder) / "router") as router,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name, data in _taken(browser, router):
            if len(data) > MOST_BYTES:
                raise SystemExit(f"{name} has {len(data)} bytes, more than {MOST_BYTES}")
            (PICTURES / f"{name}.png").write_bytes(data)
            sys.stdout.write(f"{name}.png  {len(data)} bytes\n")
        browser.close()


def _taken(browser: Any, router: Served) -> Iterator[tuple[str, bytes]]:
    delivery = router.send(number=7, total=512.5, country="DE", note="leave it at the door")
    router.until_quiet()
    yield "live", _shot(browser, router, "/", _WIDE, "light")
    yield "delivery", _shot(browser, router, f"/deliveries/{delivery}", _WIDE, "dark")
    yield "trace", _shot(browser, router, f"/deliveries/{delivery}#trace", _WIDE, "light")
    yield "rules", _shot(browser, router, "/rules", _WIDE, "light")
    yield "phone", _shot(browser, router, f"/deliveries/{delivery}", _PHONE, "dark")


def _shot(browser: Any, router: Served, path: str, size: dict[str, int], scheme: str) -> bytes:
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = Watched(context.new_page(), router.url)
    page.log_in(router.token)
    page.open(path)
    if path == "/":
        page.shows("#live-state", "live")
    data: bytes = page.page.screenshot()
    context.close()
    return data


if __name__ == "__main__":
    main()
