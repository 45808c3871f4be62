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
from router.actions.dry import DryAction
from router.actions.http import HttpAction
from router.actions.log import LogAction
from router.actions.python import PythonAction
from router.actions.shell import ShellAction
from router.clock import Clock, SystemClock
from router.config import render_text
from router.dispatch.dispatcher import Dispatcher
from router.dispatch.live import Live as DispatchLive
from router.dispatch.live import Measures
from router.dispatch.protocol import Action
from router.errors import StoreRefused, UsageError
from router.intake import Intake
from router.metrics import Metrics
from router.model.ids import Ids
from router.model.job import ActionKind, Job
from router.replay import Operator
from router.rules.live import Live, LiveRef
from router.serving.process import Process
from router.serving.reload import Reloader, Steps
from router.serving.upkeep import Upkeep
from router.serving.verbs import Verbs
from router.store.sqlite import SqliteStore, open_store
from router.web.admin import Admin
from router.web.app import admin_app, public_app
from router.web.door import Door
from router.web.peer import Peers
from router.web.server import Listener
from router.web.wire import Wire
from router.wiring import acting, terminal
from router.wiring.heard import Heard
from router.wiring.live import Source, generation_of, restore_former
from router.wiring.rules import Overrides, content_hash

ADMIN_ANSWER_S = 120.0
"""An operator's replay of many deliveries may take its time; a sender's delivery may not."""


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
    await built.upkeep.hold()
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
        store.on_commit = self.metrics.committed
        rng = random.Random(secrets.randbits(128))  # noqa: S311 - jitter and ids, not secrets
        ids = Ids(rng)
        self.actions = _actions(options, live)
        listener = terminal.Narrator if options.human else Heard
        self.dispatch = Dispatcher(
            store,
            self.actions,
            _dispatch_live(live, source.environ),
            clock=clock,
            rng=rng,
            boot=secrets.token_hex(6),
            listener=listener(self.metrics, logs.get("dispatch")),
            measures=Measures(dry=options.dry),
        )
        self.intake = Intake(
            live=live,
            store=store,
            dispatch=self.dispatch,
            clock=clock,
            ids=ids,
            metrics=self.metrics,
            log=logs.get("intake"),
        )
        self.upkeep = Upkeep(
            store=store,
            live=live,
            intake=self.intake,
            wake=self.dispatch.wake,
            clock=clock,
            log=logs.get("upkeep"),
        )
        self.reloader = self._reloader()
        self.verbs = Verbs(
            operator=Operator(
                store=store, live=live, clock=clock, ids=ids, wake=self.dispatch.wake
            ),
            store=store,
            live=live,
            clock=clock,
            refusals=lambda limit: list(self.intake.ring)[::-1][:limit],
            reload=self.reloader.reload,
            reload_state=self.reloader.state,
            full=lambda: self.intake.full,
        )
        self.public, self.admin = self._listeners()

    def process(self) -> Process:
        """The loops and listeners, ready to run."""
        return Process(
            listeners=[self.admin, self.public],
            loops={
                "dispatch": self.dispatch.run,
                "upkeep": self.upkeep.run,
                "watch": self.reloader.watch,
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
            endpoints=len(ruleset.endpoints),
            rules=len(ruleset.rules),
        )

    async def close(self) -> None:
        """Let go of what the actions hold."""
        for action in self.actions.values():
            await action.close()

    def _drain_begins(self) -> None:
        self.verbs.draining = True

    def _reloader(self) -> Reloader:
        ruleset = self.live.current.ruleset

        def build() -> Live:
            live, warnings = self.source.build()
            logs.REDACTOR.register(live.secrets.texts.values())
            for warning in warnings:
                self.log.warning(warning)
            return live

        async def keep(live: Live) -> None:
            await self.store.keep_generation(generation_of(live.ruleset, self.clock))

        steps = Steps(
            fingerprint=lambda: content_hash(self.options.rules, ruleset.folder),
            build=build,
            keep=keep,
            after=self.upkeep.hold,
            render=lambda error: render_text(error.diagnostics),
        )
        return Reloader(steps, live=self.live, clock=self.clock, log=self.log, metrics=self.metrics)

    def _listeners(self) -> tuple[Listener, Listener]:
        server = self.live.current.ruleset.server
        peers = Peers(server.trusted_proxies)
        door = Door(self.intake, clock=self.clock, limits=server.limits, peers=peers)
        wire = Wire(server.limits, peers=peers, refused=door.refused_on_wire)
        admin = Admin(
            self.verbs,
            token=None if self.options.dev else _token(server.store),
            render_metrics=self.metrics.render,
            hosts=(server.admin.rpartition(":")[0].strip("[]"),),
        )
        patient = msgspec.structs.replace(server.limits, answer_s=ADMIN_ANSWER_S)
        return (
            Listener(public_app(door), server.listen, wire),
            Listener(admin_app(admin), server.admin, Wire(patient)),
        )


def _actions(options: ServeOptions, live: LiveRef) -> dict[ActionKind, Action]:
    if options.dry:
        dry = DryAction()
        return {"http": dry, "shell": dry, "python": dry, "log": dry}
    lines = logs.get("action")

    def write(level: str, message: str, job: Job) -> None:
        lines.at(level, message, {"rule": job.rule, "delivery": job.delivery, "job": job.id})

    return {
        "http": HttpAction(acting.LiveEgress(live)),
        "shell": ShellAction(),
        "python": PythonAction(
            version=lambda: live.current,
            egress=lambda: live.current.ruleset.server.egress_allow,
        ),
        "log": LogAction(write),
    }


def _dispatch_live(live: LiveRef, environ: Mapping[str, str]) -> DispatchLive:
    reread = acting.rereader(live)
    return DispatchLive(
        render=acting.renderer(live, environ, reread),
        reread=reread,
        retry_of=acting.retry_policies(live),
        limits=acting.target_limits(live),
        generation_of=acting.generations(live),
        kind_of=acting.kinds(live),
        dead_if_interrupted=acting.interrupt_dead(live),
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


def _token(store: str) -> str:
    """The admin door's token, made once, 0600, beside the store."""
    path = Path(f"{store}.token")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        kept = path.read_text("ascii").strip()
        if kept:
            return kept
        raise UsageError(f"{path} is empty; remove it, a new one is made at start") from None
    token = secrets.token_urlsafe(32)
    with os.fdopen(descriptor, "w") as file:
        file.write(token + "\n")
    return token


def _shown(bound: tuple[str, int]) -> str:
    host, port = bound
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
