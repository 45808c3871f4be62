"""The signal: coalesced, bounded, and a listener that does not read delays nobody."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest

from router.clock import SystemClock
from router.model.settings import Limits
from router.web.admin.asgi import AsgiDoor
from router.web.budget import Budget
from router.web.connections import Wire
from router.web.load_shedding import LoadShedder
from router.web.server import Listener
from router.web.signal import (
    AT_ONCE,
    HEARTBEAT_S,
    LISTENERS_MAX,
    PAUSE_S,
    Signal,
    SignalFull,
)
from router.web.signal_stream import CHANGED, HEARTBEAT, HELLO, SignalStream
from tests.clocks import ManualClock, settle
from tests.waiting import until

ASK = b"GET /signal HTTP/1.1\r\nHost: h\r\n\r\n"


async def test_many_changes_are_one_signal() -> None:
    clock = ManualClock()
    signal = Signal(clock)
    loop = asyncio.ensure_future(signal.run())
    with signal.listening("a") as listener:
        told = 0
        for _ in range(10):
            signal.changed()
            await settle()
            told += listener.changed
            listener.changed = False
        assert told == 1
        await clock.advance(PAUSE_S)
        assert listener.changed
        assert listener.woken.is_set()
    loop.cancel()


async def test_a_change_before_somebody_listens_is_told_to_nobody() -> None:
    signal = Signal(ManualClock())
    loop = asyncio.ensure_future(signal.run())
    signal.changed()
    with signal.listening("a") as listener:
        await settle()
        assert not listener.changed
    loop.cancel()


async def test_all_listeners_are_told_a_few_in_a_turn() -> None:
    signal = Signal(ManualClock())
    loop = asyncio.ensure_future(signal.run())
    with ExitStack() as stack:
        several = [stack.enter_context(signal.listening("a")) for _ in range(5 * AT_ONCE)]
        await settle()
        signal.changed()
        told = []
        while not told or told[-1] < len(several):
            await asyncio.sleep(0)
            told.append(sum(one.changed for one in several))
        assert max(b - a for a, b in zip([0, *told], told, strict=False)) <= AT_ONCE
    loop.cancel()


async def test_a_heartbeat_is_no_change() -> None:
    clock = ManualClock()
    signal = Signal(clock)
    loop = asyncio.ensure_future(signal.beat())
    with signal.listening("a") as listener:
        for _ in range(3):
            await clock.advance(HEARTBEAT_S)
            assert listener.woken.is_set()
            assert not listener.changed
            listener.woken.clear()
    loop.cancel()


def test_listeners_are_bounded_and_a_place_is_free_again() -> None:
    signal = Signal(ManualClock())
    with ExitStack() as stack:
        for _ in range(LISTENERS_MAX):
            stack.enter_context(signal.listening("a"))
        with pytest.raises(SignalFull):
            stack.enter_context(signal.listening("a"))
        assert signal.heard.is_set()
    assert (signal.listeners, signal.heard.is_set()) == (0, False)
    with signal.listening("a"):
        assert signal.heard.is_set()


def test_one_caller_that_takes_all_places_gives_one_to_another() -> None:
    signal = Signal(ManualClock())
    with ExitStack() as stack:
        many = [stack.enter_context(signal.listening("viewer")) for _ in range(LISTENERS_MAX)]
        admin = [stack.enter_context(signal.listening("admin")) for _ in range(LISTENERS_MAX // 2)]
        assert [one.gone for one in many] == [True] * len(admin) + [False] * len(admin)
        for caller in ("viewer", "admin"):  # neither has more than the other
            with pytest.raises(SignalFull), signal.listening(caller):
                pass
        assert not any(one.gone for one in admin)
        assert signal.listeners == LISTENERS_MAX


def test_when_the_router_goes_down_listeners_go_and_nobody_comes() -> None:
    signal = Signal(ManualClock())
    with signal.listening("a") as listener:
        signal.end()
        assert listener.gone
    with pytest.raises(SignalFull), signal.listening("a"):
        pass
    with pytest.raises(SignalFull):
        SignalStream(signal, "a", yes)


# -- over a real connection


async def yes() -> bool:
    return True


@asynccontextmanager
async def serving(
    admitted: Callable[[], Awaitable[bool]] = yes, **limits: Any
) -> AsyncIterator[tuple[Signal, Listener]]:
    signal = Signal(SystemClock())

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        await SignalStream(signal, "a", admitted)(scope, receive, send)

    door = AsgiDoor(serve, Budget(1000, 1.0), LoadShedder())
    listener = Listener("127.0.0.1:0", Wire(Limits(**limits), door, linger_s=0.05))
    await listener.start()
    loops = asyncio.gather(signal.run(), signal.beat())
    try:
        yield signal, listener
    finally:
        loops.cancel()
        signal.end()
        await listener.stop(0.2)


async def opened(listener: Listener) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(*listener.bound)
    writer.write(ASK)
    assert b"\r\ncontent-type: text/event-stream" in await reader.readuntil(b"\r\n\r\n")
    await reader.readuntil(HELLO)
    return reader, writer


@pytest.mark.long
async def test_each_change_comes_while_the_answer_goes_on() -> None:
    async with serving(answer_s=0.1) as (signal, listener):
        reader, writer = await opened(listener)
        for _ in range(5):  # longer than an answer may take to begin
            signal.changed()
            await reader.readuntil(CHANGED)
        writer.close()
        await until(lambda: signal.listeners == 0)


@pytest.mark.long
async def test_who_may_no_more_is_let_go_and_told_nothing() -> None:
    """A token was revoked while its holder listened."""
    may = [True]

    async def admitted() -> bool:
        return may[0]

    async with serving(admitted) as (signal, listener):
        reader, writer = await opened(listener)
        signal.changed()
        await reader.readuntil(CHANGED)
        may[0] = False
        signal.changed()
        await until(lambda: signal.listeners == 0)
        assert CHANGED not in await reader.read()
        writer.close()


async def test_a_client_that_goes_is_gone_though_nothing_happens() -> None:
    async with serving() as (signal, listener):
        _, writer = await opened(listener)
        assert signal.listeners == 1
        writer.transport.abort()
        await until(lambda: signal.listeners == 0)


@pytest.mark.long
async def test_a_stalled_client_holds_a_flag_and_delays_nobody() -> None:
    async with serving() as (signal, listener):
        stalled, other = [await opened(listener) for _ in range(2)]
        assert signal.listeners == 2
        for _ in range(5):
            signal.changed()
            await other[0].readuntil(CHANGED)
        for _, writer in (stalled, other):
            writer.close()


async def test_the_end_of_the_router_ends_the_answer() -> None:
    async with serving(keep_alive_s=0.1) as (signal, listener):
        reader, writer = await opened(listener)
        signal.end()
        assert (await reader.read()).endswith(b"0\r\n\r\n")
        writer.close()


async def test_a_heartbeat_is_sent_as_a_comment() -> None:
    async with serving() as (signal, listener):
        reader, writer = await opened(listener)
        (one,) = signal._listeners
        one.woken.set()
        await reader.readuntil(HEARTBEAT)
        writer.close()
