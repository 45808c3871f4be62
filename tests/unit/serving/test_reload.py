"""Reload swaps one reference, or changes nothing."""

import asyncio
import errno
import io
import json
import os
from collections.abc import Callable, Iterator

import pytest

from router import log
from router.errors import (
    ConfigError,
    Diagnostic,
    RouterError,
    SecretMissing,
    StoreUnavailable,
    UsageError,
)
from router.metrics import Metrics
from router.model.settings import Dedupe, Endpoint, Reload, ServerSettings
from router.rules.live import LiveRef, LiveRuleset, SecretValues
from router.serving.reload import (
    AGAIN_S,
    POLL_S,
    READS,
    SETTLE_S,
    Reloader,
    ReloadSteps,
    differences,
)
from tests.builders import a_job, a_log, a_rule, a_ruleset
from tests.clocks import ManualClock, settle


def live(generation: str, *rules: str, **server: object) -> LiveRuleset:
    """A generation with these rules."""
    made = a_ruleset(
        *(a_rule(r, actions=(a_log(),)) for r in rules),
        generation=generation,
        server=ServerSettings(**server),  # type: ignore[arg-type]
    )
    return LiveRuleset(made, SecretValues({}, {}))


class World:
    """A reloader over a list of results and a fingerprint one can change."""

    def __init__(self, *results: LiveRuleset | Exception, lack: OSError | None = None) -> None:
        self.results = list(results)
        self.kept: list[str] = []
        self.said: list[str] = []
        self.print = "a"
        self.prints: list[str] = []
        self.lack = lack
        self.unproved: RouterError | None = None
        self.away: StoreUnavailable | None = None
        self.metrics = Metrics()
        self.clock = ManualClock()
        self.ref = LiveRef(live("g0", "old", "both"))
        steps = ReloadSteps(
            fingerprint=self.fingerprint,
            build=self.build,
            keep=self.keep,
            after=self.after,
            render=lambda error: error.diagnostics[0].message,
            prove=self.prove,
            begins=lambda: self.said.append("begins"),
            ends=lambda _state: self.said.append("ends"),
        )
        self.reloader = Reloader(
            steps, live=self.ref, clock=self.clock, log=log.get("test"), metrics=self.metrics
        )

    def fingerprint(self) -> str:
        if self.lack is not None:
            raise self.lack
        return self.prints.pop(0) if self.prints else self.print

    def build(self) -> LiveRuleset:
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    async def prove(self, new: LiveRuleset) -> None:
        if self.unproved is not None:
            raise self.unproved

    async def keep(self, new: LiveRuleset) -> None:
        if self.away is not None:
            raise self.away
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
    await turns(lambda: world.clock._sleepers)
    assert world.generation == "g0", "somebody may still be writing"
    await world.clock.advance(SETTLE_S)
    await turns(lambda: world.generation == "g1")
    watch.cancel()
    assert world.generation == "g1"


async def test_a_file_that_is_still_written_is_waited_for() -> None:
    """Half of a file may be a right file."""
    world = World(live("whole"))
    watch = asyncio.ensure_future(world.reloader.watch())
    for piece, wait in (("b", POLL_S), ("c", SETTLE_S), ("d", SETTLE_S)):
        await turns(lambda: world.clock._sleepers)
        world.print = piece
        await world.clock.advance(wait)
        assert world.generation == "g0"
    await turns(lambda: world.clock._sleepers)
    await world.clock.advance(SETTLE_S)
    await turns(lambda: world.generation == "whole")
    watch.cancel()


async def test_files_that_change_while_they_are_read_are_read_again() -> None:
    """A generation never is half of one moment and half of another."""
    world = World(live("mixed"), live("whole"))
    world.prints = ["b", "c", "d", "d"]
    assert await world.reloader.reload()
    assert (world.generation, world.kept) == ("whole", ["whole", "held"])


async def test_files_that_never_rest_are_a_failed_reload() -> None:
    world = World(*[live("mixed")] * READS)
    world.prints = [str(n) for n in range(2 * READS)]
    assert not await world.reloader.reload()
    assert world.reloader.state.error == "the files keep changing while they are read"


async def test_a_file_whose_tests_fail_is_never_in_force_nor_kept() -> None:
    world = World(live("g1"), live("g1"))
    world.unproved = UsageError("1 of 2 tests of rules.yaml failed: a large order")
    assert not await world.reloader.reload()
    assert (world.generation, world.kept) == ("g0", [])
    assert "a large order" in str(world.reloader.state.error)
    assert (world.metrics.value("router_reload_ok"), world.reloader.state.failures) == (0, 1)
    world.unproved = None
    assert await world.reloader.reload()
    assert (world.metrics.value("router_reload_ok"), world.reloader.state.failures) == (1, 0)
    assert world.said == ["begins", "ends"] * 2


