"""Whom a call trusts, what it says to find out, and what of that two calls share."""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from router.model.settings import Tls
from tests.hostile.targets import OK, SHORT, Wire, serving
from tests.wire.calls import FIN, NEXT, Calls, Trust, answering, turns

CERTIFICATE, HANDSHAKE = "the certificate was not accepted", "the TLS handshake failed"
LOOPBACK = ("127.0.0.0/8", "::1/128")
PLAINLY = ssl.TLSVersion.TLSv1_1


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> Trust:
    return Trust(tmp_path_factory.mktemp("trust"))


SERVERS: dict[str, Callable[[Trust], ssl.SSLContext]] = {
    "good": lambda trust: trust.server("erp.example", "localhost", "127.0.0.1", "::1"),
    "idn": lambda trust: trust.server("xn--bcher-kva.example"),
    "wildcard": lambda trust: trust.server("*.erp.example"),
    "names only": lambda trust: trust.server("erp.example"),
    "expired": lambda trust: trust.server("erp.example", days=(-9, -1)),
    "not yet": lambda trust: trust.server("erp.example", days=(1, 9)),
    "another authority's": lambda trust: trust.server("erp.example", by=trust.other),
    "self-signed": lambda trust: trust.self_signed("erp.example"),
    "for clients": lambda trust: trust.server("erp.example", usage="client"),
    "TLS 1.2": lambda trust: _at_most(trust.server("erp.example"), ssl.TLSVersion.TLSv1_2),
    "TLS 1.1": lambda trust: _at_most(trust.server("erp.example"), PLAINLY),
}
ROWS = [
    # server, host, what is trusted, outcome or reason, name asked for
    ("good", "erp.example", "ca", "done", "erp.example"),
    ("good", "ERP.Example", "ca", "done", "erp.example"),
    ("good", "erp.example.", "ca", "done", "erp.example"),
    ("good", "localhost", "ca", "done", "localhost"),
    ("good", "127.0.0.1", "ca", "done", None),
    ("good", "[::1]", "ca", "done", None),
    ("idn", "bücher.example", "ca", "done", "xn--bcher-kva.example"),
    ("wildcard", "a.erp.example", "ca", "done", "a.erp.example"),
    ("wildcard", "erp.example", "ca", CERTIFICATE, "erp.example"),
    ("good", "evil.example", "ca", CERTIFICATE, "evil.example"),
    ("names only", "127.0.0.1", "ca", CERTIFICATE, None),
    ("names only", "[::1]", "ca", CERTIFICATE, None),
    ("good", "erp.example", "other", CERTIFICATE, "erp.example"),
    ("good", "erp.example", "system", CERTIFICATE, "erp.example"),
    ("expired", "erp.example", "ca", CERTIFICATE, "erp.example"),
    ("not yet", "erp.example", "ca", CERTIFICATE, "erp.example"),
    ("another authority's", "erp.example", "ca", CERTIFICATE, "erp.example"),
    ("another authority's", "erp.example", "other", "done", "erp.example"),
    ("self-signed", "erp.example", "ca", CERTIFICATE, "erp.example"),
    ("for clients", "erp.example", "ca", CERTIFICATE, "erp.example"),
    ("TLS 1.2", "erp.example", "ca", "done", "erp.example"),
    ("TLS 1.1", "erp.example", "ca", "network", None),
]


def _at_most(context: ssl.SSLContext, version: ssl.TLSVersion) -> ssl.SSLContext:
    context.minimum_version = min(version, context.minimum_version)
    context.maximum_version = version
    context.set_ciphers("ALL:@SECLEVEL=0")
    return context


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
@pytest.mark.parametrize(("server", "host", "trusted", "how", "name"), ROWS)
async def test_whom_a_call_trusts(
    trust: Trust, server: str, host: str, trusted: str, how: str, name: str | None
) -> None:
    """Nothing of a request goes to who is not trusted; the name is asked for as it is checked."""
    asked: list[str | None] = []
    context = SERVERS[server](trust)
    context.sni_callback = lambda _, found, __: asked.append(found)
    context.set_alpn_protocols(["h2", "http/1.1"])
    tls = {"ca": trust.ca, "other": Tls(ca=str(trust.folder / "other.pem")), "system": None}
    address = "::1" if host == "[::1]" else "127.0.0.1"
    async with Calls(*LOOPBACK) as calls, answering(SHORT, tls=context, host=address) as target:
        for one in ("erp.example", "erp.example.", "ERP.Example", "a.erp.example", "evil.example"):
            calls.names[one] = ["127.0.0.1"]
        calls.names |= {"xn--bcher-kva.example": ["127.0.0.1"], "bücher.example": ["127.0.0.1"]}
        found = await calls.to(f"https://{host}:{target.port}/", tls=tls[trusted])
    assert how in (found.how, found.reason)
    assert len(target.requests) == (how == "done")
    assert asked == [name] or server == "TLS 1.1"


