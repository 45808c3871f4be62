"""
Targets that mean harm: each attempt ends within its time limit, in the right class, with bounded
memory, no descriptor left and the loop free for others. One behaviour a line of the table.
"""

import asyncio
import contextlib
import gc
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from router.actions.http import HttpAction
from router.actions.plain_http.response import ANSWER_MAX
from router.egress import EgressPolicy
from router.model.job import Done, Outcome, RetryOutcome
from tests.hostile.targets import OK, TABLE, Wire, never_reads, serving
from tests.hostile.turns import watched
from tests.sim.makers import a_job, an_http_call

pytestmark = pytest.mark.long

LIMIT_S = 0.4
PATIENCE_S = 10.0
"""Far more than any of them takes that comes to its end by itself."""
WRITTEN_MAX = 16 * 1024 * 1024
"""What a server may get rid of before nobody reads any more: mostly the kernel's buffers."""


def _class_of(outcome: Outcome) -> str:
    return outcome.failure if isinstance(outcome, RetryOutcome) else type(outcome).__name__.lower()


def _descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("name", TABLE)
async def test_a_target_that_means_harm(name: str, plain: bool) -> None:
    expected, script = TABLE[name]
    action = HttpAction(EgressPolicy(), plain=plain)
    began = time.monotonic()
    limit_s = LIMIT_S if expected == "timeout" else PATIENCE_S
    async with serving(script) as (url, wires):
        with watched():
            outcome = await action.run(an_http_call(url, timeout_s=limit_s), a_job())
        took = time.monotonic() - began
        await action.close()
    assert _class_of(outcome) == expected, outcome
    assert took < PATIENCE_S
    assert len(str(outcome.result)) < 3 * ANSWER_MAX
    assert sum(wire.written for wire in wires) < WRITTEN_MAX
    assert len(wires) == 1, "no second connection: a POST is not sent twice"


async def test_no_descriptor_is_left_by_any_of_them(plain: bool) -> None:
    action = HttpAction(EgressPolicy(), plain=plain)
    short = (
        "resets_in_the_body",
        "endless_body",
        "no_http",
        "reads_and_says_nothing",
        "two_lengths",
    )
    counts = []
    for _ in range(3):
        for name in short:
            async with serving(TABLE[name][1]) as (url, _):
                await action.run(an_http_call(url, timeout_s=0.1), a_job())
        await asyncio.sleep(0)
        counts.append(_descriptors())
    await action.close()
    assert counts[1] >= counts[2], counts


async def test_a_connection_that_lied_does_not_spoil_the_next_call(plain: bool) -> None:
    """The rest of one answer must not become the beginning of the next."""

    async def smuggles(wire: Wire) -> None:
        await wire.request()
        await wire.say(OK + b"Content-Length: 2\r\n\r\nok" + OK + b"Content-Length: 4\r\n\r\nevil")
        with contextlib.suppress(asyncio.IncompleteReadError):
            await wire.request()
            await wire.say(OK + b"Content-Length: 4\r\n\r\ngood")

    action = HttpAction(EgressPolicy(), plain=plain)
    async with serving(smuggles) as (url, _):
        first = await action.run(an_http_call(url), a_job())
        second = await action.run(an_http_call(url), a_job())
        await action.close()
    assert first.result["text"] == "ok"
    assert "evil" not in str(second)


@pytest.fixture
def full_backlog() -> Iterator[str]:
    """An address whose connections are never accepted: SYNs fall into a full queue."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


async def test_a_black_hole(full_backlog: str, plain: bool) -> None:
    action = HttpAction(EgressPolicy(), plain=plain)
    began = time.monotonic()
    call = an_http_call(full_backlog, timeout_s=30.0, connect_timeout_s=LIMIT_S)
    outcome = await action.run(call, a_job())
    await action.close()
    assert _class_of(outcome) == "timeout"
    assert time.monotonic() - began < PATIENCE_S


async def test_a_target_that_speaks_no_tls(plain: bool) -> None:
    async def speaks_plainly(wire: Wire) -> None:
        await wire.reader.read(1)
        await wire.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    action = HttpAction(EgressPolicy(), plain=plain)
    async with serving(speaks_plainly) as (url, _):
        call = an_http_call(url.replace("http:", "https:"), timeout_s=LIMIT_S)
        outcome = await action.run(call, a_job())
        await action.close()
    assert _class_of(outcome) == "network"


async def test_a_handshake_that_never_ends(plain: bool) -> None:
    action = HttpAction(EgressPolicy(), plain=plain)
    async with serving(never_reads) as (url, _):
        call = an_http_call(url.replace("http:", "https:"), timeout_s=LIMIT_S)
        outcome = await action.run(call, a_job())
        await action.close()
    assert _class_of(outcome) == "timeout"


async def test_a_name_that_is_never_found_and_one_that_is_not(plain: bool) -> None:
    async def hangs(_host: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    async def fails(_host: str) -> list[str]:
        raise OSError("SERVFAIL")

    for lookup, expected in ((hangs, "timeout"), (fails, "network")):
        action = HttpAction(EgressPolicy(), lookup=lookup, plain=plain)
        call = an_http_call("http://erp.example/", timeout_s=LIMIT_S)
        assert _class_of(await action.run(call, a_job())) == expected
        await action.close()


async def test_an_answer_of_nothing_is_done(plain: bool) -> None:
    async def empty(wire: Wire) -> None:
        await wire.request()
        await wire.say(b"HTTP/1.1 204 No Content\r\n\r\n")

    action = HttpAction(EgressPolicy(), plain=plain)
    async with serving(empty) as (url, _):
        outcome = await action.run(an_http_call(url), a_job())
        await action.close()
    assert isinstance(outcome, Done)
    assert outcome.result["text"] == ""
