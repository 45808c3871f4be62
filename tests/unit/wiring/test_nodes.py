"""A server is a node of its store; only where others may be there does it beat."""

from pathlib import Path

import pytest

from router import __version__
from router.clock import steady
from router.metrics import Metrics
from router.rules.live import LiveRef
from router.serving.nodes import join
from router.store.sqlite.store import open_store
from router.wiring.live import GenerationSource, node_card
from router.wiring.loops import loops_of
from router.wiring.rules import Overrides
from router.wiring.serve_options import ServeOptions
from router.wiring.server import Server
from router.wiring.stores import node_name

RULES = (
    "version: 1\nserver: {store: 'sqlite:router.db', admin: 127.0.0.1:8009}\n"
    "endpoints: {shop: {id: shop-0123456789abcdef, provider: shopify, verify: none}}\n"
    "rules: [{id: a, from: shop, actions: {log: x}}]\n"
)


@pytest.mark.parametrize("shared", [False, True])
async def test_it_leases_as_the_node_that_joined(tmp_path: Path, *, shared: bool) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    source = GenerationSource(path, environ={}, dev=False, overrides=Overrides())
    live = source.build()
    clock = steady()
    store = await open_store(str(tmp_path / "router.db"), clock=clock)
    store.shared = shared
    try:
        card = node_card(live, node_name(live.ruleset.server.store))
        assert (card.version, card.generation) == (__version__, live.ruleset.generation)
        joined = await join(store, card, clock)
        options = ServeOptions(path)
        server = Server(options, source, LiveRef(live), store, clock, Metrics(), joined)
        lease = server.dispatch.reserve("log", "log")
        assert lease is not None
        assert lease.startswith(f"{joined.node}/")
        assert (await server.running.unready() is None) is not shared, "others were not seen yet"
        loops = loops_of(server)
        assert "erasures" in loops, "they wait for jobs, and go on after a crash, with a file, too"
        assert {"nodes", "lateness"} <= loops.keys() or not shared
        assert not {"nodes", "lateness"} & loops.keys() or shared
        (seen,) = await store.reads.nodes()
        assert (seen.number, seen.card) == (joined.node, card)
    finally:
        await store.close()
