"""What is said of a delivery: one line, nothing of it steers a terminal or a shell."""

import json
import subprocess

import pytest

from router.cli.listening import plain as lines
from router.cli.listening.plain import JsonView, PlainView
from router.operator.answers import EventRow
from tests.unit.cli.listening.conftest import Maker, a_try


def test_a_line(make: Maker) -> None:
    arrived = make()
    assert lines.line(a_try(arrived)) == [
        "08:53:20Z", "shop", "orders/paid", "200", "12 ms", arrived.id, "",
    ]  # fmt: skip
    assert lines.line(a_try(arrived, None, error="nothing listens there", again_in_s=0.5))[3:] == [
        "-", "12 ms", arrived.id, "nothing listens there, again in 0.5 s",
    ]  # fmt: skip


def test_text_of_strangers_is_made_visible(make: Maker) -> None:
    event = EventRow(0, "evt", "\x1b[2Jx")
    arrived = make(events=(event,), headers=(("x", "\x1b]0;y"),), body=b"\x1b[31m", query="\x9b1m")
    for text in (*lines.line(a_try(arrived)), lines.shown(arrived)):
        assert not {"\x1b", "\x9b"} & set(text)


@pytest.mark.parametrize(
    ("removed", "other", "words"),
    [(1, False, "GAP: 1 delivery was removed"), (7, False, "7 deliveries were"), (0, True, "not")],
)
def test_a_gap_is_said(
    removed: int, other: bool, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    PlainView().gap(removed, other=other)
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    "body",
    [b"", b'it\'s $(rm -rf) `x` "q"', b"\x00\xff\n", "gr\xfc\xdfe".encode(), b"@/etc/passwd"],
)
def test_curl_sends_these_bytes_and_nothing_else(make: Maker, body: bytes) -> None:
    arrived = make(body=body, headers=(("x-a", "'; touch /tmp/x #"), ("x-empty", "")))
    text = lines.curl(arrived, "http://127.0.0.1:9/in")
    shown = text.replace("curl -sS", "printf '%s\\0'")
    ran = subprocess.run(["sh", "-c", shown], capture_output=True, check=True)
    words = ran.stdout.decode().split("\0")[:-1]
    assert words[:3] == ["-X", "POST", "http://127.0.0.1:9/in"]
    assert words[3:9] == ["-H", "x-a: '; touch /tmp/x #", "-H", "x-empty;", "-H",
                          f"router-delivery: {arrived.id}"]  # fmt: skip
    if words[9:10] == ["--data-raw"]:
        assert words[10].encode() == body
    elif body:
        unpack = text.partition("| curl")[0].rstrip("| ")
        assert subprocess.run(["sh", "-c", unpack], capture_output=True, check=True).stdout == body


def test_json_has_times_that_people_read(make: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    JsonView().forwarded(a_try(make(), again_in_s=0.5))
    forwarded = json.loads(capsys.readouterr().out)
    assert (forwarded["at"], forwarded["received_at"]) == ("2025-10-09T08:53:20.000Z",) * 2
