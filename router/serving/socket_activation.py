"""Listening sockets of a service manager, which stay open over restarts: in the way of systemd."""

import os
import socket
from collections.abc import Mapping

from router.errors import CannotListen

NAMES = ("listen", "admin")
"""What a socket may be for: the settings of `server:` that it stands in for."""
FIRST = 3
"""The descriptors before it are stdin, stdout and stderr."""


def activated_sockets(
    environ: Mapping[str, str], pid: int, first: int = FIRST
) -> dict[str, socket.socket]:
    """
    The sockets that were meant for the process `pid`, by what each is for; none without a manager.
    They are the descriptors from `first` on.

    Raises:
        CannotListen: one has a name that says nothing to us, or is none that we can listen on.
    """
    count = environ.get("LISTEN_FDS", "")
    if environ.get("LISTEN_PID") != str(pid) or not count.isdecimal() or not int(count):
        return {}
    names = environ.get("LISTEN_FDNAMES", "").split(":")
    names += ["unknown"] * (int(count) - len(names))
    for place, name in enumerate(names):
        if name not in NAMES or name in names[:place]:
            raise CannotListen(
                f"the service manager hands over a socket named '{name}': name one 'listen' for "
                "deliveries and, if it is to hold that too, another 'admin' (FileDescriptorName=, "
                "each in a .socket unit of its own)"
            )
    return {name: _taken(name, number) for number, name in enumerate(names, first)}


def _taken(name: str, descriptor: int) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)  # no command of an action is to have it
        given = socket.socket(fileno=descriptor)
        listens = given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise CannotListen(f"the socket '{name}' was not handed over: {error.strerror}") from error
    if not listens or given.family not in (socket.AF_INET, socket.AF_INET6):
        given.close()
        raise CannotListen(
            f"the socket '{name}' of the service manager does not listen on a TCP port: "
            "write ListenStream=PORT or ADDRESS:PORT, without Accept=yes"
        )
    given.setblocking(False)
    return given
