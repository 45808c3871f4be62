"""
No call reaches what the egress rules forbid, however its address is written or answered.

Every form of an address is tried as a URL's host (where it is no plain literal: that the operator
may write), as the answer to a name, beside an allowed answer, and as the second answer to a name
whose first was allowed. A canary listens on every address of this machine; an allowed neighbour
listens on one.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from router.actions.http import HttpAction
from router.actions.resolve import KEPT_S, NameCache, system_lookup
from router.egress import EgressPolicy, is_metadata_name
from router.model.job import Done, FailOutcome, Outcome, RetryOutcome
from tests.sim.makers import a_job, an_http_call

NEIGHBOUR = "127.0.0.77"
"""The one private address that these tests' rules allow."""


def _words(text: str) -> list[str]:
    return text.split()


LOOPBACK = _words("""
127.0.0.1 127.0.0.2 127.1.2.3 127.255.255.254 0.0.0.0 0.0.0.1 ::1 :: ::2 ::127.0.0.1
::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:7f00:1 ::ffff:0.0.0.0 ::ffff:0:127.0.0.1
64:ff9b::127.0.0.1 64:ff9b::7f00:1 64:ff9b:1::7f00:1 2002:7f00:1::1 2001:0:7f00:1::
2001:0:0:0:0:0:80ff:fffe 2606:4700::5efe:127.0.0.1 fe80::5efe:7f00:1
""")
PRIVATE = _words("""
10.0.0.1 172.16.0.1 172.31.255.254 192.168.1.1 100.64.0.1 169.254.1.1 192.0.0.1 198.18.0.1
192.0.2.1 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
::ffff:10.0.0.1 64:ff9b::10.0.0.1 64:ff9b:1::10.0.0.1 2002:a00:1::1 fc00::1 fd00::1 fe80::1
fe80::1%lo fec0::1 ff02::1 ff05::2 100::1 2001:db8::1 3fff::1 5f00::1
""")
METADATA = _words("""
169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192
169.254.0.23 169.254.42.42 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fe80::a9fe:a9fe
fd00:42::42 fd00:a9fe:a9fe::1 ::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254
64:ff9b::169.254.169.254 64:ff9b::a9fe:a9fe 64:ff9b:1:a9fe:a9:fe00:: 2002:a9fe:a9fe::1
2001:0:a9fe:a9fe:: ::ffff:0:169.254.169.254 2606:4700::5efe:169.254.169.254
""")
ODD = _words("""
127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0x7f.0.0.1 0177.0.0.1 017700000001 0177.1 00000177.1
127.0.0.01 127.000.000.001 0 0x0 00 127.0.0.1. 127。0。0。1
127\uff0e0\uff0e0\uff0e1 ①②⑦.⓪.⓪.① \uff11\uff12\uff17.0.0.1
[::ffff:127.0.0.1.] 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 169.16689662
0xa9.0xfe.0xa9.0xfe ①⑥⑨.②⑤④.①⑥⑨.②⑤④ 169。254。169。254 169.254.169.254.
""")
TRICKS = _words("""
http://erp.example@127.1:PORT/ http://erp.example:x@0x7f.1:PORT/ http://127.1:PORT#@erp.example/
http://127.1:PORT?@erp.example/ http://127.1:PORT\\@erp.example/ http:\\\\127.1:PORT/
http:///127.1:PORT/ http://[::1%25lo]@127.1:PORT/ http://127.1%00.erp.example:PORT/
http://127.1%2eerp.example:PORT/ http://127.1%09:PORT/ //127.1:PORT/ gopher://127.1:PORT/
file:///etc/passwd http://[::ffff:169.254.169.254]:PORT/ http://[fd00:ec2::254]:PORT/
""")
NAMES = _words("""
metadata.google.internal METADATA.google.internal metadata.google.internal. metadata.goog
metadata.azure.internal metadata.tencentyun.com instance-data instance-data.ec2.internal
""")

