"""The http action against a real server that behaves as its paths say."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from router.actions.http import HttpAction, retry_after
from router.actions.http_client.response import errno_words
from router.actions.kept_response import credentials, kept_headers
from router.egress import EgressPolicy
from router.kinds.log import LogCall
from router.model.delivery import REMOVED
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from router.model.settings import Sign
from tests.sim.makers import a_job, an_http_call
from tests.sink import Sink, running_sink
from tests.waiting import until

NOW_S = 1_750_000_000.0


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with running_sink() as running:
        yield running


@pytest.fixture
async def action() -> AsyncIterator[HttpAction]:
    made = HttpAction(EgressPolicy(), now_s=lambda: NOW_S)
    yield made
    await made.close()


def _expected(status: int) -> type[Outcome] | str:
    if status < 300:
        return Done
    if status == 410:
        return FailOutcome
    if status in (408, 425, 429):
        return "throttled"
    return "server" if status >= 500 else "client"


async def test_every_status_has_its_class(sink: Sink, action: HttpAction) -> None:
    for status in range(200, 600):
        outcome = await action.run(an_http_call(f"{sink.url}/status/{status}"), a_job())
        found = outcome.failure if isinstance(outcome, RetryOutcome) else type(outcome)
        assert found == _expected(status), status
        assert outcome.result["status"] == status
        if not isinstance(outcome, Done):
            assert outcome.reason == f"HTTP {status}"


async def test_accept_widens_success(sink: Sink, action: HttpAction) -> None:
    call = an_http_call(f"{sink.url}/status/409", accept=((200, 299), (409, 409)))
    assert isinstance(await action.run(call, a_job()), Done)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("-1", None),
        ("1000000000000", 100000000000.0),
        ("soon", None),
        ("", None),
        ("1.5", None),
        ("²", None),
        ("Sun, 15 Jun 2025 15:07:40 GMT", 60.0),
        ("Sun, 15 Jun 2014 15:07:40 GMT", 0.0),
        ("Sun, 99 Jun 2025 15:07:40 GMT", None),
        ("Sunday, 15-Jun-25 15:07:40 GMT", 60.0),
        ("Sun Jun 15 15:07:40 2025", 60.0),
        (None, None),
    ],
)
@pytest.mark.usefixtures("far_zone")
def test_retry_after(value: str | None, seconds: float | None) -> None:
    """In whatever zone this machine is; every form of a date is in UTC."""
    assert retry_after(value, NOW_S) == seconds


async def test_retry_after_is_kept_to(sink: Sink, action: HttpAction) -> None:
    outcome = await action.run(an_http_call(f"{sink.url}/after/120"), a_job())
    assert isinstance(outcome, RetryOutcome)
    assert (outcome.failure, outcome.after_s) == ("server", 120.0)


async def test_another_kind_of_call_is_dead(action: HttpAction) -> None:
    assert isinstance(await action.run(LogCall("x"), a_job()), FailOutcome)


# -- without a task ----------------------------------------------------------------------------


async def test_what_has_begun_is_told_once_and_later(sink: Sink, action: HttpAction) -> None:
    told: list[Outcome | Exception] = []
    for count in (1, 2):  # over a new connection and over one that is there
        call = an_http_call(f"{sink.url}/status/503")
        assert action.begin(call, a_job(), told.append) is not None
        assert len(told) == count - 1
        await until(lambda count=count: len(told) == count)  # type: ignore[misc]
        assert told[-1] == await action.run(call, a_job())
    assert len(sink.seen) == 4


@pytest.mark.parametrize(
    "changes",
    [
        {"url": "http://metadata.google.internal/"},
        {"url": "http://127.0.0.1:99999/"},
        {"headers": (("Host", "erp.example"),)},
        {"sign": Sign(("a",), scheme="standard-webhooks"), "sign_keys": (b"",)},
    ],
)
async def test_what_cannot_be_sent_is_told_later(
    action: HttpAction, changes: dict[str, Any]
) -> None:
    told: list[Outcome | Exception] = []
    assert action.begin(an_http_call(**changes), a_job(), told.append) is not None
    assert told == []
    await until(lambda: told)
    assert isinstance(told[0], FailOutcome)
    assert action.begin(LogCall("x"), a_job(), told.append) is None


async def test_what_is_cancelled_is_closed_and_not_told(sink: Sink, action: HttpAction) -> None:
    told: list[Outcome | Exception] = []
    cancel = action.begin(an_http_call(f"{sink.url}/hang"), a_job(), told.append)
    await until(lambda: sink.seen)
    assert cancel is not None
    cancel()
    sink.release.set()
    await until(lambda: not sink.open)
    assert told == []


async def test_a_defect_in_classing_an_answer_is_told_as_it_is(sink: Sink) -> None:
    """Whoever waits for the end of an attempt gets one, whatever leaks."""

    def no_clock() -> float:
        raise RuntimeError("a defect")

    action = HttpAction(EgressPolicy(), now_s=no_clock)
    told: list[Outcome | Exception] = []
    call = an_http_call(f"{sink.url}/status/200")
    assert action.begin(call, a_job(), told.append) is not None
    await until(lambda: told)
    assert isinstance(told[0], RuntimeError)
    with pytest.raises(RuntimeError, match="a defect"):
        await action.run(call, a_job())
    await action.close()


async def test_the_systems_resolver(sink: Sink, action: HttpAction) -> None:
    port = sink.url.rpartition(":")[2]
    outcome = await action.run(an_http_call(f"http://localhost:{port}/status/200"), a_job())
    assert isinstance(outcome, Done)


def test_headers_of_an_answer_are_kept_up_to_16_kib() -> None:
    """Names and values count; what does not fit any more is left out, and all behind it."""
    full = {"x-full": "v" * (16 * 1024 - len("x-full"))}
    assert kept_headers(full.items(), ()) == full
    assert kept_headers([("x-fulls", full["x-full"]), ("a", "")], ()) == {}
    assert kept_headers([("a", "1"), *full.items(), ("b", "2")], ()) == {"a": "1"}


def test_headers_of_one_name_are_one_line_and_cookies_are_none() -> None:
    headers = (("via", "a"), ("via", "b"), ("set-cookie", "s=1"), ("x-echo", "se-cret"))
    kept = kept_headers(headers, ("se-cret",))
    assert kept == {"via": "a, b", "set-cookie": REMOVED, "x-echo": "***"}


@pytest.mark.parametrize(
    "name",
    ["Authorization", "X-Token", "Api-Key", "Client-Secret", "Cookie", "X-Password", "X-Signature"],
)
def test_what_a_header_of_this_name_holds_is_masked(name: str) -> None:
    """With and without the word that stands before it; nothing so short that it is everywhere."""
    call = an_http_call(headers=((name, "Scheme its-value"), ("Accept", "text/html")))
    assert credentials(call) == ("Scheme its-value", "its-value")
    assert credentials(an_http_call(headers=((name, "abcd"),))) == ("abcd", "abcd")
    assert credentials(an_http_call(headers=((name, "abc"),))) == ()


def test_an_idempotency_key_is_no_credential() -> None:
    assert credentials(an_http_call(headers=(("Idempotency-Key", "job_1234"),))) == ()


def test_an_address_with_a_secret_is_masked_whole_and_without_its_host() -> None:
    call = an_http_call("https://h.example/a/s3cr3t?x=1", shown_url="https://h.example/a/***")
    assert credentials(call)[-2:] == ("https://h.example/a/s3cr3t?x=1", "a/s3cr3t?x=1")


@pytest.mark.parametrize("number", [None, 0, -2, 111])
def test_only_an_error_number_of_the_system_has_words(number: int | None) -> None:
    error = OSError()
    error.errno = number
    assert errno_words(error) == (": connection refused" if number == 111 else "")
    assert errno_words(ValueError()) == ""
