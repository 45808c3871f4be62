"""Every part of one serving router, constructed and introduced to each other."""

import asyncio
import random
import secrets
from collections.abc import Collection
from functools import partial

from router import log as logs
from router.actions.live_output import Watching
from router.clock import SteadyClock
from router.dispatch.dispatcher import Dispatcher
from router.dispatch.live import SHARED_SWEEP_S, SWEEP_S, DispatchSettings
from router.dispatch.rules_port import dispatch_live
from router.intake import Intake, IntakeChecks
from router.metrics import Metrics
from router.model.ids import Ids
from router.model.target import TargetChange
from router.operator.attention import HELD, of_clock
from router.operator.overview import ServerNow
from router.operator.questions import StoreQuestions
from router.operator.verbs import StoreVerbs
from router.provider_calls.recovery import Recoveries
from router.refusals import Refusals
from router.rules.live import LiveRef
from router.serving.clock_sync import ClockSync
from router.serving.conditions import ThisNode, WatchedParts, watches
from router.serving.counters import CounterWriter
from router.serving.memory import settle_collector
from router.serving.nodes import Joined, Membership
from router.serving.own_events import OwnEvents, OwnEventWriter
from router.serving.process import Loop, Process, Shutdown
from router.serving.quiet_endpoints import QuietEndpoints
from router.serving.redaction import RedactionUpkeep
from router.serving.reload import Reloader
from router.serving.rule_agreement import RuleAgreement
from router.serving.running import LiveParts, RunningServer
from router.serving.service_manager import ServiceManager
from router.serving.store_time import StoreTime
from router.serving.upkeep import Upkeep
from router.serving.watchdog import Watchdog
from router.store.protocol import Store
from router.store.values import NodeCard
from router.web.admin.app import AdminApp, Application
from router.web.admin.browsers import Hosts
from router.web.client_address import Peers
from router.web.ingest import Ingest
from router.web.server import Listener
from router.web.signal import Signal
from router.wiring.action_table import make_actions
from router.wiring.admin import MetricsPage, callers, own_token
from router.wiring.condition_children import ConditionChildren
from router.wiring.gauges import measure_parts, measure_store
from router.wiring.listeners import (
    admin_listener,
    admin_names,
    announce,
    certificate,
    ends,
    public_listener,
    shown,
)
from router.wiring.live import (
    GenerationSource,
    fetched_rules,
    node_card,
    put_in_force,
)
from router.wiring.management import (
    EndpointRanges,
    Fetching,
    fetches_of,
    handshake_visits,
    published_keys,
    questions,
)
from router.wiring.observers import Handlers, Observers, signal_handlers, visit_handlers
from router.wiring.recovery import RecoverableEndpoints
from router.wiring.reloading import reload_steps
from router.wiring.serve_options import ServeOptions
from router.wiring.stores import identity, node_name, serve_at
from router.wiring.terminal import counting_handlers
from router.wiring.traces import traces_of

REPLAY_ANSWER_S = 5.0
"""How long an answer waits for a replay's jobs to be made; the caller can ask again."""


