"""A router in a thread of this process, held: its admin listener answers, and no job runs."""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from router.clock import steady
from router.metrics import Metrics
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.nodes import join
from router.wiring.listeners import admin_address
from router.wiring.live import GenerationSource, node_card
from router.wiring.loops import loops_of
from router.wiring.rules import Overrides, read_rules
from router.wiring.secret_values import values_here
from router.wiring.serve_options import ServeOptions
from router.wiring.server import Server
from router.wiring.stores import node_name, open_store


@contextmanager
def held_router(rules: Path, store: str | None = None) -> Iterator[None]:
    """Serve the admin address of these rules, with the secrets that are set, from this store."""
    started, failed = threading.Event(), list[BaseException]()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    def run() -> None:
        try:
            loop.run_until_complete(_serve(rules, store, started, stop))
        except BaseException as error:  # noqa: BLE001 - the test shows it
            failed.append(error)
        finally:
            started.set()
            loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    started.wait()
    try:
        if not failed:
            yield
            loop.call_soon_threadsafe(stop.set)
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)
        thread.join()
    if failed:
        raise failed[0]


async def _serve(
    rules: Path, place: str | None, started: threading.Event, stop: asyncio.Event
) -> None:
    environ = os.environ
    listen, admin = environ.get("ROUTER_LISTEN"), environ.get("ROUTER_ADMIN")
    overrides = Overrides(listen, admin, place)
    ruleset = read_rules(rules, environ=environ, overrides=overrides).ruleset
    assert ruleset is not None
    values, _ = values_here(ruleset, environ)
    live, clock, metrics = LiveRuleset(ruleset, SecretValues(values, {})), steady(), Metrics()
    store = await open_store(ruleset.server.store, clock=clock)
    card = node_card(live, node_name(ruleset.server.store), admin_address(ruleset.server))
    source = GenerationSource(rules, environ=environ, dev=False, overrides=overrides)
    joined = await join(store, card, clock)
    options = ServeOptions(rules, hold=True)
    server = Server(options, source, LiveRef(live), store, clock, metrics, joined)
    await server.put_in_force(live)
    await server.dispatch.recover()
    await server.upkeep.apply()
    tasks = [asyncio.ensure_future(loop()) for loop in loops_of(server).values()]
    await server.admin.start()
    started.set()
    await stop.wait()
    await server.admin.stop(0)
    await server.dispatch.drain(0)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await server.close()
    await store.close()
