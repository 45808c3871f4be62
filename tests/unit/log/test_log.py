import io
import json
import logging
import os
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from router import log
from router.log import LINE_BYTES, MASK, Redactor


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """Where lines go; afterwards nothing is logged any more, as before."""
    yield io.StringIO()
    log.reset()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_is_one_json_object(stream: io.StringIO) -> None:
    log.configure(stream=stream)
    log.get("web").warning("refused", reason="bad_signature", count=3, at=None)
    (line,) = lines(stream)
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "level": "warning",
        "logger": "web",
        "event": "refused",
        "reason": "bad_signature",
        "count": 3,
        "at": None,
    }


def test_levels_below_are_dropped(stream: io.StringIO) -> None:
    log.configure(stream=stream, level="warning")
    log.get("a").info("no")
    log.get("a").error("yes")
    assert [line["event"] for line in lines(stream)] == ["yes"]


def test_unconfigured_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    log.get("a").error("nobody hears this")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "fields",
    [
        {"text": "Bearer hunter2hunter2!"},
        {"data": b"hunter2hunter2"},
        {"deep": {"hunter2hunter2": [("hunter2hunter2",)]}},
        {"error": ValueError("bad key hunter2hunter2")},
        {"exc_info": ValueError("hunter2hunter2")},
    ],
)
@pytest.mark.parametrize("human", [False, True])
def test_no_line_holds_a_secret(
    stream: io.StringIO, fields: dict[str, Any], human: bool, redactor: Redactor
) -> None:
    redactor.register([b"hunter2hunter2"])
    log.configure(stream=stream, human=human, redactor=redactor)
    log.get("a").error("hunter2hunter2", **fields)
    assert "hunter2" not in stream.getvalue()
    assert MASK in stream.getvalue()


@pytest.fixture
def redactor() -> Redactor:
    return Redactor()


def test_short_values_are_not_masked(redactor: Redactor) -> None:
    redactor.register(["abcde", b""])
    assert redactor.text("abcde") == "abcde"


def test_the_longest_secret_is_masked_whole(redactor: Redactor) -> None:
    redactor.register(["secret-one", "secret-one-and-more"])
    assert redactor.text("x secret-one-and-more y") == f"x {MASK} y"


def test_a_secret_with_a_line_break_at_its_end_is_known_without(redactor: Redactor) -> None:
    redactor.register([b"hunter2hunter2\n"])
    assert redactor.text("=hunter2hunter2=") == f"={MASK}="


def test_each_line_of_a_key_counts(redactor: Redactor) -> None:
    redactor.register(["-----BEGIN KEY-----\nMIGHAgEAMBMGByqGSM49AgEG\n-----END KEY-----\n"])
    assert redactor.text("MIGHAgEAMBMGByqGSM49AgEG") == MASK
    assert "BEGIN" in redactor.text("-----BEGIN KEY-----")


HOSTILE = "a\nb\r\x1b[31mc\x00\x9b\u202ed\u2028e\u200bf"


@pytest.mark.parametrize("human", [False, True])
def test_one_call_is_one_line_that_steers_nothing(stream: io.StringIO, human: bool) -> None:
    log.configure(stream=stream, human=human)
    log.get("a").info(HOSTILE, field=HOSTILE, logger="x")
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert text.splitlines() == [text[:-1]]
    assert text[:-1].isprintable()


def test_a_json_line_keeps_the_text(stream: io.StringIO) -> None:
    log.configure(stream=stream)
    log.get("a").info(HOSTILE)
    assert lines(stream)[0]["event"] == HOSTILE


@pytest.mark.parametrize("human", [False, True])
@pytest.mark.parametrize("text", ["x" * 100_000, "é\n" * 50_000])
def test_a_line_is_capped(stream: io.StringIO, human: bool, text: str) -> None:
    log.configure(stream=stream, human=human)
    log.get("a").info(text, more=text)
    assert len(stream.getvalue().encode()) <= LINE_BYTES
    if not human:
        (line,) = lines(stream)
        assert line["cut"] is True
        assert line["logger"] == "a"


def test_a_line_for_a_person(stream: io.StringIO) -> None:
    log.configure(stream=stream, human=True)
    log.get("a").info("ready", listen="127.0.0.1:8000", note="two words", empty="")
    expected = r'\d\d:\d\d:\d\d info    ready listen=127.0.0.1:8000 note="two words" empty=""\n'
    assert re.fullmatch(expected, stream.getvalue())


def test_a_closed_pipe_loses_lines_and_nothing_else() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", buffering=1) as pipe:  # noqa: PTH123 - a descriptor, not a path
        log.configure(stream=pipe)
        log.get("a").info("lost")
        log.get("a").info("lost too")
        log.reset()
        os.dup2(os.open(os.devnull, os.O_WRONLY), writing)  # what is buffered can leave


def test_a_closed_stream_loses_lines_and_nothing_else() -> None:
    closed = io.StringIO()
    closed.close()
    log.configure(stream=closed)
    log.get("a").info("lost")
    log.reset()


def test_a_value_that_cannot_be_shown_is_no_fault(stream: io.StringIO) -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError

    log.configure(stream=stream)
    log.get("a").info("odd", value=Odd())
    assert lines(stream)[0]["event"] == "odd"


def test_standard_loggers_speak_through_ours(stream: io.StringIO) -> None:
    log.configure(stream=stream)
    logging.getLogger("asyncio").error("task %s died", "x", exc_info=ValueError("why"))
    logging.getLogger("asyncio").info("not this")
    (line,) = lines(stream)
    assert (line["logger"], line["level"], line["event"]) == ("asyncio", "error", "task x died")
    assert "ValueError: why" in line["exception"]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ([b"bytes"], ["bytes"]),
        (["a", ("b",)], ["a", ["b"]]),
        ([["a"]], [["a"]]),
        ([Decimal("1.50")], ["1.50"]),
        (Decimal("1.50"), "1.50"),
        (b"bytes", "bytes"),
        (frozenset({"a"}), ["a"]),
        ({"a": [b"b"]}, {"a": ["b"]}),
        (["a", 1, 1.5, True, None], ["a", 1, 1.5, True, None]),
        ([], []),
    ],
)
def test_odd_values_are_written_as_the_careful_way_writes_them(
    stream: io.StringIO, value: Any, written: Any
) -> None:
    """Also within a list, and beside plain ones."""
    log.configure(stream=stream)
    log.get("a").info("odd", before="x", value=value, after=1)
    assert [lines(stream)[0][key] for key in ("before", "value", "after")] == ["x", written, 1]