FORMS = (*LOOPBACK, *PRIVATE, *METADATA, *ODD)
HOSTS = (*ODD, *METADATA, *NAMES)
assert len(set(FORMS)) >= 60


class Canary:
    """What must stay untouched, and what may be called, by which client."""

    def __init__(self, plain: bool) -> None:
        self.plain = plain
        self.port = 0
        self.touched = 0
        self.allowed = 0


@pytest.fixture
async def canary(plain: bool) -> AsyncIterator[Canary]:
    found = Canary(plain)

    async def touched(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        here = writer.get_extra_info("sockname")[0]
        if here.removeprefix("::ffff:") == NEIGHBOUR:
            found.allowed += 1
        else:
            found.touched += 1
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with contextlib.AsyncExitStack() as stack:
        server = await asyncio.start_server(touched, "0.0.0.0", 0)  # noqa: S104 - a canary
        await stack.enter_async_context(server)
        found.port = server.sockets[0].getsockname()[1]
        with contextlib.suppress(OSError):  # a machine without IPv6
            await stack.enter_async_context(await asyncio.start_server(touched, "::", found.port))
        yield found


async def _call(
    canary: Canary,
    url: str,
    answers: list[list[str]] | None = None,
    *allow: str,
    shown: str | None = None,
) -> list[Outcome]:
    """One call for each answer of the name's resolution; the system's own when there is none."""
    pending, now = list(answers or []), 0.0

    async def lookup(_host: str) -> list[str]:
        return pending.pop(0)

    policy = EgressPolicy(allow)
    action = HttpAction(policy, plain=canary.plain)
    action._names = NameCache(lookup if answers else system_lookup, lambda: now)
    outcomes = []
    for _ in answers or [[]]:
        whole = url.replace("PORT", str(canary.port))
        call = an_http_call(whole, timeout_s=2.0, shown_url=shown or whole)
        outcomes.append(await action.run(call, a_job()))
        now += KEPT_S  # the name is asked for again
    await action.close()
    return outcomes


@pytest.mark.parametrize("form", HOSTS)
@pytest.mark.parametrize("allow", [(), (f"{NEIGHBOUR}/32",)], ids=["none", "neighbour"])
async def test_as_a_host(canary: Canary, form: str, allow: tuple[str, ...]) -> None:
    host = f"[{form}]" if ":" in form and not form.startswith("[") else form
    (outcome,) = await _call(canary, f"http://{host}:PORT/", None, *allow)
    assert not isinstance(outcome, Done)
    assert canary.touched == canary.allowed == 0


@pytest.mark.parametrize("form", [*METADATA, *NAMES])
async def test_metadata_as_a_host_whatever_is_allowed(canary: Canary, form: str) -> None:
    host = f"[{form}]" if ":" in form else form
    (outcome,) = await _call(canary, f"http://{host}:PORT/", None, "0.0.0.0/0", "::/0")
    assert isinstance(outcome, FailOutcome)
    assert "is a metadata service of a cloud" in outcome.reason


@pytest.mark.parametrize("url", TRICKS)
async def test_as_a_trick(canary: Canary, url: str) -> None:
    (outcome,) = await _call(canary, url.strip())
    assert not isinstance(outcome, Done)
    assert canary.touched == 0


@pytest.mark.parametrize("form", FORMS)
async def test_as_the_answer_to_a_name(canary: Canary, form: str) -> None:
    (outcome,) = await _call(canary, "http://erp.example:PORT/", [[form]])
    assert isinstance(outcome, FailOutcome | RetryOutcome)
    if form not in ODD:  # refused, not tried in vain: what is out of reach here is not elsewhere
        said = f"http://erp.example:{canary.port}: erp.example is {form}, a "
        assert outcome.reason.startswith((said + "private address. Allow it", said + "metadata"))
        assert isinstance(outcome, RetryOutcome)  # the resolver may answer otherwise
        assert outcome.failure == "network"
    assert canary.touched == 0


@pytest.mark.parametrize("form", METADATA)
async def test_metadata_as_an_answer_whatever_is_allowed(canary: Canary, form: str) -> None:
    (outcome,) = await _call(canary, "http://erp.example:PORT/", [[form]], "0.0.0.0/0", "::/0")
    assert isinstance(outcome, RetryOutcome)
    assert f"erp.example is {form}, a metadata service" in outcome.reason
    assert canary.touched == 0


async def test_a_name_that_led_to_a_private_address_is_called_where_it_leads_now(
    canary: Canary,
) -> None:
    answers = [["127.0.0.1"], [NEIGHBOUR]]
    first, second = await _call(canary, "http://vm:PORT/", answers, f"{NEIGHBOUR}/32")
    assert first == RetryOutcome(
        "network",
        f"http://vm:{canary.port}: vm is 127.0.0.1, a private address. "
        "Allow it with `server.egress.allow: [127.0.0.0/8]`.",
    )
    assert isinstance(second, Done)


async def test_a_host_that_is_secret_is_not_named(canary: Canary) -> None:
    (outcome,) = await _call(canary, "http://geheim.example:PORT/", [["10.0.0.1"]], shown="***/a")
    assert isinstance(outcome, RetryOutcome)
    assert outcome.reason.startswith("***: its host is 10.0.0.1, a private address. ")


@pytest.mark.parametrize("form", FORMS)
async def test_as_the_second_answer_to_a_name(canary: Canary, form: str) -> None:
    first, second = await _call(
        canary, "http://erp.example:PORT/", [[NEIGHBOUR], [form]], f"{NEIGHBOUR}/32"
    )
    assert isinstance(first, Done)
    assert isinstance(second, FailOutcome | RetryOutcome)
    assert (canary.touched, canary.allowed) == (0, 1)


@pytest.mark.parametrize("form", FORMS)
async def test_beside_an_allowed_answer(canary: Canary, form: str) -> None:
    for answers in ([form, NEIGHBOUR], [NEIGHBOUR, form]):
        await _call(canary, "http://erp.example:PORT/", [answers], f"{NEIGHBOUR}/32")
    assert canary.touched == 0


@pytest.mark.long
async def test_a_refused_answer_is_refused_behind_one_that_was_allowed(canary: Canary) -> None:
    """Nobody is there at the allowed address, so the next one is looked at: for itself."""
    answers = ["2001:db8::1", "127.0.0.1"]
    (outcome,) = await _call(canary, "http://erp.example:PORT/", [answers], "2001:db8::/32")
    assert isinstance(outcome, FailOutcome | RetryOutcome)
    assert canary.touched == 0


async def test_what_was_checked_is_what_is_connected_to(canary: Canary) -> None:
    """One look-up a connection: there is no second answer between check and connect."""
    asked = 0

    async def lookup(_host: str) -> list[str]:
        nonlocal asked
        asked += 1
        return [NEIGHBOUR] if asked == 1 else ["127.0.0.1"]

    action = HttpAction(EgressPolicy([f"{NEIGHBOUR}/32"]), lookup=lookup, plain=canary.plain)
    outcome = await action.run(an_http_call(f"http://erp.example:{canary.port}/"), a_job())
    await action.close()
    assert isinstance(outcome, Done)
    assert (asked, canary.touched, canary.allowed) == (1, 0, 1)


async def test_the_operator_may_write_a_private_address(canary: Canary) -> None:
    """The canary sings: without this the others would prove nothing."""
    for host in ("127.0.0.1", "localhost", "api.localhost"):
        (outcome,) = await _call(canary, f"http://{host}:PORT/", [["127.0.0.1"]])
        assert isinstance(outcome, Done), host
    assert canary.touched == 3


@pytest.mark.parametrize("name", NAMES)
def test_names_of_metadata_services(name: str) -> None:
    assert is_metadata_name(name)


@pytest.mark.parametrize(
    "name", ["erp.example", "google.internal", "metadata.google.internal.example"]
)
def test_other_names_are_no_metadata_service_s(name: str) -> None:
    assert not is_metadata_name(name)