async def test_what_is_said_before_the_request(trust: Trust) -> None:
    """HTTP/1.1 is offered and nothing else: a server must not answer in another protocol."""
    context, spoken = trust.server(), []
    context.set_alpn_protocols(["h2", "http/1.1"])

    async def script(wire: Wire) -> None:
        await wire.request()
        spoken.append(wire.writer.get_extra_info("ssl_object").selected_alpn_protocol())
        await wire.say(SHORT)

    async with Calls() as calls, serving(script, context) as (url, _):
        assert (await calls.to(url, tls=trust.ca)).how == "done"
    assert spoken == ["http/1.1"]


@pytest.mark.parametrize(
    ("answer", "how", "says"),
    [
        (OK + b"\r\nhalf", "done", "half"),
        (OK + b"Content-Length: 9\r\n\r\nhalf", "network", "the answer broke off"),
        (
            OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
            "network",
            "the answer broke off",
        ),
        (b"", "network", "the connection was closed without an answer"),
    ],
)
async def test_an_end_without_close_notify(
    trust: Trust, answer: bytes, how: str, says: str
) -> None:
    """Only what its own framing ends is known to be whole; the rest is as without TLS."""
    async with Calls() as calls, answering([answer, FIN], tls=trust.server()) as target:
        found = await calls.to(target.url, tls=trust.ca)
    assert (found.how, found.text or found.reason) == (how, says)


async def test_a_client_s_certificate(trust: Trust) -> None:
    context = trust.server()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(trust.folder / "ca.pem")
    names = []

    async def script(wire: Wire) -> None:
        await wire.request()
        subject = dict(
            pair for part in wire.writer.get_extra_info("peercert")["subject"] for pair in part
        )
        names.append(subject["commonName"])
        await wire.say(SHORT)

    async with Calls() as calls, serving(script, context) as (url, _):
        assert (await calls.to(url, tls=trust.client("ours"))).how == "done"
        assert (await calls.to(url, tls=trust.ca)).how == "network"
        assert (await calls.to(url, tls=trust.client("theirs"))).how == "done"
    assert names == ["ours", "theirs"]


