"""How answers look, and what text from strangers cannot do to a terminal."""

import json
from contextlib import redirect_stdout

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.cli.output import (
    aged,
    print_json,
    print_table,
    shortened,
    states,
    timestamp,
    when,
)
from router.cli.paging import Collected
from router.clock import SystemClock
from router.legible import pretty, span, visible
from router.model.job import Attempt
from router.store.time_text import instant


@given(st.text())
def test_visible_text_is_one_printable_line(text: str) -> None:
    shown = visible(text)
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert "\u202e" not in shown
    shown.encode("utf-8")  # no lone surrogate is left


def test_visible_leaves_ordinary_text_alone() -> None:
    assert visible("Zoë's order №1, 注文") == "Zoë's order №1, 注文"
    assert visible("a\x1b[31mb\r\nc\u202e") == "a\\x1b[31mb\\x0d\\x0ac\\u202e"


def test_times_of_records_in_json_are_times_and_payloads_stay(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A payload may have names that look like ours."""
    at = 1_772_368_200_250
    result = {"created_at": at, "at": at}
    attempt = Attempt("job_1", 1, at, at + 5, "dead", None, result, "g")
    print_json([attempt, {"free": {"at": at}}])
    [reported, free] = json.loads(capsys.readouterr().out)
    assert reported["started_at"] == "2026-03-01T12:30:00.250Z"
    assert reported["ended_at"] == "2026-03-01T12:30:00.255Z"
    assert (reported["number"], reported["result"], free) == (1, result, {"free": {"at": at}})


@given(st.binary())
def test_pretty_takes_any_bytes(body: bytes) -> None:
    assert "\x1b" not in pretty(body)


def test_pretty_json_keeps_numbers_digit_for_digit() -> None:
    assert pretty(b'{"a":1.10,"b":12345678901234567890123}') == (
        '{\n  "a": 1.10,\n  "b": 12345678901234567890123\n}'
    )


def test_a_table_is_aligned_and_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id", "event"), [["a", "x\x1b"], ["long", "y"]])
    assert capsys.readouterr().out == "ID    EVENT\na     x\\x1b\nlong  y\n"


def test_an_empty_table_is_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("id", "event"), [])
    assert capsys.readouterr().out == "ID  EVENT\n"


def test_a_terminal_table_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "12")
    with redirect_stdout(Collected()) as terminal:
        print_table(("id", "event", "note"), [["a", "x\x1b", "[red]one two three"]])
    header = click.style("id  event", bold=True)
    below = "    note:\n    [red]one\n    two\n    three\n"
    assert terminal.getvalue() == f"{header}\na   x\\x1b\n{below}"


def test_a_time_in_a_pipe_is_one_that_since_takes() -> None:
    at = 1_790_000_000_250
    assert when(at) == aged(at) == "2026-09-21T14:13:20.250Z"
    assert instant(when(at), 0) == at
    assert when(None) == aged(None) == "-"


def test_a_time_on_a_terminal_is_how_long_ago_that_is() -> None:
    at = SystemClock().now() - 30_500
    with redirect_stdout(Collected()):
        assert when(at) == "30 s ago"
        assert aged(at) == f"{timestamp(at)} (30 s ago)"
        assert when(None) == aged(None) == "-"


def test_times_and_counts() -> None:
    assert timestamp(1_790_000_000_000) == "2026-09-21T14:13:20Z"
    assert timestamp(None) == "-"
    assert [span(850), span(12_340), span(45_000)] == ["850 ms", "12.3 s", "45 s"]
    assert [span(250_000), span(21_600_000)] == ["4 m 10 s", "6 h 0 m"]
    assert span(273_600_000) == "3 d 4 h"
    assert states({"dead": 1, "succeeded": 2, "running": 0}) == "1 dead, 2 succeeded"
    assert states({}) == "-"


@given(st.lists(st.text("0123456789ABCDEF", min_size=26, max_size=26), unique=True))
def test_shortened_ids_still_differ(ids: list[str]) -> None:
    short = shortened(f"dlv_{i}" for i in ids)
    assert len(set(short.values())) == len(ids)
    assert all(whole.startswith(cut) and len(cut) >= 12 for whole, cut in short.items())
