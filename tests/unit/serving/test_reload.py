"""Reload swaps one reference, or changes nothing."""

import asyncio
from collections.abc import Callable

from router import log
from router.errors import ConfigError, Diagnostic, SecretMissing
from router.metrics import Metrics
from router.rules.live import Live, LiveRef, Secrets
from router.serving.reload import POLL_S, Reloader, Steps
from tests.builders import a_job, a_log, a_rule, a_ruleset
from tests.clocks import ManualClock, settle


def live(generation: str, *rules: str) -> Live:
    """A generation with these rules."""
    made = a_ruleset(*(a_rule(r, actions=(a_log(),)) for r in rules), generation=generation)
    return Live(made, Secrets({}, {}))


class World:
    """A reloader over a list of results and a fingerprint one can change."""

    def __init__(self, *results: Live | Exception) -> None:
        self.results = list(results)
        self.kept: list[str] = []
        self.print = "a"
        self.clock = ManualClock()
        self.ref = LiveRef(live("g0", "old", "both"))
        steps = Steps(
            fingerprint=lambda: self.print,
            build=self.build,
            keep=self.keep,
            after=self.after,
            render=lambda error: error.diagnostics[0].message,
        )
        self.reloader = Reloader(
            steps, live=self.ref, clock=self.clock, log=log.get("test"), metrics=Metrics()
        )

    def build(self) -> Live:
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    async def keep(self, new: Live) -> None:
        self.kept.append(new.ruleset.generation)

    async def after(self) -> None:
        self.kept.append("held")

    @property
    def generation(self) -> str:
        """The one in force."""
        return self.ref.current.ruleset.generation


async def test_a_good_file_is_kept_then_swapped() -> None:
    """What only the old one knows stays reachable for its jobs."""
    world = World(live("g1", "both", "new"))
    assert await world.reloader.reload()
    assert (world.generation, world.kept) == ("g1", ["g1", "held"])
    found = world.ref.action_of(a_job(rule="old", action="log"))
    assert found is not None
    assert found[0].ruleset.generation == "g0"
    today = world.ref.action_of(a_job(rule="both", action="log"))
    assert today is not None
    assert today[0].ruleset.generation == "g1"


async def test_a_broken_file_keeps_the_old_one_and_says_so() -> None:
    """The diagnostics are what status and log show."""
    world = World(ConfigError((Diagnostic(code="x", message="no such key"),)))
    assert not await world.reloader.reload()
    assert (world.generation, world.kept) == ("g0", [])
    assert (world.reloader.state.ok, world.reloader.state.error) == (False, "no such key")


async def test_a_missing_secret_keeps_the_old_one_and_a_mended_file_clears_it() -> None:
    """State follows the last try."""
    world = World(SecretMissing("secret a: A is not set"), live("g1"))
    await world.reloader.reload()
    assert world.reloader.state.error == "secret a: A is not set"
    await world.reloader.reload()
    assert (world.reloader.state.ok, world.generation) == (True, "g1")


async def test_a_rule_that_comes_back_is_todays_again() -> None:
    """No stale copy is used."""
    world = World(live("g1"), live("g2", "old"))
    await world.reloader.reload()
    await world.reloader.reload()
    found = world.ref.action_of(a_job(rule="old", action="log"))
    assert found is not None
    assert found[0].ruleset.generation == "g2"


async def test_the_watch_reloads_when_the_content_differs() -> None:
    """And only then."""
    world = World(live("g1"))
    watch = asyncio.ensure_future(world.reloader.watch())
    await turns(lambda: world.clock._sleepers)
    await world.clock.advance(POLL_S)
    assert world.generation == "g0"
    await turns(lambda: world.clock._sleepers)
    world.print = "b"
    await world.clock.advance(POLL_S)
    await turns(lambda: world.generation == "g1")
    watch.cancel()
    assert world.generation == "g1"


async def turns(done: Callable[[], object]) -> None:
    """Let threads and tasks run until `done`."""
    async with asyncio.timeout(10):
        while not done():
            await settle(1)