async def _speaks_plainly(wire: Wire) -> None:
    """Good HTTP, if it is asked for that, else an answer that is no TLS."""
    begin = await wire.reader.readexactly(4)
    await wire.say(SHORT if begin == b"POST" else b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await wire.nothing()


async def test_who_speaks_no_tls_and_who_speaks_nothing_else(trust: Trust) -> None:
    async with Calls() as calls:
        async with serving(_speaks_plainly) as (url, _):
            found = await calls.to(url.replace("http:", "https:"), tls=trust.ca)
            assert (found.how, found.reason) == ("network", HANDSHAKE)
        async with answering(SHORT, tls=trust.server()) as target:
            found = await calls.to(target.url.replace("https:", "http:"))
            assert found.how == "network"
            assert target.requests == []


async def test_a_handshake_that_never_ends(trust: Trust) -> None:
    async def script(wire: Wire) -> None:
        await wire.nothing()

    async with Calls() as calls, serving(script) as (url, _):
        secure = url.replace("http:", "https:")
        found = await calls.to(secure, tls=trust.ca, connect_timeout_s=0.2)
    assert (found.how, found.reason) == ("timeout", "no answer within 10 s")


# -- what two calls share ------------------------------------------------------------------------


def _other(what: str, port: int, trust: Trust) -> tuple[str, dict[str, Any]]:
    """Address and settings of a call that differs in one thing from one to erp.example."""
    url, tls = f"https://erp.example:{port}/", trust.ca
    return {
        "nothing": (url, {"tls": tls}),
        "the path": (f"{url}other?a=b", {"tls": tls}),
        "the case of the name": (url.replace("erp", "ERP"), {"tls": tls}),
        "the name": (url.replace("erp.example", "localhost"), {"tls": tls}),
        "the address": (url.replace("erp.example", "127.0.0.1"), {"tls": tls}),
        "the authority": (url, {"tls": Tls(ca=str(trust.folder / "both.pem"))}),
        "the certificate": (url, {"tls": trust.client("ours")}),
        "the key": (url, {"tls": trust.client("theirs")}),
    }[what]


@pytest.mark.parametrize(
    ("what", "connections"),
    [
        ("nothing", 1),
        ("the path", 1),
        ("the case of the name", 1),
        ("the name", 2),
        ("the address", 2),
        ("the authority", 2),
        ("the certificate", 2),
    ],
)
@pytest.mark.parametrize("first", [True, False])
async def test_a_connection_serves_no_other_trust(
    trust: Trust, what: str, connections: int, first: bool
) -> None:
    both = [trust.folder / f"{name}.pem" for name in ("ca", "other")]
    (trust.folder / "both.pem").write_bytes(b"".join(path.read_bytes() for path in both))
    async with Calls(*LOOPBACK) as calls, answering(SHORT, tls=trust.server()) as target:
        calls.names |= {"erp.example": ["127.0.0.1"], "ERP.example": ["127.0.0.1"]}
        order = [_other(one, target.port, trust) for one in ("nothing", what)]
        for url, tls in (order if first else order[::-1]) * 2:
            assert (await calls.to(url, **tls)).how == "done"
        assert len(target.wires) == connections


async def test_a_connection_serves_no_untrusting_call(trust: Trust) -> None:
    """One to an authority that is not the caller's is refused, whoever was called before."""
    async with Calls() as calls, answering(SHORT, NEXT, tls=trust.server()) as target:
        assert (await calls.to(target.url, tls=trust.ca)).how == "done"
        for tls in (None, Tls(ca=str(trust.folder / "other.pem"))):
            found = await calls.to(target.url, tls=tls)
            assert (found.how, found.reason) == ("network", CERTIFICATE)
        assert (await calls.to(target.url, tls=trust.ca)).text == "next"
        assert len(target.requests) == 2


async def test_a_plain_connection_serves_no_secure_call(trust: Trust) -> None:
    """Nor the other way round: same host, same port, another scheme."""
    async with Calls() as calls, serving(_speaks_plainly) as (url, wires):
        assert (await calls.to(url)).how == "done"
        found = await calls.to(url.replace("http:", "https:"), tls=trust.ca)
        assert (found.how, found.reason, len(wires)) == ("network", HANDSHAKE, 2)


async def test_a_file_that_changed_is_another_trust(trust: Trust, tmp_path: Path) -> None:
    ca = tmp_path / "ca.pem"
    ca.write_bytes((trust.folder / "ca.pem").read_bytes())
    tls = Tls(ca=str(ca))
    async with Calls() as calls, answering(SHORT, NEXT, tls=trust.server()) as target:
        assert (await calls.to(target.url, tls=tls)).how == "done"
        ca.write_bytes((trust.folder / "other.pem").read_bytes() + b"\n")
        assert (await calls.to(target.url, tls=tls)).reason == CERTIFICATE
        ca.unlink()
        found = await calls.to(target.url, tls=tls)
        assert (found.how, found.reason) == ("network", "the TLS files cannot be used: ca.pem")
        assert len(target.requests) == 1


async def test_no_renegotiation(trust: Trust) -> None:
    """A server that asks for another handshake in the middle of a call ends the call."""
    trust.server("127.0.0.1")
    server = await asyncio.create_subprocess_exec(
        "openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_2",
        "-cert", str(trust.folder / "server.pem"),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert server.stdin is not None
    assert server.stdout is not None
    port = (await _until_line(server.stdout, b"ACCEPT")).rpartition(b":")[2].decode().strip()
    async with Calls() as calls:
        call = asyncio.create_task(
            calls.to(f"https://127.0.0.1:{port}/", tls=trust.ca, timeout_s=5.0)
        )
        await _until_line(server.stdout, b"content-type")
        server.stdin.write(b"R\n")
        await server.stdin.drain()
        found = await call
    server.kill()
    await server.communicate()
    assert found.how == "network", found
    await turns()


async def _until_line(stream: asyncio.StreamReader, begin: bytes) -> bytes:
    while not (line := await stream.readline()).startswith(begin):
        assert line, "the server ended"
    return line
