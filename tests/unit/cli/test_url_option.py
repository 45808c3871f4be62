"""What people type for short is a URL; what is none stays as it is."""

import pytest

from router.cli.options import whole_url


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("3000", "http://localhost:3000"),
        (":3000", "http://localhost:3000"),
        ("3000/hook?a=b", "http://localhost:3000/hook?a=b"),
        ("localhost:3000/x", "http://localhost:3000/x"),
        ("127.0.0.1:3000", "http://127.0.0.1:3000"),
        ("[::1]:3000/x", "http://[::1]:3000/x"),
        ("https://ops.example.net:8001/", "https://ops.example.net:8001/"),
        *((text, text) for text in ("localhost", "hook", "123456", "3000#x", "me@h:1/", "h:x")),
    ],
)
def test_what_is_typed_for_short(typed: str, url: str) -> None:
    assert whole_url(typed) == url
