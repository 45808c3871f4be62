"""A command on a terminal of its own."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress


def on_a_terminal(
    command: Sequence[str], *, environ: Mapping[str, str], lines: int = 24, columns: int = 80
) -> tuple[int, str]:
    """Its exit code, and all that it shows on a terminal of this size; nobody types anything."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    # A runner of tests says how large its own terminal is.
    env = {name: value for name, value in environ.items() if name not in ("LINES", "COLUMNS")}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # EIO: the last that had it open is gone
        while piece := os.read(ours, 65_536):
            shown += piece
    os.close(ours)
    return process.wait(), shown.decode().replace("\r\n", "\n")
