"""What a plugin author imports: values, exceptions, and the guarded clients."""

import asyncio
import subprocess
import sys
from decimal import Decimal

import httpx
import pytest

from router.errors import EgressRefused
from router.plugin import Context, Event, Fail, PlainContext, Retry, Secrets, hosts_of, to_json
from tests.sink import running_sink

CANARY = "s3cr3t-canary-9f2e"


def test_every_field_of_an_event_has_a_default() -> None:
    event = Event(payload={"id": 1})
    assert (event.attempt, event.body, event.replay_of) == (1, b"", None)


def test_secrets_are_read_by_name_and_not_printed() -> None:
    secrets = Secrets({"erp": CANARY})
    assert secrets["erp"] == CANARY
    assert list(secrets) == ["erp"]
    shown = f"{secrets} {secrets!r} {Context(secrets=secrets)!r} {PlainContext(secrets=secrets)!r}"
    assert CANARY not in shown


def test_a_secret_that_the_action_does_not_name_says_how_to() -> None:
    with pytest.raises(KeyError, match=r"secrets: \[chat\]"):
        Secrets({})["chat"]
    assert Secrets({}).get("chat") is None


def test_retry_and_fail_carry_their_reasons() -> None:
    assert (Retry(after=5, reason="busy").after, Retry().reason) == (5, "try again")
    assert Fail("no such order").reason == "no such order"


@pytest.mark.parametrize("wrong", ["busy", True])
def test_seconds_are_a_number(wrong: object) -> None:
    with pytest.raises(TypeError, match="SECONDS"):
        Retry(wrong)  # type: ignore[arg-type]


def test_decimals_are_written_digit_for_digit() -> None:
    assert to_json({"total": Decimal("1.50")}) == b'{"total":1.50}'


def test_hosts_of_urls() -> None:
    texts = [
        "http://127.0.0.1:9/x",
        "https://[::1]/",
        "word",
        "http://[broken",
        "HTTPS://A.Example",
    ]
    assert hosts_of(texts) == {"127.0.0.1", "::1", "a.example"}


def test_importing_it_does_not_import_the_client() -> None:
    code = "import sys, router.plugin; print('httpx' in sys.modules, 'asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


# -- the clients ----------------------------------------------------------------------------------


async def test_a_host_of_a_secret_is_called_as_written() -> None:
    async with running_sink() as sink:
        context = Context(secrets={"erp": sink.url})
        answer = await context.http.post(f"{sink.url}/status/201", json={"a": 1})
        await context.close()
    assert answer.status_code == 201
    assert sink.seen[0].body == b'{"a":1}'


async def test_a_private_address_that_nobody_wrote_down_is_refused() -> None:
    async with running_sink() as sink:
        context = Context()
        with pytest.raises(EgressRefused):
            await context.http.get(sink.url + "/status/200")
        await context.close()
    assert sink.seen == []


async def test_the_allowed_ranges_are_allowed() -> None:
    async with running_sink() as sink:
        context = Context(egress=("127.0.0.0/8",))
        assert (await context.http.get(sink.url + "/status/200")).status_code == 200
        await context.close()


async def test_a_name_that_leads_to_loopback_is_refused_and_localhost_as_written_is_not() -> None:
    async with running_sink() as sink:
        port = sink.url.rpartition(":")[2]
        written = Context(secrets={"erp": f"http://localhost:{port}/x"})
        assert (await written.http.get(f"http://localhost:{port}/status/200")).status_code == 200
        await written.close()
        context = Context()
        with pytest.raises(EgressRefused):
            await context.http.get(f"http://localhost:{port}/status/200")
        await context.close()


@pytest.mark.parametrize("address", ["169.254.169.254", "[::ffff:169.254.169.254]"])
async def test_metadata_is_never_called_even_if_written(address: str) -> None:
    context = Context(secrets={"erp": f"http://{address}/"}, egress=("0.0.0.0/0", "::/0"))
    with pytest.raises(EgressRefused):
        await context.http.get(f"http://{address}/")
    await context.close()


async def test_a_redirect_to_elsewhere_is_not_followed() -> None:
    async with running_sink() as sink:
        context = Context(secrets={"erp": sink.url})
        assert (await context.http.get(sink.url + "/redirect/302")).status_code == 302
        await context.close()


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    async with running_sink() as sink:
        context = Context(secrets={"erp": sink.url})
        assert (await context.http.get(sink.url + "/status/200")).status_code == 200
        await context.close()


async def test_the_plain_client_asks_the_same_guard() -> None:
    async with running_sink() as sink:
        statuses = await asyncio.to_thread(_plain_calls, sink.url)
    assert statuses == [200, "refused"]


def _plain_calls(url: str) -> list[int | str]:
    context = PlainContext(secrets={"erp": url})
    found: list[int | str] = [context.http.get(url + "/status/200").status_code]
    context.close()
    context = PlainContext()
    try:
        context.http.get(url + "/status/200")
    except EgressRefused:
        found.append("refused")
    context.close()
    return found


async def test_what_cannot_be_reached_is_httpx_own_error() -> None:
    context = Context(secrets={"erp": "http://127.0.0.1:1/"})
    with pytest.raises(httpx.ConnectError):
        await context.http.get("http://127.0.0.1:1/")
    with pytest.raises(httpx.ConnectError):
        await context.http.get("http://name.invalid/")
    await context.close()
    plain = PlainContext(secrets={"erp": "http://127.0.0.1:1/"})
    with pytest.raises(httpx.ConnectError):
        plain.http.get("http://127.0.0.1:1/")
    with pytest.raises(httpx.ConnectError):
        plain.http.get("http://name.invalid/")
    plain.close()


@pytest.mark.parametrize("traceparent", [None, "00-4bf92f3577b34da6a3ce929d0e0e4736-ab-01"])
async def test_what_a_plugin_calls_is_part_of_its_attempt(traceparent: str | None) -> None:
    async with running_sink() as sink:
        context = Context(secrets={"erp": sink.url}, traceparent=traceparent)
        await context.http.get(f"{sink.url}/status/200")
        await context.close()
        sent = {name.lower(): value for name, value in sink.seen[-1].headers}
    assert sent.get("traceparent") == traceparent
