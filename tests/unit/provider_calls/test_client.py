"""One call against a real server that answers rightly, late, oddly or not at all."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest

from router.provider_calls.answers import ApiAnswer as Came
from router.provider_calls.answers import CallFailedError, refused, retry_after
from router.provider_calls.client import ProviderClient, hosts_of
from router.providers.management import JSON, ApiRequest, dispatch, ranges
from tests.api_server import HOOKS, TOKEN, Answer, ApiServer
from tests.hostile.targets import TABLE, serving
from tests.hostile.turns import watched
from tests.unit.provider_calls.conftest import client_of, host


async def test_an_answer_comes_back_whole(api: ApiServer, client: ProviderClient) -> None:
    answer = await client.send(ranges(host(api, token=TOKEN)))
    assert answer.ok
    assert all(h.encode() in answer.body for h in HOOKS)
    (asked,) = api.asked
    assert (asked.method, asked.path) == ("GET", "/meta")
    assert asked.headers["authorization"] == f"token {TOKEN}"
    assert asked.headers["accept"] == "application/vnd.github.v3+json"


async def test_without_a_token_none_is_sent(api: ApiServer, client: ProviderClient) -> None:
    await client.send(ranges(host(api)))
    assert "authorization" not in api.asked[0].headers


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("hang", "no answer within 0.3 s"),
        ("drip", "no answer within 0.3 s"),
        ("close", "the answer is not acceptable HTTP, or broke off"),
        ("garbage", "the answer is not acceptable HTTP, or broke off"),
    ],
)
async def test_no_answer_may_still_have_been_carried_out(
    api: ApiServer, how: str, words: str
) -> None:
    api.script.append(how)
    async with client_of(api) as client:
        with pytest.raises(CallFailedError, match=f"^{words}$") as caught:
            await client.send(dispatch(host(api, token=TOKEN), "o/r", "deploy"))
    assert caught.value.arrived


async def test_nobody_listening_is_known_not_to_have_arrived(api: ApiServer) -> None:
    async with ProviderClient(["127.0.0.1"], timeout_s=60) as client:
        with pytest.raises(CallFailedError, match="no connection") as caught:
            await client.send(ApiRequest("GET", "http://127.0.0.1:1/meta", (), JSON))
    assert not caught.value.arrived


@pytest.mark.parametrize("hosts", [(), ("example.com",)])
async def test_a_private_address_nobody_wrote_down_is_not_called(
    api: ApiServer, hosts: tuple[str, ...]
) -> None:
    """`localhost` is the operator's own word; what a name leads to is checked."""
    async with ProviderClient(hosts, timeout_s=60) as client:
        with pytest.raises(CallFailedError, match="egress") as caught:
            await client.send(ranges(host(api)))
    assert not caught.value.arrived
    assert api.asked == []


async def test_a_redirect_is_not_followed(api: ApiServer, client: ProviderClient) -> None:
    api.script.append(Answer(302, "", {"Location": f"{api.url}/elsewhere"}))
    assert (await client.send(ranges(host(api)))).status == 302
    assert len(api.asked) == 1


@pytest.mark.parametrize("name", ["hints_a_thousand_at_once", "chunks_of_one_byte"])
@pytest.mark.long
async def test_an_answer_that_is_parsed_in_many_parts_keeps_the_loop_for_nobody(name: str) -> None:
    """The server asks senders' interfaces for their address ranges while it takes deliveries."""
    async with (
        serving(TABLE[name][1]) as (url, _),
        ProviderClient(["127.0.0.1"], timeout_s=0.5) as client,
    ):
        request = ApiRequest("GET", url, (), JSON)
        with pytest.raises(CallFailedError):
            await client.send(request)  # the first call of a process imports much
        with watched(), pytest.raises(CallFailedError):
            await client.send(request)


async def test_an_endless_answer_is_left(api: ApiServer, client: ProviderClient) -> None:
    api.script.append(Answer(200, b"x" * (4 * 1024 * 1024 + 1)))
    with pytest.raises(CallFailedError, match="longer than 4 MiB"):
        await client.send(ranges(host(api)))


@pytest.mark.parametrize("token", ["two\nlines", "naïve-ÿ-日本"])
async def test_a_token_that_cannot_be_sent_is_not_shown(
    api: ApiServer, client: ProviderClient, token: str
) -> None:
    with pytest.raises(CallFailedError, match="malformed address or token") as caught:
        await client.send(ranges(host(api, token=token)))
    assert token not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_requests_show_no_headers(api: ApiServer) -> None:
    assert TOKEN not in repr(ranges(host(api, token=TOKEN)))
    assert TOKEN not in repr(host(api, token=TOKEN))


DATE = "Thu, 15 Jan 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        ("2.0", 2.0),
        ("Thu, 15 Jan 2026 10:00:07 GMT", 7.0),
        ("Thu, 15 Jan 2026 09:00:00 GMT", 0.0),
        ("Thu Jan 15 10:00:07 2026", 7.0),
        (None, None),
        ("soon", None),
        ("-1", None),
        ("nan", None),
        ("inf", None),
        ("", None),
    ],
)
@pytest.mark.usefixtures("far_zone")
def test_retry_after_in_every_writing(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, DATE) == seconds


def test_a_time_without_the_answer_s_own_date_is_no_use() -> None:
    assert retry_after(format_datetime(datetime(2026, 1, 1, tzinfo=UTC)), None) is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"errors": {"address": ["is taken", "is odd"]}}', "address: is taken, is odd"),
        (b'{"errors": "[API] Invalid"}', "[API] Invalid"),
        (b'{"message": "Bad credentials", "documentation_url": "x"}', "Bad credentials"),
        (b"<html>\x1b[31mno</html>", "<html> [31mno</html>"),
        (b"", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"[[[[[[[1]]]]]]]", "…"),
        (b"[" * 5000 + b"]" * 5000, "[" * 299 + "…"),
        (b'{"error": "echo ' + TOKEN.encode() + b'"}', "echo ***"),
    ],
)
def test_an_error_in_a_few_plain_words(body: bytes, words: str) -> None:
    said = refused(Came(422, body), TOKEN)
    assert said == (f"HTTP 422: {words}" if words else "HTTP 422")


def test_the_hosts_an_operator_wrote() -> None:
    assert hosts_of("https://example-shop.test/x") == ("example-shop.test",)
    assert hosts_of("http://[::1]:8000") == ("::1",)
