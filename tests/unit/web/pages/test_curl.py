"""The command for a shell says what was received, and never more than that."""

import subprocess

import pytest

from router.model.delivery import REMOVED
from router.web.pages.curl import BODY_MAX, curl
from tests.builders import a_delivery
from tests.hostile_text import HOSTILE

_AS_TOLD = """curl() { for word; do printf '%s\\0' "$word"; done; printf 'END'; cat; }
"""


def reported(command: str, stdin: bytes = b"") -> tuple[list[bytes], bytes]:
    """The words that a shell would give to curl, and what it would send by its standard input."""
    ran = subprocess.run(
        ["sh", "-c", _AS_TOLD + command], input=stdin, capture_output=True, check=True
    )
    words, _, rest = ran.stdout.partition(b"END")
    return words.split(b"\0")[:-1], rest


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_a_stranger_wrote_a_shell_hands_on_unchanged(text: str) -> None:
    body = text.encode("utf-8")
    header = text.replace("\x00", "").replace("\r", "").replace("\n", "")
    delivery = a_delivery(body=body, headers=(("x-odd", header),), query="a=1&b='2'")
    words, rest = reported(curl(delivery, "http://h/wh_x"))
    assert words[:4] == [b"-sS", b"-X", b"POST", b"http://h/wh_x?a=1&b='2'"]
    assert f"x-odd: {header}".encode() in words
    assert words[-2] == b"--data-binary"
    assert (rest if words[-1] == b"@-" else words[-1]) == body


def test_removed_credentials_and_headers_of_the_connection_are_left_out() -> None:
    headers = (("authorization", REMOVED), ("host", "a"), ("content-length", "2"), ("x-a", ""))
    words, _ = reported(curl(a_delivery(headers=headers, body=b""), "http://h/"))
    assert [w for w in words if b":" in w or b";" in w] == [b"http://h/", b"x-a;"]


def test_a_body_that_curl_would_take_for_a_file_is_not_one() -> None:
    words, rest = reported(curl(a_delivery(body=b"@/etc/passwd", headers=()), "http://h/"))
    assert (words[-1], rest) == (b"@-", b"@/etc/passwd")


def test_a_long_body_is_a_file_to_be_fetched() -> None:
    delivery = a_delivery(body=b"x" * (BODY_MAX + 1))
    command = curl(delivery, "http://h/")
    assert command.endswith(f"--data-binary @{delivery.id}.body")
    assert len(command) < 500


def test_no_body_is_none() -> None:
    assert "--data" not in curl(a_delivery(method="GET", body=b""), "http://h/")
