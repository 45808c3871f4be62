"""`router serve`, put together from its parts."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from router import log as logs
from router.actions.process_tree import adopt_orphans
from router.clock import SteadyClock, steady
from router.errors import StoreRefused, StoreUnavailable
from router.metrics import Metrics
from router.model.store_address import SqliteFile, StoreAddress
from router.rules.live import LiveRef, LiveRuleset
from router.serving.memory import give_back_large_blocks
from router.serving.nodes import join
from router.serving.process import Process
from router.store.protocol import Store
from router.wiring import terminal
from router.wiring.live import (
    GenerationSource,
    node_card,
    put_in_force,
    restore_former,
)
from router.wiring.loops import loops_of
from router.wiring.serve_options import ServeOptions
from router.wiring.server import Server
from router.wiring.stores import node_name, open_store

DRY = "dry"
"""The fact that says whether a store's jobs are only recorded."""


def serve(options: ServeOptions, environ: Mapping[str, str]) -> int:
    """
    Serve until a signal; returns the exit code.

    Raises:
        CannotListen, ConfigError, SecretMissing, StoreRefused, StoreUnavailable, UsageError: it
            cannot start; nothing was changed.
    """
    source = prepared(options, environ)
    with leaving_at_once():
        live = source.build()
        if sys.platform != "win32":
            import uvloop  # noqa: PLC0415 - only a server needs it

            return uvloop.run(run(options, source, live))
        return asyncio.run(run(options, source, live))


def prepared(options: ServeOptions, environ: Mapping[str, str]) -> GenerationSource:
    """Set up the process and its log; return where the rules come from."""
    os.umask(0o077)
    adopt_orphans()
    give_back_large_blocks()
    logs.configure(
        human=options.human,
        level="debug" if options.human else "info",
        phrase=terminal.phrasing(colour=terminal.colours(environ)),
    )
    return GenerationSource(
        options.rules, environ=environ, dev=options.dev, overrides=options.overrides
    )


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """
    A SIGTERM that comes before the process serves ends it with 0 there and then: nobody has an
    answer from it, nothing runs, and a store that was being made is whole or empty. Nor can
    it be missed: the first process of a container gets no signal that it has not asked for.
    """

    def leave(_number: int, _frame: object) -> None:
        os._exit(0)  # no word of it: the log may be in the middle of a line

    former = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


@asynccontextmanager
async def embedded(rules: Path, environ: Mapping[str, str]) -> AsyncIterator[Server]:
    """
    Serve inside another server, which has the sockets and the signals; leaving drains.

    Raises as `serve`. When the router fails later, it sends SIGTERM to this process.
    """
    started: asyncio.Future[Process] = asyncio.get_running_loop().create_future()
    server: Server

    async def serving(made: Server) -> int:
        nonlocal server
        server, process = made, made.process(loops_of(made))

        def ready() -> None:
            made.ready()
            started.set_result(process)

        return await process.run(ready)

    options = ServeOptions(rules, listens=False)
    source = prepared(options, environ)
    live = await asyncio.to_thread(source.build)
    served = asyncio.ensure_future(run(options, source, live, serving))
    waits: set[asyncio.Future[Any]] = {served, started}
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if served.done():
        raise StoreUnavailable(f"the router ended with {served.result()} while it started")
    served.add_done_callback(_end_process)
    try:
        yield server
    finally:
        served.remove_done_callback(_end_process)
        started.result().stop()
        await served


def _end_process(_served: "asyncio.Future[int]") -> None:
    os.kill(os.getpid(), signal.SIGTERM)


async def until_stopped(server: Server) -> int:
    """Serve; return the exit code."""
    return await server.process(loops_of(server)).run(server.ready)


async def run(
    options: ServeOptions,
    source: GenerationSource,
    live: LiveRuleset,
    serving: Callable[[Server], Awaitable[int]] = until_stopped,
) -> int:
    """Open the store and make the server; return what `serving` returns. Raises as `serve`."""
    clock, metrics, log = steady(), Metrics(), logs.get("router")
    address = live.ruleset.server.store
    try:
        store = await open_store(address, clock=clock, on_commit=metrics.committed)
    except StoreUnavailable as error:
        raise StoreUnavailable(
            f"{error}; `router serve` does not wait for it: start it again, or let a service "
            "manager do so until it works"
        ) from error
    try:
        code = await _with_store(options, source, live, store, clock, metrics, serving)
    finally:
        await store.close()
    if code == 0 and store.failure.done():  # by the very last write; the next start mends it
        log.error("stopping", reason=f"the store failed: {store.failure.result()}")
        code = 1
    log.info("stopped", exit=code)
    return code


async def _with_store(
    options: ServeOptions,
    source: GenerationSource,
    live: LiveRuleset,
    store: Store,
    clock: SteadyClock,
    metrics: Metrics,
    serving: Callable[[Server], Awaitable[int]] = until_stopped,
) -> int:
    address = live.ruleset.server.store
    await _keep_apart(store, address, dry=options.dry)
    log = logs.get("router")
    if store.shared:
        live = await asyncio.to_thread(source.fingerprinted, live, store.fingerprint_key)
    joined = await join(store, node_card(live, node_name(address)), clock)
    server = Server(options, source, LiveRef(live), store, clock, metrics, joined)
    await put_in_force(store, live, node=server.node, clock=clock)
    await restore_former(server.live, store, source, server.log)
    await server.clock_sync.begin()
    mended = await server.dispatch.recover()
    await server.upkeep.apply()
    await server.published.ranges.load()
    await server.keys.load()
    await server.recoveries.load()
    resumed = await server.verbs.replays.resume()
    if resumed:
        log.info("replays go on", replays=resumed)
    if mended.reclaimed or mended.dead:
        log.warning("recovered", reclaimed=mended.reclaimed, dead=mended.dead)
    try:
        return await serving(server)
    finally:
        await server.close()


async def _keep_apart(store: Store, address: StoreAddress, *, dry: bool) -> None:
    """
    Keep recorded and real work in stores of their own: jobs of one must never run as the other.

    Raises:
        StoreRefused: the store holds jobs of the other kind, or another router may make some.
    """
    await _take_over_mark(store, address)
    facts = await store.recall(DRY)
    if facts.get(DRY) is dry:
        return
    if not await store.reads.counts() and not (store.shared and DRY in facts):
        await store.remember({DRY: dry})
    elif dry and not facts.get(DRY):
        raise StoreRefused(
            f"{address} holds jobs of a normal run; give --dry one of its own: --store"
        )
    elif not dry and facts.get(DRY):
        raise StoreRefused(
            f"{address} holds jobs of a --dry run; remove it or name another: --store"
        )


async def _take_over_mark(store: Store, address: StoreAddress) -> None:
    """Routers before this one left a file beside the store of a --dry run."""
    if isinstance(address, SqliteFile) and (mark := Path(f"{address.path}.dry")).exists():
        await store.remember({DRY: True})
        await asyncio.to_thread(mark.unlink)
