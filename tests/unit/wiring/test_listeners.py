"""By which names the admin listener may be called."""

import socket

import pytest

from router.model.settings import ServerSettings
from router.wiring.listeners import admin_names

HOST = socket.gethostname()


@pytest.mark.parametrize(
    ("listen", "names"),
    [
        ("127.0.0.1:8001", ()),
        ("[::1]:8001", ()),
        ("10.0.0.5:8001", ()),
        ("0.0.0.0:8001", (HOST,)),
        ("[::]:8001", (HOST,)),
        (":8001", (HOST,)),
    ],
)
def test_one_that_is_open_everywhere_is_called_by_the_machine_s_name(
    listen: str, names: tuple[str, ...]
) -> None:
    assert admin_names(ServerSettings(admin=listen)) == names
    server = ServerSettings(admin=listen, admin_hosts=("ops.lan",))
    assert admin_names(server) == ("ops.lan", *names)
