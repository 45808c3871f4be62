"""Nothing is read, matched or stored before a request has proved itself."""

from typing import Any

import msgspec

from router.providers import builtin
from router.store.sqlite.store import SqliteStore
from router.store.values import Selector
from tests.builders import a_rule, a_ruleset
from tests.unit.intake.test_intake import World


class Watched:
    """A provider that writes down, in order, what it is asked to do with a request."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._provider, name)
        if name in ("judge", "read"):
            self.asked.append(name)
        return found


def watched_world(store: SqliteStore) -> tuple[World, Watched]:
    watched = Watched(builtin()["shopify"])
    ruleset = msgspec.structs.replace(
        a_ruleset(a_rule("r")), providers={"shopify": watched, "commerce": watched}
    )
    return World(store, ruleset), watched


async def test_what_is_genuine_is_read_after_it_was_verified(store: SqliteStore) -> None:
    world, watched = watched_world(store)
    assert (await world.send()).status == 200
    assert watched.asked == ["judge", "read"]


async def test_a_forgery_is_not_read(store: SqliteStore) -> None:
    world, watched = watched_world(store)
    assert (await world.send(b"[" * 1000, key=b"another-key-altogether")).status == 401
    assert watched.asked == ["judge"]
    assert await store.reads.deliveries(Selector()) == ()
