"""A router in a thread of this process, held: its admin listener answers, and no job runs."""

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from router.clock import steady
from router.errors import SecretMissing
from router.metrics import Metrics
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.nodes import join
from router.wiring.live import GenerationSource, node_card, put_in_force
from router.wiring.loops import loops_of
from router.wiring.rules import Overrides, read_rules
from router.wiring.secret_values import secret_value
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
    values = {}
    for name, ref in ruleset.secrets.items():
        with suppress(SecretMissing):
            values[name] = secret_value(ref, environ)
    live, clock, metrics = LiveRuleset(ruleset, SecretValues(values, {})), steady(), Metrics()
    store = await open_store(ruleset.server.store, clock=clock)
    card = node_card(live, node_name(ruleset.server.store))
    source = GenerationSource(rules, environ=environ, dev=False, overrides=overrides)
    joined = await join(store, card, clock)
    options = ServeOptions(rules, hold=True)
    server = Server(options, source, LiveRef(live), store, clock, metrics, joined)
    await put_in_force(store, live, node=server.node, clock=clock)
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
