"""Lines of the audit for what a command itself does to a store."""

import os
import pwd
import random
import secrets
import socket
import time
from contextlib import suppress
from typing import Any

from router.model.ids import Ids
from router.model.operations import Audit
from router.operator.requests import LOCAL


def local_line(verb: str, asked: dict[str, Any]) -> Audit:
    """A line of now, by whoever runs this command."""
    now = time.time_ns() // 1_000_000
    ids = Ids(random.Random(secrets.randbits(128)))  # noqa: S311 - an id, not a secret
    user = str(os.getuid())
    with suppress(KeyError):  # a container's user may have no name
        user = pwd.getpwuid(os.getuid()).pw_name
    peer = f"{user}@{socket.gethostname()}"
    return Audit(ids.new("aud", now), now, LOCAL.who, verb, asked, peer=peer, way=LOCAL.way)
