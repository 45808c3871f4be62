"""Requests from files are taken as the listener would have taken them."""

import json
from pathlib import Path

import pytest

from router.cli.captured_request import read_captured
from router.errors import UsageError

TEXT = b"POST /code HTTP/1.1\r\nX-GitHub-Event:\t push \t\r\nX-Mark: a\x0b\r\n\r\n{}"
JSON = json.dumps({"headers": {"X-GitHub-Event": "\t push \t", "X-Mark": "a\x0b"}, "body": "{}"})


@pytest.mark.parametrize("data", [TEXT, JSON.encode()])
def test_blanks_around_header_values_are_no_part_of_them(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "request"
    file.write_bytes(data)
    request = read_captured(file)
    assert request.headers == ((b"x-github-event", b"push"), (b"x-mark", b"a\x0b"))


def test_json_without_end_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "request"
    file.write_text('{"headers": {"a": "b"}, "body": ' + "[" * 100_000, "utf-8")
    with pytest.raises(UsageError, match="begins like JSON, but is not"):
        read_captured(file)