async def test_a_fault_of_our_own_ends_a_reload_not_the_router() -> None:
    world = World(MemoryError("too much"))
    assert not await world.reloader.reload()
    assert world.reloader.state.error == "MemoryError: too much"


async def test_a_watch_that_is_off_leaves_it_to_the_signal() -> None:
    world = World(live("g1"))
    world.ref.swap(live("g0", reload=Reload(watch=False)))
    watch = asyncio.ensure_future(world.reloader.watch())
    world.print = "b"
    for _ in range(3):
        await turns(lambda: world.clock._sleepers)
        await world.clock.advance(POLL_S)
    assert world.generation == "g0"
    assert await world.reloader.reload()
    watch.cancel()


async def test_what_changed_is_said_by_name() -> None:
    """Also in the status, until another reload changes something."""
    new = live("g1", "both", "new", grace_s=5, listen="0.0.0.0:1")
    assert differences(live("g0", "old", "both").ruleset, new.ruleset) == {
        "added": ["new"],
        "removed": ["old"],
        "changed": [],
        "settings": ["server.listen", "server.grace_s"],
        "needs_restart": ["listen"],
    }
    world = World(new, new)
    await world.reloader.reload()
    await world.reloader.reload()
    assert world.reloader.state.changes["added"] == ["new"]


def test_what_is_read_at_the_start_alone_is_said() -> None:
    found = differences(live("g0").ruleset, live("g1", state_dir="/var/lib/router").ruleset)
    assert found["needs_restart"] == ["state_dir"]


async def turns(done: Callable[[], object]) -> None:
    """Let threads and tasks run until `done`."""
    async with asyncio.timeout(10):
        while not done():
            await settle(1)


async def test_late_answers_are_shown_before_there_is_one() -> None:
    """A counter that appears at 1 has not grown, for whoever watches its growth."""
    mine = Endpoint("code", "gitlab", ("/wh_y",), ("hub",), dedupe=Dedupe())
    ruleset = a_ruleset(generation="g1", endpoints={"code": mine})
    world = World(LiveRuleset(ruleset, SecretValues({}, {})))
    line = 'router_ack_late_total{provider="%s"} 0.0'
    assert line % "shopify" in world.metrics.render().decode()
    assert line % "gitlab" not in world.metrics.render().decode()
    await world.reloader.reload()
    assert line % "gitlab" in world.metrics.render().decode()


async def test_what_the_store_could_not_keep_is_tried_again_though_no_file_changes() -> None:
    world = World(live("g1"), live("g1"), live("g2"))
    watch = asyncio.ensure_future(world.reloader.watch())
    world.print, world.away = "b", StoreUnavailable("disk full")
    await looks(world, POLL_S)
    await looks(world, SETTLE_S)
    assert (world.reloader.state.error, world.reloader.state.failures) == ("disk full", 1)
    world.away = None
    for _ in range(int(AGAIN_S) - 1):
        await looks(world, POLL_S)
    assert (world.generation, len(world.results)) == ("g0", 2), "not at every look"
    await looks(world, POLL_S)
    await looks(world, SETTLE_S)
    assert (world.generation, world.reloader.state.ok) == ("g1", True)
    for _ in range(int(AGAIN_S) + 1):
        await looks(world, POLL_S)
    assert len(world.results) == 1, "kept is kept"
    watch.cancel()


# -- nothing can be read now -----------------------------------------------------------------------

NO_FILES = OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    """What the log says."""
    out = io.StringIO()
    log.configure(stream=out)
    yield out
    log.reset()


def said(lines: io.StringIO) -> list[tuple[str, str | None]]:
    """Each line of the log with its error."""
    found = [json.loads(line) for line in lines.getvalue().splitlines()]
    return [(line["event"], line.get("error")) for line in found]


BLIND = ("the rules file cannot be looked at now, the rules in force stay", "Too many open files")


async def looks(world: World, seconds: float) -> None:
    await turns(lambda: world.clock._sleepers)
    await world.clock.advance(seconds)
    await turns(lambda: world.clock._sleepers)
    await settle()  # the log is written in the loop's next turn


