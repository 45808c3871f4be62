"""An admin listener on a real store with something in it, asked without a socket."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from litestar import Litestar

from router.operator.answers import (
    JobOutput,
    RefusalList,
    RefusedRequest,
    ReloadState,
    ReplayProgress,
    ServerState,
    StoreFile,
)
from router.operator.erasure_answers import ErasureProgress, Erasures
from router.operator.requests import By
from router.store.sqlite.store import SqliteStore, open_store
from router.store.values import Generation
from router.web.admin.api import admin_api
from router.web.admin.app import AdminApp
from router.web.admin.browsers import Hosts
from router.web.admin.callers import Caller, Callers, HeldToken
from router.web.admin.changes import ChangeRoutes
from router.web.admin.following import FollowRoutes
from router.web.admin.openapi import ApiRoute, rows
from router.web.admin.reads import ListRoutes, RecordRoutes, ServerRoutes
from router.web.client_address import Peers
from router.web.signal import Signal
from tests.builders import GENERATION, NOW
from tests.clocks import ManualClock
from tests.operators import questions_of
from tests.store_values import a_settlement
from tests.unit.operator.world import World
from tests.unit.web.stand_in import StandIns

TOKENS = {
    "local": HeldToken(Caller("token", "admin"), b"local-token-local-token"),
    "viewer": HeldToken(Caller("ann", "viewer"), b"ann-token-ann-token-ann"),
    "hidden": HeldToken(Caller("eve", "viewer", bodies=False), b"eve-token-eve-token-eve"),
    "operator": HeldToken(Caller("bob", "operator"), b"bob-token-bob-token-bob"),
}
HOST = "127.0.0.1:8001"
STRANGER = ("203.0.113.7", 4711)
HERE = ("127.0.0.1", 4711)


_SERVICES = StandIns("questions", "verbs", "running", "render_metrics", "signal", "store", "live")
_REST = StandIns("callers", "clock", "mask")


@cache
def _application() -> Litestar:
    controllers = [ListRoutes, RecordRoutes, ServerRoutes, ChangeRoutes, FollowRoutes]
    return admin_api(controllers, _SERVICES, **_REST)  # type: ignore[arg-type] # they stand in


async def _numbers() -> bytes:
    return b"up 1\n"


class FakeOperator:
    """Does nothing, and remembers what it was asked to do and by whom."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.fault: Exception | None = None
        self.why_not: str | None = None

    async def unready(self) -> str | None:
        return self.why_not

    async def status(self) -> ServerState:
        self._done("status", None)
        return ServerState("1", "g", 1, ["shop"], StoreFile("/x", 1), {}, ReloadState())

    async def refusals(self, limit: int) -> RefusalList:
        self._done("refusals", limit)
        return RefusalList([{"reason": "bad_signature", "hint": "of the body"}])

    async def refusal(self, wanted: str, endpoint: str | None) -> RefusedRequest:
        self._done("refusal", (wanted, endpoint))
        return RefusedRequest(
            "ref_1", 1, "shop", "late", "POST", "/", "", [("a", "b")], b"", 0, True
        )

    async def output(self, job: str, after: str) -> JobOutput:
        self._done("output", (job, after))
        return JobOutput(running=False)

    async def replayed(self, id_: str) -> ReplayProgress:
        self._done("replayed", id_)
        return ReplayProgress(id_, "made", 1, 1, 0, 0, None, 1, None)

    async def known_erasures(self) -> Erasures:
        return Erasures((await self.erasure("ers_1"),))

    async def erasure(self, id_: str) -> ErasureProgress:
        self._done("erasure", id_)
        return ErasureProgress(id_, "waiting", 1, 0, 1, 2, 1, 0, 1, "backups")

    async def reload(self, by: By) -> dict[str, Any]:
        return self._done("reload", by)

    def __getattr__(self, name: str) -> Any:
        """Verbs that come to be: each takes what it is given."""
        if name.startswith("_"):
            raise AttributeError(name)

        async def verb(*asked: Any) -> dict[str, Any]:
            return self._done(name, asked)

        return verb

    def _done(self, verb: str, what: Any) -> dict[str, Any]:
        if self.fault is not None:
            raise self.fault
        self.calls.append((verb, what))
        return {"did": verb}

    @property
    def changes(self) -> list[str]:
        """What was changed."""
        harmless = ("status", "refusals", "refusal", "output", "replayed", "erasure")
        return [verb for verb, _ in self.calls if verb not in harmless]


