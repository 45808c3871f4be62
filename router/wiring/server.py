"""`router serve`, put together from its parts."""

import asyncio
import gc
import os
import random
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from router import log as logs
from router.actions.descent import adopt_orphans
from router.actions.dry import DryAction
from router.actions.http import HttpAction
from router.actions.log import LogAction
from router.actions.python import PythonAction
from router.actions.shell import ShellAction
from router.actions.watching import Watching
from router.clock import Clock, SystemClock
from router.dispatch.dispatcher import Dispatcher
from router.dispatch.live import Live as DispatchLive
from router.dispatch.live import Measures
from router.dispatch.protocol import Action
from router.errors import StoreRefused
from router.intake import Intake
from router.metrics import Metrics
from router.model.ids import Ids
from router.model.job import ActionKind, Job
from router.replay import Operator
from router.rules.live import Live, LiveRef
from router.serving.counting import Counting
from router.serving.notifying import Manager
from router.serving.process import Process
from router.serving.reload import Reloader
from router.serving.silence import Silence
from router.serving.targets import TargetDesk
from router.serving.upkeep import Upkeep
from router.serving.verbs import Verbs
from router.store.protocol import Died
from router.store.sqlite import SqliteStore, open_store
from router.web.admin.live import Live as Following
from router.web.app import admin_app, public_app
from router.web.door import Door
from router.web.peer import Peers
from router.web.server import Listener
from router.web.tls import Certificate
from router.web.wire import Wire
from router.wiring import acting, admin, pages, reloading, terminal
from router.wiring import own_events as own
from router.wiring.heard import Heard, live_feed, measure_targets
from router.wiring.live import Source, generation_of, restore_former
from router.wiring.management import Published
from router.wiring.rules import Overrides

ADMIN_ANSWER_S = 120.0
"""An operator's question about many deliveries may take its time; a sender's delivery may not."""
REPLAY_ANSWER_S = 5.0
"""How long an answer waits for a replay's jobs to be made; whoever asked can ask again."""


class ServeOptions(msgspec.Struct, frozen=True):
    """What `router serve` was asked. `human`: somebody reads along on a terminal."""

    rules: Path
    dev: bool = False
    dry: bool = False
    overrides: Overrides = Overrides()
    human: bool = False


def serve(options: ServeOptions, environ: Mapping[str, str]) -> int:
    """
    Serve until a signal; returns the exit code.

    Raises:
        ConfigError, SecretMissing, StoreRefused, UsageError: it cannot start; nothing was changed.
    """
    os.umask(0o077)
    adopt_orphans()
    logs.configure(
        human=options.human,
        level="debug" if options.human else "info",
        phrase=terminal.phrasing(colour=terminal.colours(environ)),
    )
    source = Source(options.rules, environ=environ, dev=options.dev, overrides=options.overrides)
    live, warnings = source.build()
    if sys.platform != "win32":
        import uvloop  # noqa: PLC0415 - only a server needs it

        return uvloop.run(_serve(options, source, live, warnings))
    return asyncio.run(_serve(options, source, live, warnings))


async def _serve(options: ServeOptions, source: Source, live: Live, warnings: list[str]) -> int:
    clock = SystemClock()
    store = await open_store(live.ruleset.server.store, clock=clock)
    try:
        return await _with_store(options, source, live, warnings, store, clock)
    finally:
        await store.close()


async def _with_store(
    options: ServeOptions,
    source: Source,
    live: Live,
    warnings: list[str],
    store: SqliteStore,
    clock: Clock,
) -> int:
    empty = not await store.counts()
    _keep_apart(live.ruleset.server.store, dry=options.dry, empty=empty)
    log = logs.get("router")
    logs.REDACTOR.register(live.secrets.texts.values())
    for warning in (*warnings, *filter(None, [store.warning])):
        log.warning(warning)
    built = Built(options, source, LiveRef(live), store, clock)
    await store.keep_generation(generation_of(live.ruleset, clock))
    await restore_former(built.live, store, source, built.log)
    mended = await built.dispatch.recover()
    await built.upkeep.apply()
    await built.published.ranges.load()
    resumed = await built.operator.resume()
    if resumed:
        log.info("replays go on", replays=resumed)
    if mended.reclaimed or mended.dead:
        log.warning("recovered", reclaimed=mended.reclaimed, dead=mended.dead)
    try:
        return await built.process().run(built.ready)
    finally:
        await built.close()