async def test_a_want_of_descriptors_is_reported_once_and_is_no_fault_of_the_rules(
    lines: io.StringIO,
) -> None:
    world = World(live("g1"))
    watch = asyncio.ensure_future(world.reloader.watch())
    world.lack = NO_FILES
    for _ in range(3):
        await looks(world, POLL_S)
    assert said(lines) == [BLIND]
    assert (world.reloader.state.ok, world.reloader.state.failures) == (True, 0)
    world.lack = None
    await looks(world, POLL_S)
    assert (world.generation, world.said) == ("g0", []), "nothing has changed"
    world.lack = NO_FILES
    await looks(world, POLL_S)
    assert said(lines) == [BLIND, BLIND], "another time"
    world.lack, world.print = None, "b"
    await looks(world, POLL_S)
    await world.clock.advance(SETTLE_S)
    await turns(lambda: world.generation == "g1")
    watch.cancel()
    assert world.generation == "g1"


async def test_what_cannot_be_seen_any_more_while_it_settles_waits(lines: io.StringIO) -> None:
    world = World(live("g1"))
    watch = asyncio.ensure_future(world.reloader.watch())
    world.print = "b"
    await looks(world, POLL_S)
    world.lack = NO_FILES
    await looks(world, SETTLE_S)
    assert (world.said, said(lines)) == ([], [BLIND])
    world.lack = None
    await looks(world, POLL_S)
    await world.clock.advance(SETTLE_S)
    await turns(lambda: world.generation == "g1")
    watch.cancel()
    assert world.generation == "g1"


def unreadable() -> UsageError:
    """As reading the rules file raises it: the cause is not shown."""
    try:
        try:
            raise NO_FILES
        except OSError as error:
            raise UsageError(f"cannot read rules.yaml: {error.strerror}") from None
    except UsageError as error:
        return error


INCLUDED = ConfigError(
    (Diagnostic(code="bad-include", message="cannot read 'a.yaml': Too many open files"),)
)


@pytest.mark.parametrize("fault", [NO_FILES, unreadable(), INCLUDED], ids=["os", "file", "part"])
async def test_a_changed_file_that_cannot_be_read_now_is_read_by_the_next_look(
    lines: io.StringIO, fault: Exception
) -> None:
    world = World(fault, live("g1"))
    watch = asyncio.ensure_future(world.reloader.watch())
    world.print = "b"
    await looks(world, POLL_S)
    await looks(world, SETTLE_S)
    assert (world.generation, world.said, said(lines)) == ("g0", ["begins", "ends"], [BLIND])
    state = world.reloader.state
    assert (state.ok, state.failures, state.unread) == (True, 0, "Too many open files")
    await looks(world, POLL_S)
    await world.clock.advance(SETTLE_S)
    await turns(lambda: world.generation == "g1")
    watch.cancel()
    assert (world.generation, state.ok, state.unread) == ("g1", True, None)


async def test_whoever_asks_for_a_reload_then_hears_of_it(lines: io.StringIO) -> None:
    world = World(live("g1"))
    world.lack = NO_FILES
    assert not await world.reloader.reload()
    assert (world.reloader.state.ok, world.reloader.state.unread) == (True, "Too many open files")
    world.lack = None
    assert await world.reloader.reload()
    assert world.reloader.state.unread is None
    world.lack = NO_FILES
    assert not await world.reloader.reload()
    await settle()
    assert [line for line in said(lines) if line[1]] == [BLIND, BLIND]


async def test_a_moment_in_which_nothing_can_be_seen_is_no_change() -> None:
    world = World(live("g1"))
    watch = asyncio.ensure_future(world.reloader.watch())
    world.lack = NO_FILES
    await looks(world, POLL_S)
    world.lack = None
    for _ in range(3):
        await looks(world, SETTLE_S)
    watch.cancel()
    assert world.said == []


async def test_a_router_that_starts_blind_looks_again(lines: io.StringIO) -> None:
    world = World(live("g1"), lack=NO_FILES)
    watch = asyncio.ensure_future(world.reloader.watch())
    await settle()
    assert said(lines) == [BLIND]
    world.lack = None
    await looks(world, POLL_S)
    await world.clock.advance(SETTLE_S)
    await turns(lambda: world.generation == "g1")
    watch.cancel()
    assert world.generation == "g1"


async def test_other_faults_of_the_disk_are_a_failed_reload() -> None:
    world = World(OSError(errno.EACCES, "Permission denied"))
    assert not await world.reloader.reload()
    assert (world.reloader.state.ok, world.reloader.state.unread) == (False, None)