class Answer(msgspec.Struct):
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Rig:
    """`world` holds the store; `ids` the ids of what is in it, by the names of routes' places."""

    def __init__(self, store: SqliteStore) -> None:
        self.world = World(store)
        self.clock = ManualClock(NOW)
        self.operator = FakeOperator()
        self.verbs: Any = self.operator
        self.ids: dict[str, str] = {"generation": GENERATION, "replay": "again", "erasure": "ers_1"}
        self.held: list[HeldToken] | None = list(TOKENS.values())
        self.listener()

    def listener(
        self,
        listen: str = HOST,
        hosts: tuple[str, ...] = (),
        mask: Callable[[bytes], bytes] = bytes,
        peers: Peers | None = None,
    ) -> AdminApp:
        """The application; `held` None: no token is asked for."""

        self.reading = questions_of(self.world.real.reads, self.world.live, self.clock)
        self.signal = Signal(self.clock)
        held: Callable[[], Any] | None = None if self.held is None else self._held
        _SERVICES.take(
            questions=self.reading, verbs=self.verbs, running=self.operator,
            render_metrics=_numbers, signal=self.signal,
            store=self.world.real.reads, live=self.world.live,
        )  # fmt: skip
        _REST.take(callers=Callers(held, clock=self.clock), clock=self.clock, mask=mask)
        self.app = _application()
        self.admin = AdminApp(
            lambda: self.app, hosts=Hosts(listen, hosts), peers=peers, unready=self.operator.unready
        )
        return self.admin

    @property
    def routes(self) -> list[ApiRoute]:
        return rows(self.app)

    def body_of(self, route: ApiRoute) -> type[msgspec.Struct] | None:
        """What the JSON of a request must be."""
        for one in self.app.routes:
            for handler in getattr(one, "route_handlers", ()):
                dto = getattr(handler, "dto", None)
                if (one.path_format, {route.method}) != (route.path, handler.http_methods):
                    continue
                if isinstance(dto, type):
                    return dto.model_type  # type: ignore[attr-defined, no-any-return]
        return None

    def _held(self) -> list[HeldToken]:
        return self.held or []

    async def fill(self) -> None:
        """One delivery with a dead and a waiting job."""
        await self.world.real.keep_generation(Generation(GENERATION, "version: 1", {}, NOW))
        self.ids["delivery"] = await self.world.take(1)
        batch = await self.world.real.lease({"one": 1}, lease="b.1", now=NOW + 5)
        job = batch.jobs[0].job
        self.ids["job"] = job.id
        settled = a_settlement(job, "dead", reason="exit 1: secret words")
        attempt = msgspec.structs.replace(
            settled.attempt,
            reason="exit 1: secret words",
            result={"exit": 1, "stdout": "secret words", "stderr": ""},
        )
        await self.world.real.settle(msgspec.structs.replace(settled, attempt=attempt))

    def path_of(self, route: ApiRoute) -> str:
        """A path of this route, of things that are there."""
        return route.path.format_map(self.ids)

    async def ask(
        self,
        method: str,
        path: str,
        who: str | None = None,
        *,
        headers: dict[str, str] | None = None,
        body: bytes = b"",
        client: tuple[str, int] | None = STRANGER,
    ) -> Answer:
        """One request; `who` names a token of TOKENS."""
        given = {"host": HOST, **(headers or {})}
        if who is not None:
            given["authorization"] = f"Bearer {TOKENS[who].value.decode()}"
        if body:
            given.setdefault("content-type", "application/json")
        raw, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": raw,
            "raw_path": raw.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "headers": [(n.lower().encode(), v.encode("latin-1")) for n, v in given.items()],
            "client": client,
        }
        return await called(self.admin, scope, body)


async def called(admin: AdminApp, scope: dict[str, Any], body: bytes = b"") -> Answer:
    """What the application answers; the client goes away after its request."""
    messages = [{"type": "http.request", "body": body}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return messages.pop() if messages else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await admin.serve(scope, receive, send)
    assert sent[0]["type"] == "http.response.start"
    assert {message["type"] for message in sent[1:]} <= {"http.response.body"}
    head = {n.decode(): v.decode("latin-1") for n, v in sent[0]["headers"]}
    assert len(head) == len(sent[0]["headers"]), "a header is given twice"
    whole = b"".join(message.get("body", b"") for message in sent[1:])
    return Answer(sent[0]["status"], head, whole)


@asynccontextmanager
async def a_rig(folder: Path) -> AsyncIterator[Rig]:
    store = await open_store(str(folder / "router.db"), clock=ManualClock(NOW))
    try:
        rig = Rig(store)
        await rig.fill()
        yield rig
    finally:
        await store.close()
