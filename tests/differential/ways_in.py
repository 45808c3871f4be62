"""
The two ways in: small POSTs answered from the protocol, and everything through the application.

Whatever senders say, they must be answered with the same bytes, and the ledger must be the same.
"""

import asyncio
import random
import re
from typing import Any

from uvicorn.server import ServerState

from router.intake import Intake
from router.model.ids import Ids
from router.model.observed import Observed
from router.model.settings import Dedupe, Endpoint, Limits
from router.providers import builtin
from router.refusals import Refusals
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.web.budget import Budget
from router.web.client_address import Peers
from router.web.connections import Wire
from router.web.ingest import IngestApp
from router.web.load_shedding import LoadShedder
from router.web.protocol import WireProtocol
from router.web.server import _config
from tests.builders import a_rule, a_ruleset
from tests.clocks import ManualClock
from tests.conformance.model_store import ModelStore
from tests.differential import made_wire
from tests.fake_transport import FakeTransport
from tests.unit.intake.test_intake import Handover

IDS = re.compile(r"\b(dlv|evt|job|run|att)_[0-9A-Z]{26}\b")
_TURNS = 25
"""Turns of the loop after which everything that can go on has gone on."""
_PATIENT = Limits(header_s=600, body_idle_s=600, body_total_s=600, keep_alive_s=600, answer_s=600)


class Shedder(LoadShedder):
    """Everybody is late, or nobody: how fast this machine is shall not matter."""

    def __init__(self, *, late: bool) -> None:
        super().__init__()
        self._late = late

    def spent(self, since: float, now: float) -> bool:
        return self._late


def _endpoint(name: str, provider: str, body_max: int) -> Endpoint:
    return Endpoint(
        name,
        provider,
        (f"/wh_{name}",),
        () if provider == "none" else ("key",),
        unsigned=provider == "none",
        body_max=body_max,
        dedupe=Dedupe("off") if provider == "none" else Dedupe(),
    )


def _live() -> LiveRuleset:
    endpoints = {
        path.decode().removeprefix("/wh_"): provider for path, provider in made_wire.PATHS.items()
    }
    settings = {
        name: _endpoint(name, provider, made_wire.SMALL_MAX if name == "small" else 5_000_000)
        for name, provider in endpoints.items()
    }
    rule = a_rule("any", sources=tuple(endpoints))
    ruleset = a_ruleset(rule, endpoints=settings, providers=builtin())
    return LiveRuleset(ruleset, SecretValues({"key": made_wire.KEY}, {"key": None}))


_LIVE = _live()


class Way:
    """One listener without sockets, and all behind it."""

    def __init__(self, *, short: bool, late: bool, trusted: tuple[str, ...]) -> None:
        clock, self.seen = ManualClock(), list[str]()
        self.store, self.budget = ModelStore(clock), Budget(10_000_000, 600)
        self.refusals = Refusals(lambda: True)
        store: Any = self.store
        intake = Intake(
            live=LiveRef(_LIVE),
            store=store,
            dispatch=Handover(),
            clock=clock,
            ids=Ids(random.Random(1)),
            observe=self._observe,
            refusals=self.refusals,
        )
        peers = Peers(trusted)
        app = IngestApp(intake, clock=clock, limits=_PATIENT, peers=peers, budget=self.budget)
        self.app, self.group = app, app.group
        self.wire = Wire(
            _PATIENT,
            peers=peers,
            refused=app.refused_on_wire,
            group=app.group if short else None,
        )
        self.wire.patience = Shedder(late=late)
        self.state, self.config = ServerState(), _config(app.serve, self.wire)

    def _observe(self, happened: Observed) -> None:
        shown = [type(happened).__name__]
        for name in ("endpoint", "refused", "peer", "judged", "probe", "receipt"):
            value = getattr(happened, name, None)
            shown.append(str(getattr(value, "name", value)))
        self.seen.append(IDS.sub(r"\1", " ".join(shown)))

    def connect(self, peer: str) -> FakeTransport:
        made = WireProtocol(
            config=self.config, server_state=self.state, app_state={}, wire=self.wire
        )
        return FakeTransport(made, peer)

    def ledger(self) -> list[str]:
        """What is stored, without ids and in an order of its own."""
        store = self.store
        rows = [
            repr(
                (
                    row,
                    store._copies.get(name),
                    [j for j in store._jobs.values() if j.delivery == name],
                )
            )
            for name, row in store._deliveries.items()
        ]
        return sorted(IDS.sub(r"\1", row) for row in rows)


async def heard(way: Way, plan: list[tuple[int, bytes | None]], peers: list[str]) -> list[Any]:
    """What every connection heard; `plan`: whose bytes come next, None: the loop turns."""
    links = [way.connect(peer) for peer in peers]
    for number, data in plan:
        if data is None:
            await asyncio.sleep(0)
        else:
            links[number].arrives(data)
    said = list[Any]()
    for end in (lambda _: None, FakeTransport.half_close, FakeTransport.lose):
        for link in links:
            end(link)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        said.append([(IDS.sub(r"\1", bytes(one.sent).decode("latin-1")), one.how) for one in links])
    said.append(
        (way.budget.used, len(way.state.tasks | way.group.tasks), len(way.state.connections))
    )
    return [*said, way.ledger(), sorted(way.seen), len(way.refusals.recent(1000))]


def _plan(rng: random.Random, count: int) -> list[tuple[int, bytes | None]]:
    """Pieces of all connections, mixed as they may come, with turns of the loop between."""
    waiting = {n: made_wire.pieces(rng, made_wire.stream(rng, f"{n}"))[::-1] for n in range(count)}
    plan = list[tuple[int, bytes | None]]()
    while waiting:
        number = rng.choice(list(waiting))
        plan.append((number, waiting[number].pop()))
        if not waiting[number]:
            del waiting[number]
        plan += [(0, None)] * rng.choice((0, 0, 1, 2, 9))
    return plan


def both_ways(rng: random.Random) -> str | None:
    """A few connections, served by either way: the same answers, the same ledger."""
    count, late = rng.choice((1, 1, 3, 8)), rng.random() < 0.05
    trusted = ("10.0.0.0/8",) if rng.random() < 0.3 else ()
    peers = [rng.choice(("192.0.2.1", "10.0.0.7")) for _ in range(count)]
    plan = _plan(rng, count)

    async def served(*, short: bool) -> list[Any]:
        return await heard(Way(short=short, late=late, trusted=trusted), plan, peers)

    short, general = (asyncio.run(served(short=short)) for short in (True, False))
    return None if short == general else _difference(short, general)


def _difference(short: list[Any], general: list[Any]) -> str:
    pairs = zip(short, general, strict=True)
    one, other = next((one, other) for one, other in pairs if one != other)
    return f"the short way: {one!r}\n  the general: {other!r}"
