"""Forwarding: the bytes and headers of the sender, and whatever the local machine does."""

from collections.abc import AsyncIterator

import httpx
import pytest

from router.cli.listening.target import LocalTarget, checked, headers_of, url_of
from router.errors import UsageError
from tests.acceptance.process import free_ports
from tests.clocks import START_MS, ManualClock
from tests.sink import Sink, running_sink
from tests.unit.cli.listening.conftest import Maker


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with running_sink() as sink:
        yield sink


async def forward(url: str, make: Maker, **given: object) -> tuple[int | None, str | None]:
    async with httpx.AsyncClient(timeout=0.5, trust_env=False) as client:
        target = LocalTarget(url, client, ManualClock(), lambda: 0.0)
        found = await target.forward(make(**given), 3)
    assert (found.at, found.attempt, found.took_ms) == (START_MS, 3, 0.0)
    return found.status, found.error


async def test_bytes_and_headers_go_as_they_came(sink: Sink, make: Maker) -> None:
    headers = (
        ("user-agent", "Sender/1"),
        ("x-twice", "a"),
        ("x-twice", "b"),
        ("x-latin", "gr\xfc\xdfe"),
        ("accept", "*/*"),
        ("accept-encoding", "gzip"),
    )
    body = b"\x00\xff not JSON\r\n"
    arrived = make(headers=headers, body=body, method="PUT")
    async with httpx.AsyncClient(trust_env=False) as client:
        await LocalTarget(f"{sink.url}/status/200", client, ManualClock()).forward(arrived, 1)
    (seen,) = sink.seen
    assert seen.line == "PUT /status/200 HTTP/1.1"
    assert seen.body == body
    got = [(name.lower(), value) for name, value in seen.headers if name.lower() != "host"]
    ours = [("router-delivery", arrived.id), ("content-length", str(len(body)))]
    assert sorted(got) == sorted([*headers, *ours])


def test_headers_of_one_hop_and_removed_ones_stay_here(make: Maker) -> None:
    arrived = make(
        headers=(
            ("host", "hooks.example.com"),
            ("connection", "keep-alive, X-Only-Here"),
            ("x-only-here", "1"),
            ("keep-alive", "5"),
            ("transfer-encoding", "chunked"),
            ("content-length", "99"),
            ("expect", "100-continue"),
            ("authorization", "[removed]"),
            ("router-delivery", "dlv_forged"),
            ("x-kept", "1"),
        )
    )
    assert headers_of(arrived) == [("x-kept", "1"), ("router-delivery", arrived.id)]


@pytest.mark.parametrize(
    ("to", "query", "url"),
    [
        ("http://h/a", "", "http://h/a"),
        ("http://h/a", "x=1&y=%20", "http://h/a?x=1&y=%20"),
        ("http://h/a?z=3", "x=1", "http://h/a?z=3&x=1"),
        ("http://h/a", "token=%5Bremoved%5D&x=1", "http://h/a?x=1"),
        ("http://h/a", "token=[removed]", "http://h/a"),
        ("http://h/a", "q=\xfc#x y", "http://h/a?q=%FC%23x%20y"),
    ],
)
def test_the_senders_query_goes_along(make: Maker, to: str, query: str, url: str) -> None:
    assert url_of(to, make(query=query)) == url


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/status/204", 204, None),
        ("/status/500", 500, None),
        ("/redirect/302", 302, None),
        ("/huge", 200, None),
        ("/badgzip", 200, None),
        ("/hang", None, "no answer in time"),
    ],
)
async def test_whatever_it_answers_is_an_answer(
    sink: Sink, make: Maker, path: str, status: int | None, error: str | None
) -> None:
    assert await forward(f"{sink.url}{path}", make) == (status, error)


@pytest.mark.parametrize("path", ["/reset", "/garbage", "/manyheaders"])
async def test_no_answer_is_reported_with_its_reason(sink: Sink, make: Maker, path: str) -> None:
    status, error = await forward(f"{sink.url}{path}", make)
    assert status is None
    assert error


async def test_nobody_there(make: Maker) -> None:
    (port,) = free_ports(1)  # which nobody else listens at meanwhile
    there = await forward(f"http://127.0.0.1:{port}/status/200", make)
    assert there == (None, "nothing listens there")


async def test_a_header_that_cannot_be_sent_is_an_error_of_this_delivery(
    sink: Sink, make: Maker
) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        target = LocalTarget(f"{sink.url}/status/200", client, ManualClock())
        found = await target.forward(make(headers=(("x", "a\nb"),)), 1)
    assert (found.status, bool(found.error), found.unsendable) == (None, True, True)


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://h/", "http://", "http://h/#x", "http://h:x/", "http://[/", "h", "h/x", "a@h:1/"),
        *("0", "123456", "3000#x", "localhost:99999", "localhost:x"),
    ],
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="--to"):
        checked(url)


def test_an_address_has_a_path() -> None:
    assert checked("http://localhost:3000") == "http://localhost:3000/"
    assert checked("3000") == "http://localhost:3000/"
