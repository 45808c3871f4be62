"""The keys of the terminal view."""

import asyncio
import os
import sys
import termios
import tty
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from router.cli.listening.forwarder import Forwarder
from router.cli.listening.plain import curl, shown
from router.cli.listening.screen import ScreenView
from router.cli.listening.target import Forwarded

_UP, _DOWN = b"\x1b[A", b"\x1b[B"


@dataclass(eq=False)
class KeyCommands:
    """What each key does; `ended` is set by `q`. `pages` and an id are the address of a page."""

    screen: ScreenView
    listener: Forwarder
    to: str
    pages: str
    browse: Callable[[str], bool]
    _tasks: set[asyncio.Task[object]] = field(default_factory=set, init=False)
    ended: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def pressed(self, data: bytes) -> None:
        """Bytes of the keyboard: one key, or several that came at once."""
        moves = {"k": 1, "j": -1}
        actions: Mapping[str, Callable[[Forwarded], object]] = {
            "r": self._retry,
            "s": lambda chosen: self._note(shown(chosen.arrived)),
            "o": self._open,
            "c": lambda chosen: self._note(curl(chosen.arrived, self.to)),
        }
        for key in data.replace(_UP, b"k").replace(_DOWN, b"j").decode("latin-1"):
            if key == "q":
                self.ended.set()
            elif key in moves:
                self.screen.select(moves[key])
            elif key in actions and (chosen := self.screen.selected) is not None:
                actions[key](chosen)

    def _note(self, text: str) -> None:
        self.screen.note(text, "default")

    def _retry(self, chosen: Forwarded) -> None:
        if chosen.again_in_s is not None:
            self.listener.hurry()
            return
        task = asyncio.ensure_future(self.listener.again(chosen.arrived, chosen.attempt + 1))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _open(self, chosen: Forwarded) -> None:
        url = self.pages + chosen.arrived.id
        self._note(url)
        self.browse(url)


@contextmanager
def reading(pressed: Callable[[bytes], None]) -> Iterator[None]:
    """Keys as they are pressed, until the end; then the terminal is as it was."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()
    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, lambda: pressed(os.read(descriptor, 64)))
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def browse(environ: Mapping[str, str]) -> Callable[[str], bool]:
    """Opens a page where there is a desktop; elsewhere its address, printed, must do."""
    has_desktop = (
        sys.platform == "darwin" or environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")
    )
    return webbrowser.open if has_desktop else lambda _: False
