"""Work whose end a future tells: who hears what of it, once."""

import asyncio
from collections.abc import Callable

import pytest

from router.actions.begun import EndOfWork, waited_for
from router.dispatch.protocol import Cancel, Ended
from router.model.job import Done, FailOutcome, Outcome

PATIENCE_S = 20.0


class Work:
    """Concludes with `outcome`; its bad end comes when `gone` is set."""

    def __init__(self, outcome: Outcome | Exception | None = None) -> None:
        self.outcome = outcome
        self.end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.gone = asyncio.Event()
        self.told: list[Outcome | Exception] = []
        self.heard = asyncio.Event()
        self.failing = asyncio.Event()
        self.calls: list[str] = []

    def begin(self, ended: Ended | None = None, timeout_s: float = PATIENCE_S) -> Cancel:
        return EndOfWork(self, self.end, timeout_s, ended or self._ended).cancel

    def concluded(self) -> Outcome | None:
        self.calls.append("concluded")
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    async def failed(self, *, late: bool) -> Outcome:
        self.calls.append("late" if late else "failed")
        self.failing.set()
        await self.gone.wait()
        return FailOutcome("late" if late else "failed")

    async def broken_off(self) -> None:
        self.calls.append("broken off")
        await self.gone.wait()

    def _ended(self, outcome: Outcome | Exception) -> None:
        self.told.append(outcome)
        self.heard.set()


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_an_end_is_told_once() -> None:
    work = Work(Done({"by": "end"}))
    work.begin()
    assert work.told == [], "never from within"
    work.end.set_result(None)
    await work.heard.wait()
    assert work.told == [Done({"by": "end"})]


async def test_a_leak_is_told() -> None:
    work = Work(KeyError("leak"))
    work.begin()
    work.end.set_result(None)
    await work.heard.wait()
    assert [type(t) for t in work.told] == [KeyError]


@pytest.mark.parametrize("late", [False, True])
async def test_what_does_not_end_as_it_should_is_told_when_it_has_gone(late: bool) -> None:
    work = Work()
    work.begin(timeout_s=0.0 if late else PATIENCE_S)
    if not late:
        work.end.set_result(None)
    await work.failing.wait()
    if late:  # it does end while it is being ended
        work.end.set_result(None)
    await _turns()
    assert work.told == []
    work.gone.set()
    await work.heard.wait()
    await _turns()
    assert work.told == [FailOutcome("late" if late else "failed")]
    assert work.calls == (["late"] if late else ["concluded", "failed"])


def _before(work: Work) -> None:
    """Nothing has happened yet."""


def _ended(work: Work) -> None:
    work.end.set_result(None)


@pytest.mark.parametrize("when", [_before, _ended])
async def test_whoever_cancels_is_told_nothing_and_waits(when: Callable[[Work], None]) -> None:
    work = Work(Done())
    cancel = work.begin(timeout_s=0.0)
    when(work)
    ending = cancel()
    assert ending is not None
    broken = asyncio.ensure_future(ending)
    await _turns()
    assert not broken.done()
    work.gone.set()
    await broken
    await _turns()
    assert (work.told, work.calls) == ([], ["broken off"])


async def test_cancelling_what_is_being_ended_tells_nothing() -> None:
    work = Work()
    cancel = work.begin()
    work.end.set_result(None)
    await work.failing.wait()
    ending = cancel()
    assert ending is not None
    work.gone.set()
    await ending
    await _turns()
    assert work.told == []


async def test_a_cancelled_waiter_waits_until_the_work_is_broken_off() -> None:
    work = Work(Done())
    waiting = asyncio.create_task(waited_for(work.begin))
    await _turns()
    waiting.cancel()
    await _turns()
    assert not waiting.done()
    work.gone.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert work.calls == ["broken off"]


async def test_work_that_ended_before_its_waiter_was_cancelled_is_not_broken_off() -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, found: problems.append(found))
    work = Work(Done())
    waiting = asyncio.create_task(waited_for(work.begin))
    await _turns()
    work.end.set_result(None)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await _turns()
    assert (work.calls, problems) == (["concluded"], [])


async def test_a_waiter_gets_the_outcome_or_the_leak() -> None:
    for outcome in (Done(), KeyError("leak")):
        work = Work(outcome)
        waiting = asyncio.create_task(waited_for(work.begin))
        await _turns()
        work.end.set_result(None)
        if isinstance(outcome, Exception):
            with pytest.raises(KeyError):
                await waiting
        else:
            assert await waiting == Done()
