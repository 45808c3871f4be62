"""Where other routers call the admin listener, and by which names it may be called."""

import socket

import pytest

from router.model.settings import ListenerTls, ServerSettings
from router.wiring.listeners import admin_address, admin_names

HOST = socket.gethostname()


@pytest.mark.parametrize(
    ("listen", "advertised", "address"),
    [
        ("127.0.0.1:8001", None, None),
        ("[::1]:8001", None, None),
        ("localhost:8001", None, None),
        ("0.0.0.0:8001", None, f"http://{HOST}:8001"),
        ("[::]:8001", None, f"http://{HOST}:8001"),
        (":8001", None, f"http://{HOST}:8001"),
        ("10.0.0.5:8001", None, "http://10.0.0.5:8001"),
        ("0.0.0.0:8001", "10.0.0.5", "http://10.0.0.5:8001"),
        ("0.0.0.0:8001", "[fd00::5]", "http://[fd00::5]:8001"),
        ("0.0.0.0:8001", "[fd00::5]:9", "http://[fd00::5]:9"),
        ("127.0.0.1:8001", "127.0.0.1", "http://127.0.0.1:8001"),
        ("127.0.0.1:8001", "router-1.lan:9", "http://router-1.lan:9"),
    ],
)
def test_others_call_it_where_they_reach_it(
    listen: str, advertised: str | None, address: str | None
) -> None:
    server = ServerSettings(admin=listen, admin_advertise=advertised)
    assert admin_address(server) == address


def test_with_a_certificate_they_call_it_by_tls() -> None:
    server = ServerSettings(admin="10.0.0.5:8001", admin_tls=ListenerTls("cert.pem"))
    assert admin_address(server) == "https://10.0.0.5:8001"


def test_it_may_be_called_by_the_name_that_others_use() -> None:
    server = ServerSettings(admin_advertise="router-1.lan:9", admin_hosts=("ops.lan",))
    assert admin_names(server) == ("ops.lan", "router-1.lan")
    assert admin_names(ServerSettings()) == ()
