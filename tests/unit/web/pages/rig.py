"""The window on a real store whose every field is a stranger's, looked through without a socket."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from litestar import Litestar

from router.model.selector import Criteria
from router.model.share import TargetShare
from router.model.target import TargetRow
from router.operator.answers import ReloadState, TargetList
from router.operator.node_rows import NodeList, node_rows
from router.operator.requests import By, ReplayRequest, TargetRequest
from router.refusals import Refusals
from router.serving.running import LiveParts, RunningServer
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Acceptance, Generation, NodeCard, NodeLoad, NodeSeen
from router.web.admin.api import admin_api
from router.web.admin.app import AdminApp
from router.web.admin.browsers import Hosts
from router.web.admin.callers import Caller, Callers, HeldToken
from router.web.pages.application import PagesRouter
from router.web.pages.context import Services
from router.web.pages.guard import COOKIE
from router.web.signal import Signal
from router.wiring.admin_api import page_services, standing
from tests.builders import GENERATION, NOW, a_request
from tests.clocks import ManualClock
from tests.operators import questions_of
from tests.store_values import Maker, a_settlement
from tests.unit.operator.world import World
from tests.unit.web.admin.rig import HOST, Answer, called
from tests.unit.web.stand_in import StandIns

TOKENS = {
    "admin": HeldToken(Caller("root", "admin"), b"root-token-root-token-r"),
    "operator": HeldToken(Caller("bob", "operator"), b"bob-token-bob-token-bob"),
    "viewer": HeldToken(Caller("ann", "viewer"), b"ann-token-ann-token-ann"),
    "hidden": HeldToken(Caller("eve", "viewer", bodies=False), b"eve-token-eve-token-eve"),
}
_PROOF = re.compile(r'name="proof" value="([^"]+)"')


_SERVICES = StandIns(*Services.__struct_fields__)
_PAGES = PagesRouter(Services(**_SERVICES))  # type: ignore[arg-type] # they stand in


@cache
def _application() -> Litestar:
    given = {name: _SERVICES[name] for name in ("callers", "clock")}
    return admin_api([], {}, **given, pages=_PAGES)  # type: ignore[arg-type] # they stand in


class PageRow(NamedTuple):
    method: str
    path: str
    access: str
    payloads: bool


class Rig:
    """`ids` has the ids of what is stored, by the names of the places in paths."""

    def __init__(self, store: SqliteStore, *, asked: bool = True) -> None:
        self.store = store
        self.world = World(store)
        self.clock = ManualClock(NOW)
        self.state = ReloadState()
        self.held = list(TOKENS.values())
        self.ids = {
            "generation": GENERATION,
            "refusal": "ref_1",
            "verb": "replay",
            "replay": "again",
        }
        self.rows: tuple[TargetRow, ...] = ()
        self.sharing = NodeList((), None)
        self.done: list[tuple[str, Any]] = []
        self.reloads = 0
        self.refusals = Refusals()
        self.written: dict[str, Any] | None = None
        self.verbs = self.world.operator
        self.running = self._running()
        held = (lambda: self.held) if asked else None
        self._build(Callers(held, self.verbs.tokens, clock=self.clock))
        self.jar: dict[str, str] = {}

    def _running(self) -> RunningServer:
        return RunningServer(
            store=self.store,
            live=self.world.live,
            clock=self.clock,
            audit=self.verbs.audit,
            reloader=SimpleNamespace(reload=self._reload, state=self.state),  # type: ignore[arg-type]
            parts=LiveParts(self.refusals, lambda: False, lambda _job, _after: self.written, dict),
        )

    async def _reload(self) -> bool:
        self.reloads += 1
        return False

    async def targets(self) -> TargetList:
        return TargetList(self.rows)

    async def nodes(self) -> NodeList:
        return self.sharing

    async def pause(self, request: TargetRequest, by: Any) -> None:
        self.done.append(("pause", request))

    async def resume(self, request: TargetRequest, by: Any) -> None:
        self.done.append(("resume", request))

    def __getattr__(self, name: str) -> Any:
        """Every other verb is the real one."""
        return getattr(self.__dict__["verbs"], name)

    def _build(self, callers: Callers) -> None:
        live = self.world.live
        self.reading = questions_of(self.store.reads, live, self.clock)
        self.reading.targets = self.targets  # type: ignore[method-assign]
        self.reading.nodes = self.nodes  # type: ignore[method-assign]
        self.reading.shared = True
        self.signal = Signal(self.clock)
        services = page_services(
            (self.reading, self, self.running),  # type: ignore[arg-type]
            callers,
            live,
            signal=self.signal,
            clock=self.clock,
            standing=standing(live, self.state),
        )
        _SERVICES.take(**msgspec.structs.asdict(services))
        self.app = _application()
        self.pages = _PAGES
        self.admin = AdminApp(lambda: self.app, hosts=Hosts(HOST), unready=self.running.unready)

    def views(self) -> list[PageRow]:
        """Every page and form behind the log-in."""
        return [
            PageRow(method, route.path_format, opt["access"], opt.get("payloads", False))
            for route in self.app.routes
            for handler in route.route_handlers
            for method in handler.http_methods
            if "access" in (opt := handler.opt) and "query" not in opt and route.path != "/logout"
        ]

    # -- filling -----------------------------------------------------------------------------------

    async def fill(self, text: str = "plain", inside: str | None = None) -> None:
        """
        One delivery with a dead and an open job, all that strangers write being `text`, or
        `inside` where that is payload.
        """
        inside = text if inside is None else inside
        await self.store.keep_generation(Generation(GENERATION, f"# {text}", {"a": text}, NOW))
        maker = Maker()
        body = msgspec.json.encode({"id": 1, "text": inside, inside or "k": inside})
        header = inside.encode("utf-8").decode("latin-1")
        name = text.encode("utf-8").decode("latin-1")
        delivery = maker.delivery(
            body=body, path="/wh_x", query=header, headers=(("x-odd", header), (name, "1")),
            generation=self.world.live.current.ruleset.generation, peer=text, received_at=NOW,
        )  # fmt: skip
        event = maker.event(name=text, action=text)
        jobs = [
            maker.job(event=text, event_id=event.id, rule=r, target=text) for r in ("one", "two")
        ]
        await self.store.accept(Acceptance(delivery, (event,), tuple(jobs)))
        self.ids |= {"delivery": delivery.id, "job": jobs[0].id}
        await self._die(text, inside)
        self._refuse(text, inside, body, header)
        chosen = Criteria(event=text, rule="one", state="dead")
        await self.world.operator.replay(
            ReplayRequest(selector=chosen, name="again"), By(text, text)
        )
        self.rows = (
            TargetRow(text, named=True, kind="http", url=f"http://h/{text}", reason=inside, by=text,
                      last_error=inside, last_error_at=NOW, state="open", since=NOW, attempts=1),
        )  # fmt: skip

        card = NodeCard(text, text, text, NOW, -2_500, unready=text)
        load = NodeLoad({text: TargetShare(2, 0.5)}, {text: 1})
        nodes = node_rows([NodeSeen("7", card, 3, NOW)], {"7": load}, NOW + 800)
        self.sharing = NodeList(nodes, "other")

    async def _die(self, text: str, inside: str) -> None:
        batch = await self.store.lease({text: 1}, lease="b.1", now=NOW + 10**12)
        job = batch.jobs[0].job
        self.ids["job"] = job.id
        settled = a_settlement(job, "dead", reason=f"exit 1: {inside}")
        attempt = msgspec.structs.replace(
            settled.attempt,
            reason=f"exit 1: {inside}",
            result={"status": 500, "text": inside, "headers": {inside: inside}},
        )
        await self.store.settle(msgspec.structs.replace(settled, attempt=attempt))

    def _refuse(self, text: str, inside: str, body: bytes, header: str) -> None:
        request = a_request(
            body=body,
            query_string=header.encode("latin-1"),
            headers=((b"x", header.encode("latin-1")),),
        )
        kept = self.refusals.keep("shop", "bad_signature", NOW, request)
        self.refusals.add(
            {
                "at": NOW,
                "endpoint": text,
                "reason": text,
                "status": 401,
                "peer": text,
                "hint": inside,
                "kept": kept,
            }
        )

    # -- looking -----------------------------------------------------------------------------------

    async def ask(
        self, method: str, path: str, *, form: dict[str, str] | None = None, **headers: str
    ) -> Answer:
        """One request as a browser sends it, with the cookies it was given."""
        given = {"host": HOST, **{n.replace("_", "-"): v for n, v in headers.items()}}
        if self.jar:
            given["cookie"] = "; ".join(f"{n}={v}" for n, v in self.jar.items())
        body = b""
        if form is not None:
            body = urlencode(form).encode()
            given.setdefault("content-type", "application/x-www-form-urlencoded")
            given.setdefault("origin", f"http://{HOST}")
        raw, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "scheme": "http", "path": raw,
            "raw_path": raw.encode("latin-1"), "query_string": query.encode("latin-1"),
            "headers": [(n.lower().encode(), v.encode("latin-1")) for n, v in given.items()],
            "client": ("127.0.0.1", 4711),
        }  # fmt: skip
        answer = await called(self.admin, scope, body)
        cookie = answer.headers.get("set-cookie", "")
        if cookie.startswith(COOKIE):
            value = cookie.partition(";")[0].partition("=")[2]
            self.jar = {COOKIE: value} if value else {}
        return answer

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.ask("GET", path, **headers)

    async def post(self, path: str, on: str = "/rules", **form: str) -> Answer:
        """A form of the page `on`, with its proof."""
        return await self.ask("POST", path, form={**form, "proof": await self.proof(on)})

    async def proof(self, on: str = "/login") -> str:
        page = (await self.get(on)).body.decode()
        found = _PROOF.search(page)
        return found[1] if found else ""

    async def log_in(self, who: str) -> Answer:
        self.jar = {}
        token = TOKENS[who].value.decode()
        return await self.ask("POST", "/login", form={"token": token, "next": "/rules"})

    def paths(self) -> list[str]:
        """A path of every page that is there."""
        found = [v.path.format_map(self.ids) for v in self.views() if v.method == "GET"]
        queries = ["/plan?state=dead", "/deliveries?where=payload.text", "/jobs?state=dead"]
        return [p for p in found if p not in ("/plan", "/compare", "/signal")] + queries


class Nodes(HTMLParser):
    """What a page is made of: its elements with their attributes, and its text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.odd: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        self.odd.append(data)

    def handle_pi(self, data: str) -> None:
        self.odd.append(data)

    def unknown_decl(self, data: str) -> None:
        self.odd.append(data)


def nodes(page: bytes) -> Nodes:
    """A page, taken apart."""
    parser = Nodes()
    parser.feed(page.decode("utf-8"))
    parser.close()
    return parser


@asynccontextmanager
async def a_rig(folder: Path, *, asked: bool = True) -> AsyncIterator[Rig]:
    store = await open_store(str(folder / "router.db"), clock=ManualClock(NOW))
    try:
        yield Rig(store, asked=asked)
    finally:
        await store.close()
