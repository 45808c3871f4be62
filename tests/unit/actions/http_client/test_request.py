"""What is written, to the byte; and what is not written at all."""

import ssl
from typing import Any

import pytest

from router.actions.http_client.request import (
    BODY_MAX,
    METHODS,
    OutgoingRequest,
    place_of,
    request_of,
)
from router.config.kinds.http import METHODS as WRITTEN
from tests.sim.makers import an_http_call


def _request(url: str = "http://127.0.0.1:8080/in", **changes: Any) -> OutgoingRequest | None:
    call = an_http_call(url, **{"headers": (), "body": b"", **changes})
    place = place_of(call.url)
    return None if place is None else request_of(call, place, call.headers, None)


def test_every_method_of_the_rules_can_be_written() -> None:
    assert set(WRITTEN) == METHODS


def test_a_large_body_is_written_behind_its_head() -> None:
    for size, behind in ((BODY_MAX, 0), (BODY_MAX + 1, BODY_MAX + 1)):
        request = _request(body=b"x" * size)
        assert request is not None
        assert len(request.rest) == behind
        assert request.data.endswith(b"\r\n\r\n" + b"x" * (size - behind))


@pytest.mark.parametrize(
    ("url", "host", "port", "authority", "path"),
    [
        ("http://127.0.0.1/", "127.0.0.1", 80, "127.0.0.1", "/"),
        ("http://127.0.0.1:80/a", "127.0.0.1", 80, "127.0.0.1", "/a"),
        ("https://127.0.0.1/", "127.0.0.1", 443, "127.0.0.1", "/"),
        ("https://erp.example:80", "erp.example", 80, "erp.example:80", "/"),
        ("http://127.0.0.1?", "127.0.0.1", 80, "127.0.0.1", "/"),
        ("HTTP://ERP.Example.:/a/../b", "erp.example.", 80, "erp.example", "/a/../b"),
        ("http://127.0.0.1/\\a", "127.0.0.1", 80, "127.0.0.1", "/\\a"),
    ],
)
def test_where_a_call_goes(url: str, host: str, port: int, authority: str, path: str) -> None:
    place = place_of(url)
    assert place is not None
    assert place[1:5] == (host, port, authority, path)
    assert place.secure is url.startswith("https")


def test_connections_of_other_tls_settings_are_another_s() -> None:
    call = an_http_call("https://erp.example/")
    place = place_of(call.url)
    assert place is not None
    contexts = [None, ssl.create_default_context(), ssl.create_default_context()]
    found = [request_of(call, place, (), context) for context in contexts]
    assert len({one.origin for one in found if one}) == 3
