"""A router whose machine stood still while requests came."""

import signal
import socket
import struct
from collections.abc import Iterator

import pytest

from tests.acceptance.conftest import MakeRig
from tests.acceptance.process import PATIENCE_S, RouterProcess

STALL_MS = 1_000
"""Longer than a sender's request may wait for its turn."""
_LAST_DATA_SENT = 44
"""Where TCP_INFO has the milliseconds since something was sent (linux/tcp.h)."""
GET = b"GET %s HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"


@pytest.fixture
def router(make_rig: MakeRig) -> Iterator[RouterProcess]:
    with make_rig("\nrules:\n  - {id: all, from: all, actions: {log: hi}}\n").router() as running:
        yield running


@pytest.mark.parametrize(
    ("port", "path", "status"),
    [
        pytest.param("listen", b"/wh_none", b"503", id="a-sender-is-told-to-come-again"),
        pytest.param("admin", b"/livez", b"200", id="a-person-is-served-late"),
    ],
)
def test_what_came_while_the_machine_stood_still(
    router: RouterProcess, port: str, path: bytes, status: bytes
) -> None:
    router.signal(signal.SIGSTOP)
    try:
        link = socket.create_connection(("127.0.0.1", getattr(router, port)), PATIENCE_S)
        link.sendall(GET % path)
        router.until(lambda: _sent_ms(link) > STALL_MS, "the stall")
    finally:
        router.signal(signal.SIGCONT)
    with link, link.makefile("rb") as answer:
        assert answer.readline().split()[1] == status


def _sent_ms(link: socket.socket) -> int:
    """How long ago the last bytes were sent."""
    info = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_DATA_SENT + 4)
    return int(struct.unpack_from("=I", info, _LAST_DATA_SENT)[0])
