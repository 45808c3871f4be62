"""Names to addresses: the system's answer, its errors, and no more questions than there is room."""

import asyncio
import socket
import threading
from typing import Any

import pytest

from router.actions import resolve
from router.actions.resolve import AT_ONCE, KEPT_MAX, KEPT_S, NameCache, system_lookup
from tests.waiting import until

HANGS_S = 5.0


async def test_an_address_is_reported_once() -> None:
    found = await system_lookup("127.0.0.1")
    assert found == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["no-such-name.invalid", "a" * 70 + ".invalid", "\udcff.invalid"])
async def test_a_name_that_leads_nowhere_is_an_os_error(host: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        await system_lookup(host)


async def test_an_error_of_the_resolver_is_reported_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    with pytest.raises(socket.gaierror, match="try again"):
        await system_lookup("erp.example")


async def test_addresses_keep_their_order_and_come_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def answered(*place: Any, **more: Any) -> Any:
        asked.append((*place, more))
        return [(0, 0, 0, "", (a, 0)) for a in ("192.0.2.2", "192.0.2.1", "192.0.2.2")]

    monkeypatch.setattr(socket, "getaddrinfo", answered)
    assert await system_lookup("erp.example") == ["192.0.2.2", "192.0.2.1"]
    assert asked == [("erp.example", None, {"type": socket.SOCK_STREAM})]


async def test_more_than_can_hang_are_refused_and_the_room_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert AT_ONCE == 32
    release = threading.Event()

    def hanging(*_: Any, **__: Any) -> Any:
        release.wait(HANGS_S)
        return [(0, 0, 0, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    waiting = [asyncio.create_task(system_lookup("erp.example")) for _ in range(AT_ONCE)]
    await asyncio.sleep(0)
    assert all(thread.daemon for thread in threading.enumerate() if "_ask" in thread.name)
    with pytest.raises(OSError, match="too many look-ups are waiting"):
        await system_lookup("erp.example")
    gone = waiting.pop()
    gone.cancel()
    release.set()
    assert await asyncio.gather(*waiting) == [["192.0.2.1"]] * (AT_ONCE - 1)
    assert await system_lookup("erp.example") == ["192.0.2.1"]


async def test_a_caller_that_went_away_hears_nothing() -> None:
    """Neither an answer nor an error is told to a future that is done."""
    loop = asyncio.get_running_loop()
    for found in (["192.0.2.1"], OSError("no")):
        gone: asyncio.Future[list[str]] = loop.create_future()
        gone.cancel()
        resolve._answered(gone, found)
        assert gone.cancelled()


def test_an_answer_after_the_loop_was_closed_is_nobody_s() -> None:
    loop = asyncio.new_event_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()
    loop.close()
    assert resolve._slots.acquire(blocking=False)
    resolve._ask("127.0.0.1", loop, answer)
    assert not answer.done()


# -- what is kept of the answers -----------------------------------------------------------------


async def test_a_name_is_asked_for_once_in_ten_seconds_and_its_addresses_take_turns() -> None:
    asked, now = [], 0.0

    async def lookup(host: str) -> list[str]:
        asked.append(host)
        return ["192.0.2.1", "192.0.2.2", "192.0.2.3"]

    names = NameCache(lookup, lambda: now)
    firsts = [(await names.addresses("erp.example"))[0] for _ in range(4)]
    assert firsts == ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1"]
    assert sorted(await names.addresses("erp.example")) == ["192.0.2.1", "192.0.2.2", "192.0.2.3"]
    now = KEPT_S - 0.001
    await names.addresses("erp.example")
    assert asked == ["erp.example"]
    now = KEPT_S
    await names.addresses("erp.example")
    assert asked == ["erp.example"] * 2


async def test_who_asks_at_once_gets_the_same_answer_whoever_gives_up() -> None:
    asked, answer = [], asyncio.Event()

    async def lookup(host: str) -> list[str]:
        asked.append(host)
        await answer.wait()
        return ["192.0.2.1"]

    names = NameCache(lookup)
    one, other = (asyncio.ensure_future(names.addresses("erp.example")) for _ in range(2))
    await until(lambda: asked)
    one.cancel()
    answer.set()
    assert await other == ["192.0.2.1"]
    assert asked == ["erp.example"]


@pytest.mark.parametrize("nothing", [[], None])
async def test_a_name_without_an_address_is_asked_for_again(nothing: list[str] | None) -> None:
    answers = [nothing, ["192.0.2.1"]]

    async def lookup(_host: str) -> list[str]:
        if (found := answers.pop(0)) is None:
            raise OSError("SERVFAIL")
        return found

    names = NameCache(lookup)
    with pytest.raises(OSError, match=r".+"):
        await names.addresses("erp.example")
    assert await names.addresses("erp.example") == ["192.0.2.1"]


async def test_only_so_many_names_are_kept() -> None:
    async def lookup(_host: str) -> list[str]:
        return ["192.0.2.1"]

    names = NameCache(lookup)
    for number in range(KEPT_MAX + 1):
        await names.addresses(f"erp{number}.example")
    assert len(names._known) == 1


async def test_a_closed_cache_leaves_no_question_open() -> None:
    async def hangs(_host: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    names = NameCache(hangs)
    waiting = asyncio.ensure_future(names.addresses("erp.example"))
    await until(lambda: names._asking)
    names.close()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert names._asking == {}
