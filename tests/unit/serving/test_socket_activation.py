"""The sockets that a service manager hands over."""

import os
import socket
from collections.abc import Iterator

import pytest

from router.errors import CannotListen
from router.serving.socket_activation import activated_sockets

FIRST = 250
"""The descriptors from here on are not in use, as those from 3 on in a fresh process."""


def handed(*given: socket.socket, names: str) -> dict[str, socket.socket]:
    """What a process finds to which a manager gives these."""
    for number, one in enumerate(given, FIRST):
        os.dup2(one.fileno(), number)
    environ = {"LISTEN_PID": "7", "LISTEN_FDS": str(len(given)), "LISTEN_FDNAMES": names}
    return activated_sockets(environ, 7, FIRST)


@pytest.fixture
def listening() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as one:
        yield one


@pytest.fixture(autouse=True)
def closed_afterwards() -> Iterator[None]:
    yield
    os.closerange(FIRST, FIRST + 5)


def test_each_is_known_by_its_name(listening: socket.socket) -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as other:
        found = handed(listening, other, names="admin:listen")
        assert {name: one.getsockname() for name, one in found.items()} == {
            "admin": listening.getsockname(),
            "listen": other.getsockname(),
        }
    for one in found.values():
        assert not one.getblocking()
        assert not one.get_inheritable()
        one.detach()


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"LISTEN_FDS": "1", "LISTEN_FDNAMES": "listen"},
        {"LISTEN_PID": "8", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "listen"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "one"},
        {"LISTEN_PID": "7", "LISTEN_FDS": "0"},
    ],
)
def test_what_is_not_meant_for_us_is_left_alone(environ: dict[str, str]) -> None:
    assert activated_sockets(environ, 7, FIRST) == {}


@pytest.mark.parametrize("names", ["router.socket", "unknown", "public"])
def test_a_name_that_says_nothing_is_refused(listening: socket.socket, names: str) -> None:
    with pytest.raises(CannotListen, match=f"named '{names}': name one 'listen'"):
        handed(listening, names=names)


def test_two_for_one_purpose_are_refused(listening: socket.socket) -> None:
    with pytest.raises(CannotListen, match="named 'listen'"):
        handed(listening, listening, names="listen:listen")


def test_what_cannot_be_listened_on_is_refused(listening: socket.socket) -> None:
    with (
        socket.create_connection(listening.getsockname()) as accepted,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.socket(socket.AF_UNIX) as local,
    ):
        local.bind("")  # a name of Linux's own choice
        local.listen()
        for one in (accepted, datagrams, local):
            with pytest.raises(CannotListen, match="does not listen on a TCP port"):
                handed(one, names="listen")
    with pytest.raises(CannotListen, match="was not handed over"):
        activated_sockets(
            {"LISTEN_PID": "7", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "listen"}, 7, FIRST + 1
        )