def _keep_apart(path: str, *, dry: bool, empty: bool) -> None:
    """
    Keep recorded and real work in stores of their own: jobs of one must never run as the other.

    Raises:
        StoreRefused: the store holds jobs of the other kind.
    """
    mark = Path(f"{path}.dry")
    if empty and dry:
        mark.touch(0o600)
    elif empty:
        mark.unlink(missing_ok=True)
    elif dry and not mark.exists():
        raise StoreRefused(f"{path} holds jobs of a normal run; give --dry one of its own: --store")
    elif not dry and mark.exists():
        raise StoreRefused(f"{path} holds jobs of a --dry run; remove it or name another: --store")


class Built:
    """Every part of one serving router, constructed and introduced to each other."""

    def __init__(
        self, options: ServeOptions, source: Source, live: LiveRef, store: SqliteStore, clock: Clock
    ) -> None:
        self.options, self.source, self.live = options, source, live
        self.store, self.clock = store, clock
        self.log = logs.get("router")
        self.metrics = Metrics()
        self.manager = Manager(source.environ, clock)
        tls = live.current.ruleset.server.tls
        self.certificate = Certificate(tls.cert, tls.key) if tls else None
        store.on_commit = self.metrics.committed
        rng = random.Random(secrets.randbits(128))  # noqa: S311 - jitter and ids, not secrets
        ids = Ids(rng)
        self.watching = Watching()
        self.actions = _actions(options, live, self.watching)
        heard = (terminal.Narrator if options.human else Heard)(self.metrics, logs.get("dispatch"))
        self.own = own.own_events(
            live,
            store,
            wake=self._wake,
            ids=ids,
            clock=clock,
            metrics=self.metrics,
        )
        self.dispatch = Dispatcher(
            store,
            self.actions,
            _dispatch_live(live, source.environ, self.own.died),
            clock=clock,
            rng=rng,
            boot=secrets.token_hex(6),
            listener=heard,
            measures=Measures(dry=options.dry),
        )
        self.dispatch.on_target_change = heard.target_changed
        measure_targets(self.metrics, self.dispatch)
        self.published = Published(live, facts=store, clock=clock, rng=rng, metrics=self.metrics)
        self.intake = Intake(
            live=live,
            store=store,
            dispatch=self.dispatch,
            clock=clock,
            ids=ids,
            metrics=self.metrics,
            log=logs.get("intake"),
            published=self.published.of,
        )
        self.feed = live_feed(self.intake, heard, clock)
        self.silence = Silence(
            store=store,
            live=live,
            metrics=self.metrics,
            clock=clock,
            log=logs.get("silence"),
        )
        own.watch(
            self.own,
            live,
            store,
            silence=self.silence,
            dispatch=self.dispatch,
            clock=clock,
            metrics=self.metrics,
        )
        self.upkeep = Upkeep(
            store=store,
            live=live,
            intake=self.intake,
            wake=self.dispatch.wake,
            clock=clock,
            log=logs.get("upkeep"),
            silence=self.silence,
            paused_targets=self.dispatch.gates.paused,
        )
        self.counting = Counting(
            self.metrics.rule_totals,
            lambda: (rule.id for rule in live.current.ruleset.rules),
            store=store,
            clock=clock,
            log=logs.get("counting"),
        )
        self.reloader = self._reloader()
        self.operator = Operator(
            store=store,
            live=live,
            clock=clock,
            ids=ids,
            wake=self.dispatch.wake,
            patience_s=REPLAY_ANSWER_S,
        )
        self.verbs = Verbs(
            operator=self.operator,
            store=store,
            live=live,
            clock=clock,
            refusals=lambda limit: list(self.intake.ring)[::-1][:limit],
            reload=self.reloader.reload,
            reload_state=self.reloader.state,
            full=lambda: self.intake.full,
        )
        self.verbs.more = lambda: {
            "silent": self.silence.silent(),
            "ranges": self.published.ranges.known_at(),
        }
        self.verbs.watched = self.watching.output
        self.verbs.desk = TargetDesk(
            gates=self.dispatch.gates,
            store=store,
            live=live,
            operator=self.operator,
            clock=clock,
            now=self.dispatch.targets,
            woken=self.dispatch.wake,
        )
        self.intake.kept.wanted = self._keeps_refused
        self.verbs.kept = self.intake.kept
        self.public, self.admin = self._listeners()

    def _keeps_refused(self) -> bool:
        return self.options.dev or self.live.current.ruleset.server.keep_refused

    def process(self) -> Process:
        """The loops and listeners, ready to run."""
        loops = {"manager": self.manager.watch} if self.manager.watchdog_s else {}
        return Process(
            listeners=[self.admin, self.public],
            loops=loops
            | {
                "dispatch": self.dispatch.run,
                "upkeep": self.upkeep.run,
                "counting": self.counting.run,
                "own": self.own.run,
                "watch": self.reloader.watch,
                "ranges": self.published.ranges.run,
                "feed": self.feed.run,
                "heartbeats": self.feed.beat,
            },
            dispatch=self.dispatch,
            store_failed=self.store.failure,
            reload=self.reloader.reload,
            on_drain=self._drain_begins,
            grace_s=lambda: self.live.current.ruleset.server.grace_s,
            log=self.log,
        )

    def ready(self) -> None:
        """Settle the collector, and say in one line where what is served."""
        _settle_collector()
        ruleset = self.live.current.ruleset
        self.log.info(
            "ready",
            listen=_shown(self.public.bound),
            admin=_shown(self.admin.bound),
            store=ruleset.server.store,
            generation=ruleset.generation,
            endpoints=len(ruleset.addressed),
            rules=len(ruleset.rules),
        )

        self.manager.ready()
        self.manager.status(f"{len(ruleset.addressed)} endpoints, {len(ruleset.rules)} rules")

    async def close(self) -> None:
        """Write what was counted last, and let go of what the actions hold."""
        await self.operator.close()
        await self.counting.flush()
        await self.own.flush()
        for action in self.actions.values():
            await action.close()

    def _wake(self, target: str, due_at: int) -> None:
        """For who is made before dispatch is."""
        self.dispatch.wake(target, due_at)

    def _drain_begins(self) -> None:
        self.verbs.draining = True
        self.feed.end()
        self.manager.stopping()

    def _reloader(self) -> Reloader:
        return reloading.reloader(
            reloading.Parts(
                rules=self.options.rules,
                dev=self.options.dev,
                source=self.source,
                live=self.live,
                store=self.store,
                certificate=self.certificate,
                manager=self.manager,
                after=self.upkeep.apply,
                failed=lambda state: own.reload_failed(self.own, self.live, state),
                clock=self.clock,
                log=self.log,
                metrics=self.metrics,
            )
        )

    def _listeners(self) -> tuple[Listener, Listener]:
        server = self.live.current.ruleset.server
        peers = Peers(server.trusted_proxies)
        door = Door(self.intake, clock=self.clock, limits=server.limits, peers=peers)
        wire = Wire(server.limits, peers=peers, refused=door.refused_on_wire)
        known = admin.callers(self.live, dev=self.options.dev, clock=self.clock)
        asks = admin.reading(self.store, self.live, self.source, self.clock)
        numbers = admin.Numbers(self.metrics, self.store, clock=self.clock)
        routes = [
            *admin.routes(asks, self.verbs, numbers),
            *Following(self.feed, self.store).routes(),
        ]
        window = pages.window(
            asks,
            self.verbs,
            known,
            self.live,
            feed=self.feed,
            clock=self.clock,
            standing=pages.standing(
                self.live, self.reloader.state, dev=self.options.dev, dry=self.options.dry
            ),
        )
        inside = admin.admin(routes, known, self.live, peers=peers, clock=self.clock, window=window)
        patient = msgspec.structs.replace(server.limits, answer_s=ADMIN_ANSWER_S)
        return (
            Listener(
                public_app(door),
                server.listen,
                wire,
                self.certificate.context if self.certificate is not None else None,
            ),
            Listener(admin_app(inside), server.admin, Wire(patient)),
        )


