"""What a serving router does for as long as it runs, beside answering."""

from functools import partial
from typing import TYPE_CHECKING

from router.serving.lateness import watch_lateness
from router.serving.process import Loop

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
        "feed": server.feed.run,
        "heartbeats": server.feed.beat,
        "loop": partial(watch_lateness, server.clock, server.metrics.loop_late),
    }
    if server.manager.watchdog_s:
        loops["manager"] = server.manager.watch
    if server.shared_feed is not None:
        loops["shared feed"] = partial(server.shared_feed.run, lambda: server.nodes.node)
    if not server.store.shared:
        return loops | {"clock": server.clock_sync.run}
    return loops | {  # the clock is the store's
        "nodes": server.nodes.run,
        "lateness": server.nodes.watch,
        "replays": server.verbs.replays.watch,
    }
