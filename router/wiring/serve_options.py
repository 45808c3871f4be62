"""What a server is started with."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from router.wiring.rules import Overrides


class ServeOptions(msgspec.Struct, frozen=True):
    """
    What `router serve` is started with. `human`: the log is for a terminal. `on_ready` is called
    once, when every listener accepts connections.
    """

    rules: Path
    dev: bool = False
    dry: bool = False
    overrides: Overrides = Overrides()
    human: bool = False
    on_ready: Callable[[], None] | None = None
