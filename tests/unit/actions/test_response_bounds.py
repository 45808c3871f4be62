"""What may come over a connection before and beside an answer's content, to the byte."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from router.actions.http import HttpAction
from router.actions.plain_http.response import (
    FRAMING_MAX,
    INTERIM_BYTES_MAX,
    INTERIM_MAX,
    PIECE,
)
from router.actions.response_bounds import BoundedProtocol
from router.egress import EgressPolicy
from router.model.job import Done, Outcome, RetryOutcome
from tests.fake_transport import FakeTransport
from tests.hostile.targets import CHUNKED, CONTINUE, HINT, HINT_LINE, OK, SHORT, Wire, serving
from tests.sim.makers import a_job, an_http_call

END = b"\r\n\r\n"


Answered = Callable[[bytes], Awaitable[Outcome]]


@pytest.fixture
def answered(plain: bool) -> Answered:
    """What comes of a call that is answered so."""

    async def called(data: bytes) -> Outcome:
        async def script(wire: Wire) -> None:
            await wire.request()
            await wire.say(data)
            await wire.nothing()

        action = HttpAction(EgressPolicy(), plain=plain)
        async with serving(script) as (url, _):
            outcome = await action.run(an_http_call(url), a_job())
            await action.close()
        return outcome

    return called


def _head(begin: bytes, size: int) -> bytes:
    """A head of so many bytes in headers of at most 8,000."""
    room = size - len(begin) - len(b"\r\n")
    while room > 16_000:
        begin += b"A: " + b"a" * 7_995 + b"\r\n"
        room -= 8_000
    for part in (room // 2, room - room // 2):
        begin += b"A: " + b"a" * (part - 5) + b"\r\n"
    return begin + b"\r\n"


def test_what_the_heads_of_these_tests_measure() -> None:
    assert len(_head(HINT_LINE, INTERIM_BYTES_MAX)) == INTERIM_BYTES_MAX
    assert len(_head(OK, FRAMING_MAX)) == FRAMING_MAX


@pytest.mark.parametrize("interim", [HINT, CONTINUE])
async def test_how_many_interim_answers(interim: bytes, answered: Answered) -> None:
    assert isinstance(await answered(interim * INTERIM_MAX + SHORT), Done)
    assert await answered(interim * (INTERIM_MAX + 1) + SHORT) == RetryOutcome(
        "network", "more than 16 interim answers (1xx) came"
    )


@pytest.mark.parametrize("parts", [1, 2])
async def test_how_many_bytes_of_interim_answers(parts: int, answered: Answered) -> None:
    size = INTERIM_BYTES_MAX // parts
    interim = _head(HINT_LINE, size) * (parts - 1)
    assert isinstance(await answered(interim + _head(HINT_LINE, size) + SHORT), Done)
    assert await answered(interim + _head(HINT_LINE, size + 1) + SHORT) == RetryOutcome(
        "network", "more than 16 KiB of interim answers (1xx) came"
    )


async def test_a_long_head_is_taken_and_a_longer_one_is_not(answered: Answered) -> None:
    good = _head(OK + b"Content-Length: 2\r\n", FRAMING_MAX - PIECE)
    assert isinstance(await answered(good + b"ok"), Done)
    long = _head(OK + b"Content-Length: 2\r\n", FRAMING_MAX + PIECE)
    assert await answered(long + b"ok") == RetryOutcome(
        "network", "the answer has more than 64 KiB of headers and chunk sizes"
    )


async def test_small_chunks_are_taken_unless_they_are_nothing_but_sizes(answered: Answered) -> None:
    outcome = await answered(CHUNKED + b"1\r\nx\r\n" * 10_000 + b"0" + END)
    assert outcome.result["text"] == "x" * 10_000
    outcome = await answered(CHUNKED + b"10\r\n" + b"y" * 16 + b"\r\n" + b"1\r\nx\r\n" * 20_000)
    assert isinstance(outcome, RetryOutcome)
    assert outcome.failure == "network"


async def test_a_long_answer_is_cut_as_ever_however_much_of_it_comes_at_once(
    answered: Answered,
) -> None:
    outcome = await answered(OK + b"Content-Length: 9000000\r\n\r\n" + b"z" * 9_000_000)
    assert isinstance(outcome, Done)
    assert outcome.result["truncated"] is True


async def test_a_continue_that_was_asked_for_is_kept_to(plain: bool) -> None:
    async def script(wire: Wire) -> None:
        head = await wire.reader.readuntil(END)
        assert b"100-continue" in head
        await wire.say(CONTINUE)
        await wire.reader.readexactly(2)
        await wire.say(SHORT)

    action = HttpAction(EgressPolicy(), plain=plain)
    async with serving(script) as (url, _):
        call = an_http_call(url, headers=(("Expect", "100-continue"),), body=b"{}")
        outcome = await action.run(call, a_job())
        await action.close()
    assert isinstance(outcome, Done)


async def test_more_after_an_answer_closes_the_connection_that_waits_for_the_next_call(
    plain: bool,
) -> None:
    answered, gone = asyncio.Event(), asyncio.Event()

    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.say(SHORT)
        await answered.wait()
        await wire.say(HINT)
        assert await wire.reader.read() == b""
        gone.set()

    action = HttpAction(EgressPolicy(), plain=plain)
    async with serving(script) as (url, _):
        assert isinstance(await action.run(an_http_call(url), a_job()), Done)
        answered.set()
        await gone.wait()
        await action.close()


async def test_of_all_that_lies_in_the_socket_only_a_piece_is_parsed() -> None:
    """The rest is not looked at: no count of answers in one write takes the loop's time."""
    protocol = BoundedProtocol(asyncio.get_running_loop())
    transport = FakeTransport(protocol)
    protocol.set_response_params()
    protocol.data_received(HINT * 100_000)
    assert transport.how == "dropped"
    assert protocol._received == PIECE == 4 * 1024
    assert len(protocol) == INTERIM_MAX
