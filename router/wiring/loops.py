"""What a serving router does for as long as it runs, beside answering."""

from functools import partial
from typing import TYPE_CHECKING

from router import log as logs
from router.serving.lateness import watch_lateness
from router.serving.process import Loop
from router.serving.store_changes import StoreChanges

if TYPE_CHECKING:
    from router.wiring.server import Server


def loops_of(server: "Server") -> dict[str, Loop]:
    """By the name that a message gives a loop that has ended."""
    loops: dict[str, Loop] = {
        "dispatch": server.dispatch.run,
        "upkeep": server.upkeep.run,
        "redaction": server.redaction.run,
        "erasures": server.verbs.erasures.watch,
        "counting": server.counting.run,
        "own": lambda: server.writer.run(server.watches),
        "watch": server.reloader.watch,
        "ranges": server.published.ranges.run,
        "keys": server.keys.run,
        "visits": server.visits.run,
        "recoveries": server.recoveries.run,
        "signal": server.signal.run,
        "heartbeats": server.signal.beat,
        "clock": server.clock_sync.run,
        "loop": partial(watch_lateness, server.clock, server.metrics.loop_late),
    }
    if server.manager.watchdog_s:
        loops["manager"] = server.manager.watch
    if not server.store.shared:
        return loops
    changes = StoreChanges(
        server.signal, server.store.reads, clock=server.clock, log=logs.get("signal")
    )
    return loops | {
        "changes": changes.run,
        "nodes": server.nodes.run,
        "lateness": server.nodes.watch,
        "replays": server.verbs.replays.watch,
    }
