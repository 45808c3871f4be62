"""Lines that find no reader."""

import asyncio
import io
import os
from collections.abc import Iterator

import pytest

from router.log.output import KEPT_LINES, Descriptor, Output, sink_of

LINE = "x" * 199
PIPE = 65_536


class Sink:
    """Takes as many bytes as it is let, or fails."""

    def __init__(self) -> None:
        self.room = 0
        self.error: OSError | None = None
        self.text = b""

    def write(self, data: bytes, _wait_s: float = 0.0, /) -> int:
        if self.error:
            raise self.error
        taken = data[: self.room]
        self.room -= len(taken)
        self.text += taken
        return len(taken)


@pytest.fixture
def sink() -> Sink:
    return Sink()


@pytest.fixture
def reported() -> list[int]:
    return []


@pytest.fixture
def output(sink: Sink, reported: list[int]) -> Output:
    return Output(sink, reported.append)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Its reading and its writing end."""
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def test_what_finds_no_room_comes_later_and_in_order(sink: Sink, output: Output) -> None:
    sink.room = 3
    output.msg("one")
    output.msg("two")
    sink.room = 100
    output.flush()
    assert sink.text == b"one\ntwo\n"
    assert output.lost == 0


def test_more_than_is_kept_is_lost_and_reported_once(
    sink: Sink, output: Output, reported: list[int]
) -> None:
    for number in range(KEPT_LINES + 11):
        output.msg(str(number))
    lost = output.lost
    assert lost == 10  # one is half written
    assert reported == []
    sink.room = 1_000_000
    output.flush()
    output.msg("later")
    assert reported == [lost]
    assert sink.text.decode().split() == [*map(str, range(KEPT_LINES + 1)), "later"]


def test_lines_are_lost_until_half_of_the_kept_are_gone(sink: Sink, output: Output) -> None:
    for number in range(KEPT_LINES + 2):
        output.msg(str(number))
    sink.room = 2  # the one that is half written: all others still wait
    output._write(0.0)
    output.msg("lost")
    assert output.lost == 2


def test_a_sink_that_fails_loses_lines_and_is_tried_again(
    sink: Sink, output: Output, reported: list[int]
) -> None:
    sink.error = OSError(28, "No space left on device")
    output.msg("one")
    output.msg("two")
    assert (output.lost, reported) == (2, [])
    sink.error, sink.room = None, 100
    output.msg("three")
    assert sink.text == b"three\n"
    assert reported == [2]


async def test_lines_of_one_turn_are_one_write(sink: Sink, output: Output) -> None:
    sink.room = 100
    output.msg("one")
    output.msg("two")
    assert sink.text == b""
    await asyncio.sleep(0)
    assert sink.text == b"one\ntwo\n"


async def test_on_a_loop_it_is_tried_again_by_itself(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    output = Output(Descriptor(writing), lambda lines: None)
    for _ in range(PIPE // len(LINE) + 50):
        output.msg(LINE)
    output.flush()
    assert output._rest
    text = b""
    async with asyncio.timeout(5):
        while text.count(b"\n") < PIPE // len(LINE) + 50:
            text += await asyncio.to_thread(os.read, reading, PIPE)
    assert output.lost == 0


def test_a_full_pipe_is_not_waited_for(pipe: tuple[int, int]) -> None:
    sink = Descriptor(pipe[1])
    taken = sink.write(b"x" * 2 * PIPE)
    assert 0 < taken <= PIPE
    assert sink.write(b"y") == 0
    assert os.get_blocking(pipe[1])  # it may be somebody else's as well


def test_the_last_lines_are_waited_for_a_little(pipe: tuple[int, int]) -> None:
    reading, writing = pipe
    sink = Descriptor(writing)
    assert sink.write(b"x" * 2 * PIPE, 0.01) <= PIPE
    os.read(reading, PIPE)
    assert sink.write(b"y", 0.01) == 1


def test_a_terminal_that_is_stopped_is_not_waited_for() -> None:
    import pty  # noqa: PLC0415 - not everywhere
    import termios  # noqa: PLC0415
    import tty  # noqa: PLC0415

    master, slave = pty.openpty()
    try:
        tty.setraw(slave)
        termios.tcflow(slave, termios.TCOOFF)
        sink = Descriptor(slave)
        assert sink.write(b"x" * 2 * PIPE) < 2 * PIPE
    finally:
        os.close(master)
        os.close(slave)


def test_a_process_without_a_stream_loses_its_lines_quietly() -> None:
    assert sink_of(None).write(b"nobody hears this") == 17


def test_a_stream_without_a_descriptor_is_written_to() -> None:
    stream = io.StringIO()
    assert sink_of(stream).write("ä\n".encode()) == 3
    assert stream.getvalue() == "ä\n"
