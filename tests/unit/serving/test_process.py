"""From ready to gone."""

import asyncio
import os
import signal
from typing import Any

import pytest

from router import log
from router.errors import UsageError
from router.serving.process import RESTARTS_S, STEADY_S, Process, Shutdown
from tests.clocks import JumpingClock


class Listener:
    """Notes what it is told."""

    def __init__(self, notes: list[str], name: str) -> None:
        self.notes, self.name = notes, name

    async def start(self) -> None:
        self.notes.append(f"start {self.name}")

    async def stop(self, grace_s: float) -> None:
        self.notes.append(f"stop {self.name}")


class Dispatch:
    """Drains when told, or hangs for its whole grace."""

    def __init__(self, notes: list[str], *, hangs: bool = False) -> None:
        self.notes, self.hangs = notes, hangs

    async def drain(self, grace_s: float) -> None:
        self.notes.append(f"drain {grace_s}")
        if self.hangs and grace_s:
            await asyncio.Event().wait()


def a_process(notes: list[str], left: list[float] | None = None, **given: Any) -> Process:
    """A process with one listener and one idle loop; `left` gets the times it has left."""
    left = [] if left is None else left

    async def idle() -> None:
        await asyncio.Event().wait()

    async def reload() -> bool:
        notes.append("reload")
        return True

    values: dict[str, Any] = {
        "listeners": [Listener(notes, "public")],
        "loops": {"idle": idle},
        "dispatch": Dispatch(notes),
        "store_failed": asyncio.get_running_loop().create_future(),
        "reload": reload,
        "shutdown": Shutdown(
            grace_s=lambda: 20.0,
            begins=lambda: notes.append("not ready"),
            ends_within=left.append,
        ),
        "clock": JumpingClock(),
        "log": log.get("test"),
    }
    return Process(**{**values, **given})


async def test_sigterm_drains_and_exits_0() -> None:
    """Readiness goes first."""
    notes: list[str] = []
    code = await a_process(notes).run(lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert code == 0
    assert notes == ["start public", "not ready", "drain 20.0", "stop public"]


async def test_a_second_signal_ends_the_grace() -> None:
    """Running work is ended at once."""
    notes: list[str] = []

    def twice() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), signal.SIGTERM)

    async with asyncio.timeout(5):
        await a_process(notes, dispatch=Dispatch(notes, hangs=True)).run(twice)
    assert notes[-1] == "drain 0"


async def test_whoever_watches_the_end_hears_how_long_it_may_take() -> None:
    """The grace and a little more; after a second signal only the little."""
    notes: list[str] = []
    left: list[float] = []
    process = a_process(notes, left, dispatch=Dispatch(notes, hangs=True))

    def twice() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        asyncio.get_running_loop().call_later(0.01, os.kill, os.getpid(), signal.SIGTERM)

    async with asyncio.timeout(5):
        await process.run(twice)
    assert left == [25.0, 5.0]


async def test_sighup_reloads() -> None:
    """And goes on serving."""
    notes: list[str] = []

    def ready() -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGTERM)

    assert await a_process(notes).run(ready) == 0
    assert "reload" in notes


async def test_a_failed_store_ends_the_process_with_1() -> None:
    """It must not go on acking."""
    notes: list[str] = []
    failed = asyncio.get_running_loop().create_future()
    code = await a_process(notes, store_failed=failed).run(lambda: failed.set_result("EIO"))
    assert (code, notes[-1]) == (1, "stop public")


ENOUGH = 6
"""Starts that no part has in a row."""


class Part:
    """A loop that ends each time, after `lives_s`, by an error or by returning."""

    def __init__(self, error: BaseException | None, lives_s: float = 0.0) -> None:
        self.error, self.lives_s, self.starts = error, lives_s, 0
        self.clock = JumpingClock()
        self.enough = asyncio.Event()

    async def run(self) -> None:
        self.starts += 1
        if self.starts > ENOUGH:
            self.enough.set()
            await asyncio.Event().wait()
        self.clock.elapsed += self.lives_s
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [RuntimeError("defect"), asyncio.CancelledError(), None])
async def test_a_part_that_ends_is_started_again_three_times(error: BaseException | None) -> None:
    """Then the process ends: a router without its dispatch is no router."""
    part = Part(error)
    process = a_process([], loops={"dispatch": part.run}, clock=part.clock)
    async with asyncio.timeout(5):
        assert await process.run(lambda: None) == 1
    assert (part.starts, part.clock.slept) == (1 + 3, list(RESTARTS_S))


async def test_a_part_that_ran_for_long_gets_its_restarts_anew() -> None:
    part = Part(RuntimeError("defect"), STEADY_S)
    process = a_process([], loops={"dispatch": part.run}, clock=part.clock)
    run = asyncio.create_task(process.run(lambda: None))
    async with asyncio.timeout(5):
        await part.enough.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        assert await run == 0


class Taken(Listener):
    """An address that another server has."""

    async def start(self) -> None:
        raise UsageError("cannot listen on 127.0.0.1:8000: the address is in use")


async def test_an_address_in_use_ends_what_has_begun() -> None:
    """Before the store closes: a loop that still ran would find it gone and cry out."""
    notes: list[str] = []

    async def loop() -> None:
        notes.append("loop begins")
        try:
            await asyncio.Event().wait()
        finally:
            notes.append("loop ends")

    class Admin(Listener):
        async def start(self) -> None:
            await super().start()
            await asyncio.sleep(0)  # the loops get their turn

    listeners = [Admin(notes, "admin"), Taken(notes, "public")]
    process = a_process(notes, listeners=listeners, loops={"dispatch": loop})
    with pytest.raises(UsageError, match="in use"):
        await process.run(lambda: notes.append("ready"))
    assert notes == [
        *("start admin", "loop begins"),
        *("stop admin", "stop public", "drain 0", "loop ends"),
    ]
