"""Calls that are made together: their order, how many at a time, and what keeps them apart."""

import asyncio
from collections.abc import Sequence

import pytest

from router.store.postgres.merging import Merged
from tests.clocks import settle


class Work:
    """Answers what it is asked in capitals, when it may."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._ends: list[asyncio.Future[None]] = []

    async def __call__(self, items: Sequence[str]) -> Sequence[str]:
        self.calls.append("".join(items))
        end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ends.append(end)
        await end
        return [item.upper() for item in items]

    async def end(self, call: int) -> None:
        """That call goes through."""
        self._ends[call].set_result(None)
        await settle()


@pytest.fixture
def work() -> Work:
    return Work()


async def test_what_comes_meanwhile_goes_together(work: Work) -> None:
    merged = Merged(work)
    asked = [merged.do("ab")]
    await settle()
    asked += [merged.do("c"), merged.do(""), merged.do("de")]
    await settle()
    assert work.calls == ["ab"]
    await work.end(0)
    assert work.calls == ["ab", "cde"]
    await work.end(1)
    assert ["".join(await one) for one in asked] == ["AB", "C", "", "DE"]
    last = merged.do("f")
    await settle()
    await work.end(2)
    assert await last == ["F"]


async def test_who_has_been_answered_asks_again_at_once() -> None:
    async def work(items: Sequence[str]) -> Sequence[str]:
        return items

    merged = Merged(work)
    assert ["".join(await merged.do(text)) for text in "abc"] == ["a", "b", "c"]


async def test_so_many_calls_at_a_time(work: Work) -> None:
    merged = Merged(work, at_once=2)
    for text in "abcd":
        merged.do(text)
        await settle()
    assert work.calls == ["a", "b"]
    await work.end(1)
    assert work.calls == ["a", "b", "cd"]


async def test_what_is_asked_in_one_turn_is_one_call(work: Work) -> None:
    merged = Merged(work, at_once=2)
    for text in "abcd":
        merged.do(text)
    await settle()
    assert work.calls == ["abcd"]


async def test_a_call_takes_what_fits_from_the_front(work: Work) -> None:
    merged = Merged(work, load=lambda items: len(items) / 3)
    for text in ("abcde", "fg", "h", "i", "jkl"):
        merged.do(text)
    await settle()
    for call in range(4):
        await work.end(call)
    assert work.calls == ["abcde", "fgh", "i", "jkl"]


async def test_what_has_a_key_in_common_is_one_after_the_other(work: Work) -> None:
    merged = Merged(work, at_once=2, keys=set)
    merged.do("ab")
    await settle()
    for text in ("c", "dbd", "e"):
        merged.do(text)
    await settle()
    assert work.calls == ["ab", "c"]
    await work.end(1)
    assert work.calls == ["ab", "c"]
    await work.end(0)
    assert work.calls == ["ab", "c", "dbde"]
    merged.do("a")
    await settle()
    assert work.calls[3:] == ["a"]


async def test_who_no_longer_waits_stops_nothing(work: Work) -> None:
    merged = Merged(work)
    gone, other = merged.do("a"), merged.do("b")
    await settle()
    gone.cancel()
    await work.end(0)
    assert await other == ["B"]


async def test_an_error_is_everybody_s_whose_items_were_in_the_call() -> None:
    async def work(items: Sequence[str]) -> Sequence[str]:
        if "!" in items:
            raise ValueError(items)
        return items

    merged = Merged(work, load=lambda items: len(items) / 2)
    asked = [merged.do("a"), merged.do("!"), merged.do("b")]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in found] == [ValueError, ValueError, list]


async def test_at_the_end_everything_has_been_answered(work: Work) -> None:
    merged = Merged(work)
    asked = [merged.do("a")]
    await settle()
    asked += [merged.do("b")]
    closing = asyncio.create_task(merged.close())
    await work.end(0)
    assert not closing.done()
    await work.end(1)
    await closing
    assert all(one.done() for one in asked)
