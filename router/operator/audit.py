"""Lines of the audit, in the store and in the log: who changed what."""

from typing import Any

import msgspec

from router import log
from router.clock import Clock
from router.model.ids import Ids
from router.model.operations import Audit
from router.operator.requests import By
from router.store.protocol import OperatorStore


class AuditTrail:
    """Makes lines of the audit."""

    def __init__(self, store: OperatorStore, clock: Clock, ids: Ids) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids
        self._log = log.get("audit")

    def line(self, by: By, verb: str, asked: dict[str, Any], id_: str | None = None) -> Audit:
        """A line, for a verb of the store to write with what it changes."""
        now = self._clock.now()
        made = id_ or self._ids.new("aud", now)
        return Audit(made, now, by.who, verb, asked, peer=by.peer, way=by.way)

    def log(self, line: Audit, count: int | None = None) -> None:
        """Put a line that the store has into the log, too."""
        values = {name: getattr(line, name) for name in ("id", "who", "asked", "peer", "way")}
        values["count"] = count
        self._log.info(line.verb, **{n: value for n, value in values.items() if value is not None})

    async def note(self, by: By, verb: str, asked: dict[str, Any], count: int) -> None:
        """Add a line for a change that the store itself does not make: a reload, a pause."""
        line = msgspec.structs.replace(self.line(by, verb, asked), count=count)
        await self._store.note(line)
        self.log(line, count)
