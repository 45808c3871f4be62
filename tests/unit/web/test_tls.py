"""The public listener with a certificate: what is spoken and refused, and how it is renewed."""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from router.clock import SystemClock
from router.errors import SecretMissing
from router.model.settings import Limits
from router.web.connections import Wire
from router.web.ingest import Ingest
from router.web.server import Listener
from router.web.tls import Certificate
from tests.certificates import write_certificate
from tests.unit.web.wire_client import FakeIntake, serving
from tests.unit.web.wire_requests import post


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    return Certificate(*write_certificate(tmp_path, "hooks.example.com"))


@pytest.fixture
async def listener(certificate: Certificate) -> AsyncIterator[Listener]:
    intake: Any = FakeIntake()
    door = Ingest(intake, clock=SystemClock())
    wire = Wire(Limits(header_s=0.5), door, linger_s=0.2)
    listener = Listener("127.0.0.1:0", wire, certificate.context)
    await listener.start()
    yield listener
    await listener.stop(1)


def trusting(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


async def asked(listener: Listener, context: ssl.SSLContext | None) -> tuple[bytes, object]:
    """The answer to one request, and the connection's ssl object."""
    name = "hooks.example.com" if context else None
    reader, writer = await asyncio.open_connection(
        *listener.bound, ssl=context, server_hostname=name
    )
    writer.write(b"POST /wh_x HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    try:
        answer = await reader.read()
    except ConnectionError:
        answer = b""
    found = writer.get_extra_info("ssl_object")
    writer.close()
    return answer, found


def test_it_says_when_what_is_served_ends(tmp_path: Path, certificate: Certificate) -> None:
    assert certificate.ends_at is not None
    assert abs(certificate.ends_at / 1000 - time.time() - 86_400) < 600
    (tmp_path / "cert.pem").write_text("none")
    certificate.serve(certificate.context)
    assert certificate.ends_at is None


async def test_requests_are_answered_over_http_1_1(listener: Listener, tmp_path: Path) -> None:
    answer, link = await asked(listener, trusting(tmp_path))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert isinstance(link, ssl.SSLObject)
    assert link.selected_alpn_protocol() == "http/1.1"


async def test_deliveries_are_taken(certificate: Certificate, tmp_path: Path) -> None:
    async with serving(tls=certificate.context) as server:
        reader, writer = await asyncio.open_connection(
            *server.listener.bound, ssl=trusting(tmp_path), server_hostname="hooks.example.com"
        )
        for _ in range(2):
            writer.write(post(b"{}"))
            assert (await reader.readuntil(b"}")).endswith(b'{"status":"accepted"}')
        writer.close()
        assert server.intake.groups == [1, 1]
        assert [request.peer for request in server.intake.accepted] == ["127.0.0.1"] * 2


def left_open(address: tuple[str, int], context: ssl.SSLContext) -> ssl.SSLSocket:
    """A connection that has been answered and closed, and does not close its own side."""
    link = context.wrap_socket(
        socket.create_connection(address), server_hostname="hooks.example.com"
    )
    link.sendall(post(b"{}", head=b"connection: close\r\n"))
    while link.recv(65_536):
        pass
    return link


async def test_a_stop_drops_who_does_not_close(certificate: Certificate, tmp_path: Path) -> None:
    async with serving(linger_s=60, tls=certificate.context) as server:
        bound, context = server.listener.bound, trusting(tmp_path)
        with await asyncio.to_thread(left_open, bound, context):
            assert len(server.wire.open) == 1
            await server.listener.stop(0.1)
            assert len(server.wire.open) == 0


async def test_nothing_older_than_tls_1_2_is_spoken(certificate: Certificate) -> None:
    assert certificate.context.minimum_version == ssl.TLSVersion.TLSv1_2


async def test_plain_requests_get_no_answer(listener: Listener) -> None:
    answer, _ = await asked(listener, None)
    assert not answer.startswith(b"HTTP/1.1 200")


@pytest.mark.long
async def test_a_handshake_that_never_ends_is_ended(listener: Listener) -> None:
    """By the deadline of a head: what comes before it is no better."""
    reader, writer = await asyncio.open_connection(*listener.bound)
    async with asyncio.timeout(5):
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
    writer.close()


async def test_a_new_certificate_is_for_new_connections(
    listener: Listener, certificate: Certificate, tmp_path: Path
) -> None:
    old = trusting(tmp_path)
    write_certificate(tmp_path, "hooks.example.com")
    certificate.serve(certificate.read())
    assert (await asked(listener, trusting(tmp_path)))[0].startswith(b"HTTP/1.1 200 ")
    with pytest.raises(ssl.SSLCertVerificationError):
        await asked(listener, old)


async def test_a_wrong_certificate_leaves_the_old_one_in_use(
    listener: Listener, certificate: Certificate, tmp_path: Path
) -> None:
    """Half-written, and one whose key is another's."""
    context = trusting(tmp_path)
    whole = (tmp_path / "cert.pem").read_text()
    other = tmp_path / "other"
    other.mkdir()
    write_certificate(other, "hooks.example.com")
    for text in (whole[: len(whole) // 2], (other / "cert.pem").read_text(), ""):
        (tmp_path / "cert.pem").write_text(text)
        with pytest.raises(SecretMissing, match=r"server\.tls: .*cert\.pem"):
            certificate.serve(certificate.read())
        assert (await asked(listener, context))[0].startswith(b"HTTP/1.1 200 ")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    cert, key = write_certificate(tmp_path, "a")
    with pytest.raises(SecretMissing, match=r"none\.pem cannot be read: no such file"):
        Certificate(cert, str(tmp_path / "none.pem"))
    with pytest.raises(SecretMissing, match=r"key is not that of|not a certificate"):
        Certificate(cert, cert)
    assert Certificate(cert, key).files == (Path(cert), Path(key))


def test_a_locked_key_is_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    """A server has no terminal to ask on."""
    cert, key = write_certificate(tmp_path, "a", password=b"secret")
    with pytest.raises(SecretMissing, match="locked by a password"):
        Certificate(cert, key)
