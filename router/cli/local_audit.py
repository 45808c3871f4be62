"""Lines of the audit for what a command itself does to a store."""

import random
import secrets
import time
from typing import Any

from router.model.ids import Ids
from router.model.operations import Audit
from router.wiring.offline import operator_here


def local_line(verb: str, asked: dict[str, Any]) -> Audit:
    """A line of now, by whoever runs this command."""
    now, by = time.time_ns() // 1_000_000, operator_here()
    ids = Ids(random.Random(secrets.randbits(128)))  # noqa: S311 - an id, not a secret
    return Audit(ids.new("aud", now), now, by.who, verb, asked, peer=by.peer, way=by.way)