def _actions(options: ServeOptions, live: LiveRef, watching: Watching) -> dict[ActionKind, Action]:
    if options.dry:
        dry = DryAction()
        return {"http": dry, "shell": dry, "python": dry, "log": dry}
    lines = logs.get("action")

    def write(level: str, message: str, job: Job) -> None:
        lines.at(level, message, {"rule": job.rule, "delivery": job.delivery, "job": job.id})

    return {
        "http": HttpAction(acting.LiveEgress(live)),
        "shell": ShellAction(watching=watching),
        "python": PythonAction(
            version=lambda: live.current,
            egress=lambda: live.current.ruleset.server.egress_allow,
        ),
        "log": LogAction(write),
    }


def _dispatch_live(live: LiveRef, environ: Mapping[str, str], died: Died) -> DispatchLive:
    return DispatchLive(
        render=acting.renderer(live, environ),
        retry_of=acting.retry_policies(live),
        limits=acting.target_limits(live),
        generation_of=acting.generations(live),
        kind_of=acting.kinds(live),
        dead_if_interrupted=acting.interrupt_dead(live),
        reads=acting.results_read(live),
        died=died,
    )


def _settle_collector() -> None:
    """
    Keep the cycle collector away from what stays: rules, modules and the like live as long as the
    process, and looking through them for every few hundred new objects stopped the loop for tens
    of milliseconds at a time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def _shown(bound: tuple[str, int]) -> str:
    host, port = bound
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
