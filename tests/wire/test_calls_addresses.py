"""
No call reaches what the egress rules forbid, however its address is written or answered.

Every form of an address is tried as a URL's host (where it is no plain literal: that the operator
may write), as the answer to a name, beside an allowed answer, and as the second answer to a name
whose first was allowed. A canary listens on every address of this machine; an allowed neighbour
listens on one.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator

import pytest

from tests.hostile.targets import OK, SHORT, Wire, serving
from tests.wire.calls import NEXT, Calls, Seen, answering, black_hole

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
ALLOWED, EVERY = (f"{NEIGHBOUR}/32",), ("0.0.0.0/0", "::/0")
LOOPBACKS = ("127.0.0.0/8", "::1/128")


class Canary:
    """Where its callers came to: the addresses that must stay untouched, and the neighbour's."""

    def __init__(self, port: int) -> None:
        self.port, self.touched, self.allowed = port, 0, 0

    async def called(self, url: str, *allow: str, leads_to: tuple[str, ...] = ()) -> Seen:
        """One call there; `leads_to` is what its name, erp.example or vm, leads to."""
        async with Calls(*allow) as calls:
            for name in ("erp.example", "vm", "api.localhost"):
                calls.names[name] = list(leads_to)
            return await calls.to(url.replace("PORT", str(self.port)), timeout_s=2.0)


