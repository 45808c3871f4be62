"""A Python process of ours, on a socket, that ends with us."""

import os
import socket
import sys
from collections.abc import Mapping
from io import FileIO

from router.actions.child import Child


class Tethered:
    """
    A running `python -m MODULE SOCKET TIE BYTES`: descriptors, and the memory it may use.

    Nothing is ever written to the pipe TIE: the process and its group go when our end of it closes,
    as it does when we are killed. It inherits nothing else.

    Raises:
        OSError, ValueError, SubprocessError: it cannot be started.
    """

    def __init__(self, module: str, folder: str, env: Mapping[str, str], memory: int) -> None:
        ours, theirs = socket.socketpair()
        tied, tie = map(FileIO, os.pipe(), ("rb", "wb"))
        passed = (theirs.fileno(), tied.fileno())
        command = [sys.executable, "-P", "-u", "-X", "utf8", "-X", "faulthandler"]
        command += ["-m", module, *map(str, passed), str(memory)]
        try:
            self.child = Child(command, env, folder, None, pass_fds=passed, whole_group=True)
        except BaseException:
            ours.close()
            tie.close()
            raise
        finally:
            theirs.close()
            tied.close()
        ours.setblocking(False)
        self.socket, self._tie = ours, tie

    def close(self) -> None:
        """Let go of it; if it still runs it is killed with its group."""
        self.socket.close()
        self._tie.close()
        self.child.close()
