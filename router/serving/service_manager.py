"""What a service manager wants to know, said in the words of systemd; to nobody else, nothing."""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from router.clock import Clock

_US = 1_000_000


class ServiceManager:
    """
    Whoever started this process and gave it NOTIFY_SOCKET; without that every word is dropped.

    A word that does not arrive is not worth a fault: the manager has its own time-outs.
    """

    def __init__(self, environ: Mapping[str, str], clock: Clock) -> None:
        self._clock = clock
        name = environ.get("NOTIFY_SOCKET", "")  # a path, or @ and one of Linux's abstract names
        self._address = name.replace("@", "\0", 1) if name.startswith(("/", "@")) else None
        self.watchdog_s = _watchdog(environ) if self._address else None

    def ready(self) -> None:
        """It can take deliveries; also: a reload is done."""
        self._say("READY=1")

    def reloading(self) -> None:
        """A reload begins."""
        self._say(f"RELOADING=1\nMONOTONIC_USEC={int(self._clock.monotonic() * _US)}")

    def stopping(self) -> None:
        """It drains."""
        self._say("STOPPING=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._say(f"STATUS={' '.join(text.split())}")

    async def watch(self) -> None:
        """Say for ever that the loop turns, twice in the time after which we would be killed."""
        while True:
            await self._clock.sleep((self.watchdog_s or 2 * 3600.0) / 2)
            self._say("WATCHDOG=1")

    def _say(self, words: str) -> None:
        if self._address is None:
            return
        with (
            suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as link,
        ):
            link.setblocking(False)
            link.sendto(words.encode("utf-8", "replace"), self._address)


def _watchdog(environ: Mapping[str, str]) -> float | None:
    """Seconds, if the watchdog is meant for this process and not for its parent."""
    if environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    text = environ.get("WATCHDOG_USEC", "")
    return int(text) / _US if text.isdecimal() and int(text) else None
