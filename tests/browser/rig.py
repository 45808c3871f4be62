"""A router with traffic in it, and a browser that keeps what it sees go wrong."""

import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from tests.acceptance.process import Rig, RouterProcess
from tests.acceptance.senders import ENDPOINTS, SHOP_ID, Sender, environ, shop
from tests.acceptance.sink import Sink
from tests.hostile_text import HOSTILE

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
TOKENS = """  refusals: {{bodies: true}}
  admin:
    listen: 127.0.0.1:{admin}
    tokens:
      ann: {{secret: ann}}
      eve: {{secret: eve, bodies: false}}
"""
RULES = """
targets:
  erp: {url: "http://127.0.0.1:PORT", rate: 50/s, concurrency: 4}
rules:
  - id: paid-orders
    about: Every paid order is told
    from: shop
    events: orders/paid
    match: [payload.id > 0, "payload.ref == 'refs/heads/main' || payload.vip"]
    actions: {log: "order {{ payload.id }}: {{ default(payload.note, 'none') }}"}
  - id: to-the-erp
    about: Orders worth it reach the ERP
    from: shop
    match: payload.number >= 3
    actions: {http: {target: erp}}
    retry: none
  - id: abroad
    from: shop
    match: payload.country != 'US' && payload.total > 500
    actions: {log: abroad}
  - id: new-fraud-rule
    mode: shadow
    from: shop
    match: payload.padding == ''
    actions: {log: suspicious}
"""
QUIET = ("favicon",)
FRESH = httpx.Limits(max_keepalive_connections=0)
"""A kept connection may be closed by the router just as it is used again."""


def chromium() -> str | None:
    """Where the system's browser lies; None: it has none."""
    return next(filter(None, map(shutil.which, CHROMIUMS)), None)


class Served:
    """A running router; `number` counts what was sent to it."""

    def __init__(self, rig: Rig, process: RouterProcess) -> None:
        self.rig = rig
        self.process = process
        self.url = process.admin_url
        self._client = httpx.Client(trust_env=False, timeout=10, limits=FRESH)
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    @property
    def token(self) -> str:
        """The token beside the store."""
        (file,) = self.rig.folder.glob("*.token")
        return file.read_text().strip()

    def send(self, sender: Sender | None = None, **payload: Any) -> str:
        """One delivery, really signed; returns its id."""
        self._number += 1
        sender = sender or shop()
        now_ms = time.time_ns() // 1_000_000
        request = (_With(sender, payload) if payload else sender).request(
            self.process.url, self._number, now_ms=now_ms
        )
        answer = self._client.send(request)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["delivery"])

    def forge(self) -> None:
        """A request that nobody signed."""
        self._client.post(f"{self.process.url}/wh_{SHOP_ID}", content=b'{"note": "<b>forged"}')

    def api(self, path: str) -> Any:
        """What the admin listener's API answers."""
        headers = {"authorization": f"Bearer {self.token}"}
        return self._client.get(self.url + path, headers=headers).json()

    def replay(self, delivery: str) -> str:
        """Its jobs once more; the replay's id."""
        headers = {"authorization": f"Bearer {self.token}"}
        answer = self._client.post(
            self.url + "/api/replay", headers=headers, json={"ids": [delivery]}
        )
        assert answer.status_code == 200, answer.text
        self.until_quiet()
        return str(answer.json()["id"])

    def until_quiet(self) -> None:
        """Until no job is under way."""
        open_states = ("available", "running", "retryable")
        self.process.until(
            lambda: not any(self.api(f"/api/jobs?state={s}")["jobs"] for s in open_states), "rest"
        )


class _With(Sender):
    """A sender whose payload has more in it."""

    def __init__(self, sender: Sender, payload: dict[str, Any]) -> None:
        super().__init__(sender.provider, sender.endpoint, sender.event, sender.key)
        object.__setattr__(self, "more", payload)

    def body(self, number: int, size: int = 0) -> bytes:
        return json.dumps({**json.loads(super().body(number, size)), **self.more}).encode()  # type: ignore[attr-defined]


def open_at(rig: Rig, port: int) -> Rig:
    """The rig with its target in place."""
    rig.path.write_text(rig.path.read_text("utf-8").replace("PORT", str(port)), "utf-8")
    return rig


@contextmanager
def served(
    folder: Path,
    rules: str = RULES,
    *,
    before: Callable[[Path], object] = lambda _folder: None,
    **variables: str,
) -> Iterator[Served]:
    """
    A router that asks for tokens, with a few deliveries in it; its environment has more. `before`
    is done in its folder before it starts.
    """
    secrets = "  ann: {env: ANN}\n  eve: {env: EVE}\n"
    entries = ENDPOINTS.replace("secrets:\n", f"secrets:\n{secrets}", 1)
    tokens = {"ANN": "ann-token-ann-token-ann", "EVE": "eve-token-eve-token-eve"}
    rig = Rig(folder, entries + rules, {**environ(), **tokens, **variables})
    plain = f"  admin: 127.0.0.1:{rig.admin}\n"
    text = rig.path.read_text("utf-8").replace(plain, TOKENS.format(admin=rig.admin), 1)
    rig.path.write_text(text, "utf-8")
    before(folder)
    gone = Sink([410] * 10_000)  # an answer, so that the target counts as well
    with gone, open_at(rig, gone.port).router() as process, Served(rig, process) as router:
        for number in range(5):
            router.send(total=100 * number, country="DE", note=f"note {number}")
        router.forge()
        router.until_quiet()
        yield router


class Watched:
    """A page of the browser, and everything of it that should not have been."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        self.problems: list[str] = []
        self.violations: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("dialog", self._asked)
        page.on("request", self._requested)

    def _said(self, message: Any) -> None:
        if "Content Security Policy" in message.text:
            self.violations.append(message.text)
        elif message.type in ("error", "warning") and not any(q in message.text for q in QUIET):
            self.problems.append(f"{message.type}: {message.text}")

    def _asked(self, dialog: Any) -> None:
        self.problems.append(f"a script ran: {dialog.message}")
        dialog.dismiss()

    def _requested(self, request: Any) -> None:
        asked, own = urlsplit(request.url), urlsplit(self.url)
        if asked[:2] != own[:2]:
            self.problems.append(f"asked elsewhere: {request.url}")

    def open(self, path: str) -> Any:
        """Go to a page of the router."""
        return self.page.goto(self.url + path)

    def go(self, selector: str) -> None:
        """Click on what leads to another page, and wait until that is here."""
        with self.page.expect_navigation():
            self.page.locator(selector).first.click()

    def log_in(self, token: str) -> None:
        """By the form, as a person would."""
        self.open("/login")
        self.page.fill("#token", token)
        self.page.press("#token", "Enter")
        self.page.wait_for_url(self.url + "/")

    def shows(self, selector: str, text: str) -> None:
        """
        Wait until an element's text is exactly this. By a selector: a condition in JavaScript is
        evaluated in the page, whose policy forbids that.
        """
        self.page.wait_for_selector(f"{selector}:text-is('{text}')", state="attached")

    def width_over(self) -> int:
        """By how many pixels the page is wider than the window."""
        return int(
            self.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
        )


def hostile_groups(size: int = 10) -> list[tuple[str, ...]]:
    """The hostile texts, some at a time."""
    return [HOSTILE[at : at + size] for at in range(0, len(HOSTILE), size)]
