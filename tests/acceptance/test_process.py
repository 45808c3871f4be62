"""What the other tests stand on: ports that stay theirs until their router listens."""

import socket

import pytest

from tests.acceptance.process import free_ports


def test_a_port_that_was_given_is_kept_for_the_server_that_listens_on_it() -> None:
    (port,) = free_ports(1)
    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)) as server:
        assert server.getsockname()[1] == port