class Server:
    """Every part of one serving router, constructed in one phase: each is whole once it is made."""

    def __init__(
        self,
        options: ServeOptions,
        source: GenerationSource,
        live: LiveRef,
        store: Store,
        clock: SteadyClock,
        metrics: Metrics,
        joined: Joined,
    ) -> None:
        self.options, self.source, self.live = options, source, live
        self.store, self.clock, self.metrics = store, clock, metrics
        self.log = logs.get("router")
        self.manager = ServiceManager(source.environ, clock)
        server = live.current.ruleset.server
        self.node = node_name(server.store)
        self.certificate = certificate(server.tls, "server.tls")
        self.admin_certificate = certificate(server.admin_tls, "server.admin.tls")
        self.certificates = tuple(filter(None, (self.certificate, self.admin_certificate)))
        self.rng = random.Random(secrets.randbits(128))  # noqa: S311 - jitter and ids, not secrets
        self.ids = Ids(self.rng)
        self.watching = Watching(logs.OUTPUTS)
        self.actions = make_actions(live, self.watching, dry=options.dry)
        self.traces = traces_of(source.environ, self.node, clock.now_ns)
        self.signal = Signal(clock)
        self.conditions = ConditionChildren(source, server.store)
        self._out(joined)
        self._verbs(joined)
        self._upkeep()
        self.reloader = self._reloader()
        self._in()
        self.public, self.admin = self._listeners()

    def _out(self, joined: Joined) -> None:
        """Dispatch, as which node, the router's own events, and who observes them."""
        live, store, clock, metrics = self.live, self.store, self.clock, self.metrics
        self.visits = handshake_visits(live, clock=clock, metrics=metrics)
        reports = (
            *counting_handlers(metrics, human=self.options.human),
            self.traces.handlers,
            visit_handlers(self.visits.want),
            signal_handlers(self.signal.changed),
        )
        self.reported = Observers(*reports)
        self.own = OwnEvents(
            live=live, hide=logs.REDACTOR.text, ids=self.ids, clock=clock, observe=self.reported
        )
        looks: Handlers = {TargetChange: lambda _change: self.own.look_soon()}
        self.observe = Observers(*reports, looks)
        self.dispatch = Dispatcher(
            store,
            self.actions,
            dispatch_live(
                live,
                self.source.environ,
                self.own.died,
                fetched_rules(self.source, live, store, clock=clock),
                self.traces.traceparent,
            ),
            clock=clock,
            rng=self.rng,
            node=joined.node,
            observe=self.observe,
            settings=DispatchSettings(
                dry=self.options.dry,
                held=self.options.hold,
                shared=store.shared,
                sweep_s=SHARED_SWEEP_S if store.shared else SWEEP_S,
            ),
        )
        store.listen(self._heard)

    def _verbs(self, joined: Joined) -> None:
        """Its place among the nodes, what it reports of itself, and what operators do."""
        live, store, clock = self.live, self.store, self.clock
        self.nodes = Membership(
            store=store,
            dispatch=self.dispatch,
            joined=joined,
            card=self._card,
            time=StoreTime(clock),
            clock=clock,
            log=logs.get("nodes"),
        )
        self.writer = OwnEventWriter(
            self.own,
            store=store,
            wake=self.dispatch.wake,
            clock=clock,
            observe=self.reported,
            log=logs.get("own"),
        )
        self.verbs = StoreVerbs(
            store=store,
            live=live,
            clock=clock,
            ids=self.ids,
            wake=self.dispatch.wake,
            breakers=self.dispatch.breakers,
            patience_s=REPLAY_ANSWER_S,
            claimed=self._claimed,
            erased=lambda: self.refusals.clear(),  # noqa: PLW0108 - it is made later
            evaluator=self.conditions,
        )

    def _card(self) -> NodeCard:
        """What this node says of itself."""
        card = node_card(self.live.current, self.node)
        return self.running.described(card, self.nodes.skew())

    def _heard(self, targets: Collection[str]) -> None:
        """Another node has committed something."""
        self.dispatch.heard(targets)
        self.signal.changed()

    def _upkeep(self) -> None:
        """What is looked after now and then. Whoever remembers times moves with the clock."""
        live, store, clock, metrics = self.live, self.store, self.clock, self.metrics
        self.quiet = QuietEndpoints(
            store=store, live=live, metrics=metrics, clock=clock, log=logs.get("quiet_endpoints")
        )
        self.watches = watches(
            self.writer,
            live,
            store,
            parts=WatchedParts(
                self.quiet.silent, self.dispatch.targets, partial(ends, self.certificates), metrics
            ),
            hide=logs.REDACTOR.text,
            clock=clock,
            here=ThisNode(self.node, self._claimed),
        )
        if store.shared:
            agreement = RuleAgreement(
                store.reads, self.writer.send, clock=clock, log=logs.get("nodes")
            )
            self.watches += (agreement.step,)
        self.clock_sync = ClockSync(
            clock=clock, store=store, log=logs.get("clock"), stepped=metrics.clock_stepped
        )
        self.upkeep = Upkeep(
            store=store,
            live=live,
            dispatch=self.dispatch,
            clock=clock,
            log=logs.get("upkeep"),
            quiet=self.quiet,
            journal_bytes=store.journal_bytes,
            claimed=self._claimed,
        )
        self.redaction = RedactionUpkeep(
            store=store, live=live, clock=clock, log=logs.get("redact"), claimed=self._claimed
        )
        measure_store(metrics, live, store, lambda: self.upkeep.size)
        measure_parts(metrics, live, self.dispatch, self.certificates)
        self.counting = CounterWriter(
            metrics.rule_totals,
            lambda: (rule.id for rule in live.current.ruleset.rules),
            metrics.activity,
            size=lambda: self.upkeep.size,
            store=store,
            clock=clock,
            log=logs.get("counting"),
        )

    def _in(self) -> None:
        """Intake, and what operators call beside their verbs."""
        live, store, clock = self.live, self.store, self.clock
        self.fetches = fetches_of(self.metrics)
        given = Fetching(store, clock, self.rng, self._claimed, self.fetches)
        self.published = EndpointRanges(live, given)
        self.keys = published_keys(live, given)
        asks = questions(live, clock, self.fetches)
        checks = IntakeChecks(self.published.of, lambda: self.upkeep.full, self.keys, asks)
        self.refusals = Refusals(
            lambda: self.options.dev or self.live.current.ruleset.server.keep_refused,
            (lambda: self.nodes.node) if store.shared else None,
        )
        self.intake = Intake(
            live=live,
            store=store,
            dispatch=self.dispatch,
            clock=clock,
            ids=self.ids,
            observe=self.observe,
            refusals=self.refusals,
            checks=checks._replace(timed_every=self.traces.timed_every),
        )
        self.recoveries = Recoveries(
            RecoverableEndpoints(live, self.intake, metrics=self.metrics, clock=clock),
            store=store,
            audit=self.verbs.audit,
            clock=clock,
            log=logs.get("recovery"),
            claimed=self._claimed,
        )
        self.running = RunningServer(
            store=store,
            live=live,
            clock=clock,
            audit=self.verbs.audit,
            reloader=self.reloader,
            parts=LiveParts(
                self.refusals,
                lambda: self.upkeep.full,
                self.watching.output,
                lambda: {
                    "silent": self.quiet.silent(),
                    "ranges": self.published.ranges.known_at(),
                    "fetched": self.fetches.states(),
                    "recoveries": self.recoveries.known(),
                },
                self.nodes.unready if store.shared else lambda: None,
                held=lambda: self.dispatch.held,
                end_hold=self.dispatch.end_hold,
            ),
        )
        self.questions = StoreQuestions(
            store.reads,
            live,
            clock=clock,
            targets_now=self.dispatch.targets,
            rebuild=self.source.rebuild,
            write_counts=self.counting.flush_soon,
            server_now=lambda: ServerNow(
                self.reloader.state, self.quiet.silent(), self.dispatch.held, of_clock(clock)
            ),
            evaluator=self.conditions,
        )

    def process(self, loops: dict[str, Loop]) -> Process:
        """These loops and the listeners, ready to run."""
        listens = self.options.listens
        return Process(
            listeners=[self.admin, self.public] if listens else [],
            loops=loops,
            dispatch=self.dispatch,
            store_failed=asyncio.shield(self.store.failure),  # who no longer waits ends no future
            reload=self.reloader.reload,
            shutdown=Shutdown(
                grace_s=lambda: self.live.current.ruleset.server.grace_s,
                begins=self._drain_begins,
                ends_within=Watchdog(self.log).after if listens else lambda _seconds: None,
            ),
            clock=self.clock,
            log=self.log,
        )

    def ready(self) -> None:
        """Settle the collector; log the addresses and what is served."""
        settle_collector()
        self.admin_app.begin()
        ruleset, token_needed = self.live.current.ruleset, self.callers.required
        bound = None
        if self.options.listens:
            bound = self.public.bound, self.admin.bound
            serve_at(ruleset.server.store, shown(self.admin.bound))
        announce(self.log, ruleset, bound, self.admin_certificate, token_needed)
        self.manager.ready()
        self.manager.status(f"{len(ruleset.addressed)} endpoints, {len(ruleset.rules)} rules")
        if self.dispatch.held:
            self.log.warning(HELD)
        if self.options.on_ready is not None:
            asyncio.get_running_loop().call_soon(self.options.on_ready)  # after the lines above

    async def close(self) -> None:
        """Write what was counted last, and let go of what the actions hold."""
        await self.verbs.replays.close()
        await self.verbs.erasures.close()
        await self.conditions.close()
        await self.recoveries.close()
        await self.counting.flush()
        await self.writer.flush()
        await self.clock_sync.close()
        for action in self.actions.values():
            await action.close()
        await self.traces.close()
        if self.store.shared:
            await self.nodes.leave()

    async def _claimed(self, name: str, ttl_ms: int) -> bool:
        return await self.store.claim(name, self.nodes.node, ttl_ms)

    def _drain_begins(self) -> None:
        self.running.drain()
        self.signal.end()
        self.manager.stopping()

    def _reloader(self) -> Reloader:
        steps = reload_steps(
            self.source,
            self.live,
            keep=partial(put_in_force, self.store, node=self.node, clock=self.clock),
            certificates=self.certificates,
            manager=self.manager,
            after=self.upkeep.apply,
            failed=self.own.reload_failed,
        )
        return Reloader(steps, live=self.live, clock=self.clock, log=self.log, metrics=self.metrics)

    def _listeners(self) -> tuple[Listener, Listener]:
        server = self.live.current.ruleset.server
        peers, given = Peers(server.trusted_proxies), self.options.sockets
        self.ingest = Ingest(self.intake, clock=self.clock, limits=server.limits, peers=peers)
        token = own_token(server.state)
        logs.keep_secret([token])
        self.callers = callers(
            self.live, token, self.verbs.tokens, dev=self.options.dev, clock=self.clock
        )
        self.admin_app = AdminApp(
            self._admin_api,
            hosts=Hosts(server.admin, admin_names(server)),
            peers=peers,
            unready=self.running.unready,
            held=lambda: self.dispatch.held,
            local=(token, identity(server.store)),
        )
        return (
            public_listener(self.ingest, server, peers, self.certificate, given.get("listen")),
            admin_listener(self.admin_app, server, self.admin_certificate, given.get("admin")),
        )

    def _admin_api(self) -> Application:
        """Built in a thread when the public listener answers."""
        from router.wiring import admin_api  # noqa: PLC0415 - takes half a second

        services = admin_api.page_services(
            (self.questions, self.verbs, self.running),
            live=self.live,
            standing=admin_api.standing(
                self.live, self.reloader.state, dev=self.options.dev, dry=self.options.dry
            ),
            callers=self.callers,
            signal=self.signal,
            clock=self.clock,
        )
        numbers = MetricsPage(self.metrics, self.store.reads, self.running.unready, self.clock)
        return admin_api.api(
            services, self.recoveries, reads=self.store.reads, render_metrics=numbers.render
        )
