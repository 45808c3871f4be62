"""What a server is started with."""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from router.wiring.rules import Overrides


class ServeOptions(msgspec.Struct, frozen=True):
    """
    What `router serve` is started with. `hold`: no job runs until somebody resumes. `human`: the
    log is for a terminal. `sockets`: what a service manager keeps open, by the setting in whose
    place they stand. `listens`: False inside another server, which has the sockets, signals and
    the process. `on_ready` is called once, when every listener accepts connections.
    """

    rules: Path
    dev: bool = False
    dry: bool = False
    hold: bool = False
    overrides: Overrides = Overrides()
    human: bool = False
    sockets: Mapping[str, socket.socket] = {}
    listens: bool = True
    on_ready: Callable[[], None] | None = None