@pytest.fixture
async def canary() -> AsyncIterator[Canary]:
    async def script(wire: Wire) -> None:
        here = wire.writer.get_extra_info("sockname")[0].removeprefix("::ffff:")
        found.allowed += here == NEIGHBOUR
        found.touched += here != NEIGHBOUR
        await wire.say(OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n")

    async with contextlib.AsyncExitStack() as stack:
        url, _ = await stack.enter_async_context(serving(script, host="0.0.0.0"))  # noqa: S104
        found = Canary(int(url.rpartition(":")[2].strip("/")))
        with contextlib.suppress(OSError):  # a machine without IPv6
            await stack.enter_async_context(serving(script, host="::", port=found.port))
        yield found


def _written(form: str) -> str:
    return f"[{form}]" if ":" in form and not form.startswith("[") else form


@pytest.mark.parametrize("allow", [(), ALLOWED], ids=["none", "neighbour"])
@pytest.mark.parametrize("form", HOSTS)
async def test_as_a_host(canary: Canary, form: str, allow: tuple[str, ...]) -> None:
    """Also where a resolver takes it for an address, as the system's may."""
    async with Calls(*allow) as calls:
        calls.names[form] = ["127.0.0.1"]
        url = f"http://{_written(form)}:{canary.port}/"
        assert (await calls.to(url, timeout_s=2.0)).how in ("network", "fail")
    assert canary.touched == canary.allowed == 0


@pytest.mark.parametrize("form", [*METADATA, *NAMES])
async def test_metadata_as_a_host_whatever_is_allowed(canary: Canary, form: str) -> None:
    found = await canary.called(f"http://{_written(form)}:PORT/", *EVERY)
    assert found.how == "fail"
    assert "is a metadata service of a cloud" in found.reason


@pytest.mark.parametrize("url", TRICKS)
async def test_as_a_trick(canary: Canary, url: str) -> None:
    assert (await canary.called(url)).how in ("network", "fail")
    assert canary.touched == 0


@pytest.mark.parametrize("form", FORMS)
async def test_as_the_answer_to_a_name(canary: Canary, form: str) -> None:
    found = await canary.called("http://erp.example:PORT/", leads_to=(form,))
    assert found.how in ("network", "fail")
    if form not in ODD:  # refused, not tried in vain: what is out of reach here is not elsewhere
        said = f"http://erp.example:{canary.port}: erp.example is {form}, a "
        assert found.reason.startswith((said + "private address. Allow it", said + "metadata"))
        assert found.how == "network"  # the resolver may answer otherwise
    assert canary.touched == 0


@pytest.mark.parametrize("form", METADATA)
async def test_metadata_as_an_answer_whatever_is_allowed(canary: Canary, form: str) -> None:
    found = await canary.called("http://erp.example:PORT/", *EVERY, leads_to=(form,))
    assert found.how == "network"
    assert f"erp.example is {form}, a metadata service" in found.reason
    assert canary.touched == 0


@pytest.mark.parametrize("form", FORMS)
async def test_beside_an_allowed_answer(canary: Canary, form: str) -> None:
    for answers in ((form, NEIGHBOUR), (NEIGHBOUR, form)):
        await canary.called("http://erp.example:PORT/", *ALLOWED, leads_to=answers)
    assert canary.touched == 0


async def test_behind_an_allowed_answer_where_nobody_is(canary: Canary) -> None:
    """The next address is looked at for itself."""
    with socket.socket() as taken:
        taken.bind((NEIGHBOUR, 0))  # and does not listen
        port = taken.getsockname()[1]
        async with answering(NEXT, port=port) as target, Calls(*ALLOWED) as calls:
            for answers in ([NEIGHBOUR, "127.0.0.1"], ["127.0.0.1", NEIGHBOUR], [NEIGHBOUR]):
                name = f"erp{len(calls.asked)}.example"
                calls.names[name] = answers
                found = await calls.to(f"http://{name}:{port}/")
                assert (found.how, found.reason) == ("network", "no connection: connection refused")
            assert target.wires == []


@pytest.mark.long
async def test_as_the_second_answer_to_a_name(canary: Canary) -> None:
    """Ten seconds later, when the name is asked for again: each connection is checked anew."""
    names = {f"erp{number}.example": form for number, form in enumerate(FORMS)}
    async with Calls(*ALLOWED) as calls:

        async def called(name: str) -> Seen:
            return await calls.to(f"http://{name}:{canary.port}/", timeout_s=2.0)

        calls.names = {name: [NEIGHBOUR] for name in names}
        assert {(await called(name)).how for name in names} == {"done"}
        calls.names = {name: [form] for name, form in names.items()}
        async with asyncio.timeout(30):
            while waiting := [name for name in names if calls.asked.count(name) == 1]:
                await asyncio.sleep(0.5)
                found = [await called(name) for name in waiting]
        assert {one.how for one in found} <= {"network", "fail"}
    assert canary.touched == 0


async def test_what_was_checked_is_what_is_connected_to(canary: Canary) -> None:
    """One look-up a connection, and none soon after: nothing lies between check and connect."""
    async with Calls(*ALLOWED) as calls:
        calls.names["erp.example"] = [NEIGHBOUR]
        url = f"http://erp.example:{canary.port}/"
        assert (await calls.to(url)).how == "done"
        calls.names["erp.example"] = ["127.0.0.1"]
        assert (await calls.to(url)).how == "done"
        assert calls.asked == ["erp.example"]
    assert (canary.touched, canary.allowed) == (0, 2)


SAID = "{} is {}, a private address. Allow it with `server.egress.allow: [{}]`."
WHO = [
    # the canary sings: without these the others would prove nothing
    ("127.0.0.1", (), (), ""),
    ("localhost", (), (), ""),
    ("api.localhost", ("127.0.0.1",), (), ""),
    ("erp.example", ("127.0.0.1",), LOOPBACKS, ""),
    ("erp.example", ("127.0.0.1",), (), SAID.format("erp.example", "127.0.0.1", "127.0.0.0/8")),
    ("vm", ("::ffff:127.0.0.1",), (), SAID.format("vm", "::ffff:127.0.0.1", "127.0.0.0/8")),
    ("vm", ("127.0.0.1", "::1"), (), "vm is "),
    ("api.localhost", ("10.0.0.1",), (), SAID.format("api.localhost", "10.0.0.1", "10.0.0.0/8")),
    ("127.0.0.1.example", (), (), "the name was not found"),
]


@pytest.mark.parametrize(("host", "leads_to", "allow", "reason"), WHO)
async def test_who_may_be_called(
    canary: Canary,
    host: str,
    leads_to: tuple[str, ...],
    allow: tuple[str, ...],
    reason: str,
) -> None:
    found = await canary.called(f"http://{host}:PORT/", *allow, leads_to=leads_to)
    place = f"http://{host}:{canary.port}: "
    assert found.how == ("network" if reason else "done")
    assert found.reason.removeprefix(place).startswith(reason)
    assert canary.touched == (not reason)


async def test_a_host_that_is_secret_is_not_named(canary: Canary) -> None:
    async with Calls() as calls:
        calls.names["geheim.example"] = ["10.0.0.1"]
        found = await calls.to("http://geheim.example/a", shown_url="***/a")
    assert found.reason.startswith("***: its host is 10.0.0.1, a private address. ")


async def test_the_environment_names_no_proxy(
    canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert (await canary.called("http://127.0.0.1:PORT/")).how == "done"


# -- which of several addresses ------------------------------------------------------------------


@pytest.mark.parametrize("first", ["127.0.0.76", "::1"])
async def test_the_next_address_is_tried_where_one_does_not_take_it(first: str) -> None:
    async with Calls(*LOOPBACKS) as calls, answering(SHORT) as target:
        calls.names["erp.example"] = [first, "127.0.0.1"]
        assert (await calls.to(f"http://erp.example:{target.port}/")).how == "done"


HOLES = [("127.0.0.2", "127.0.0.1"), ("::1", "127.0.0.1"), ("127.0.0.2", "::1")]


@pytest.mark.parametrize(("hole", "good"), HOLES)
async def test_a_black_hole_is_not_waited_for(hole: str, good: str) -> None:
    """The next address is tried beside it, well within a second."""
    async with Calls(*LOOPBACKS) as calls, answering(SHORT, host=good) as target:
        with black_hole(hole, target.port):
            calls.names["erp.example"] = [hole, good]
            began = time.monotonic()
            found = await calls.to(f"http://erp.example:{target.port}/", connect_timeout_s=8.0)
        assert found.how == "done"
        assert time.monotonic() - began < 0.9
        assert len(target.wires) == 1


async def test_kinds_of_addresses_take_turns() -> None:
    """Where one kind leads nowhere, its other addresses do not come first."""
    async with Calls(*LOOPBACKS) as calls, answering(SHORT) as other:
        calls.names["erp.example"] = ["127.0.0.2", "127.0.0.1", "::1"]
        url, hole = f"http://erp.example:{other.port}/", black_hole("127.0.0.2", other.port)
        async with answering(NEXT, host="::1", port=other.port):
            with hole:
                found = await calls.to(url, connect_timeout_s=8.0)
    assert (found.how, found.text) == ("done", "next")


async def test_a_black_hole_alone() -> None:
    async with Calls() as calls:
        with black_hole("127.0.0.1") as port:
            found = await calls.to(f"http://127.0.0.1:{port}/", connect_timeout_s=0.2)
    assert (found.how, found.reason) == ("timeout", "no answer within 10 s")
