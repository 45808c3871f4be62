"""What an operator does for who wants to be forgotten: a plan, the erasure, how far it is."""

from collections import Counter

import msgspec

from router.clock import Clock
from router.errors import UsageError
from router.model.erasure import Erasure
from router.model.ids import Ids
from router.operator.audit import AuditTrail
from router.operator.erasing import FACTS, Eraser, check_room, is_open
from router.operator.erasure_answers import ErasedFrom, ErasurePlan, ErasureProgress, Erasures
from router.operator.id_lookup import present, whole_ids
from router.operator.replay_source import frozen
from router.operator.requests import LOCAL, By, EraseRequest
from router.operator.subject import SubjectData
from router.store.protocol import OperatorStore

LOOKED_AT = 10_000
"""Deliveries found, up to which a plan is whole."""
FILE = "Backups made before, logs, and what was sent to other systems, are not reached."
REMAINS = (
    " Unused parts of the store's file may hold remains until they are used again, or until "
    "--vacuum."
)
DATABASE = (
    "Backups, logs, standbys and archives of the database, and what was sent to other systems, are "
    "not reached; when removed rows leave the database's own files is up to its VACUUM."
)


class EraseVerbs:
    """Erases one person's data."""

    erasures: Eraser
    audit: AuditTrail
    _store: OperatorStore
    _clock: Clock
    _ids: Ids
    _patience_s: float | None

    async def plan_erase(self, request: EraseRequest, by: By = LOCAL) -> ErasurePlan:
        """
        What `erase` would take out; changes nothing. With the plan's `until` in its selector
        `erase` does exactly that.

        Raises: as `erase`.
        """
        request = await self._frozen(request, by)
        search = self.erasures.search(request, by)
        found, reached, seen = _Plan(), None, 0
        while True:
            page = await search.after(reached)
            for data in page.found:
                found.add(data)
            seen += len(page.found)
            reached = page.reached
            if reached is None or seen >= LOOKED_AT:
                break
        where = search.where
        return ErasurePlan(
            seen,
            found.events,
            found.jobs,
            found.open,
            tuple([ErasedFrom(*key, n) for key, n in found.parts.most_common()]),
            whole=reached is None,
            until=request.selector.until if request.selector else None,
            failed=where.failed if where else 0,
            reason=where.reason if where else None,
            vacuum=await self._store.vacuum_room() if request.vacuum else None,
        )

    async def erase(self, request: EraseRequest, by: By = LOCAL) -> ErasureProgress:
        """
        Erase it: what has open jobs as soon as these have ended. The audit keeps that it happened,
        and no more than a digest of the condition.

        Raises:
            Forbidden: it has a condition, and `by` may not see payloads.
            NotFound: an id is unknown.
            UsageError: nothing was selected, the condition is wrong, or there is no room for
                `vacuum`.
        """
        request = await self._frozen(request, by)
        now = self._clock.now()
        vacuum = "due" if request.vacuum else None
        erasure = Erasure(self._ids.new("ers", now), now, request.as_json(), vacuum=vacuum)
        line = self.audit.line(by, "erase", request.told(), erasure.id)
        await self._store.note(line)
        await self._store.remember({FACTS + erasure.id: msgspec.to_builtins(erasure)})
        self.audit.log(line)
        return self._progress_of(await self.erasures.go_on(erasure, self._patience_s))

    async def known_erasures(self) -> Erasures:
        """Erasures that have not ended, and those of the last day that have."""
        return Erasures(tuple([self._progress_of(one) for one in await self.erasures.known()]))

    async def erasure(self, id_: str) -> ErasureProgress:
        """How far an erasure is. Raises NotFound."""
        found = [one for one in (await self.known_erasures()).erasures if one.id == id_]
        return present(next(iter(found), None), f"erasure {id_}")

    async def _frozen(self, request: EraseRequest, by: By) -> EraseRequest:
        """The request as of now, its ids whole. Raises NotFound, UsageError."""
        request.check()
        ids = await whole_ids(self._store.reads, request.ids)
        if any(not id_.startswith("dlv_") for id_ in ids):
            raise UsageError("whole deliveries are erased: name these, not their jobs")
        selector = request.selector and frozen(request.selector, self._clock.now())
        request = msgspec.structs.replace(request, ids=ids, selector=selector)
        await self.erasures.search(request, by).check()
        if request.vacuum:
            check_room(await self._store.vacuum_room())
        return request

    def _progress_of(self, one: Erasure) -> ErasureProgress:
        more = {"state": one.state, "waiting": len(one.waiting)}
        known = msgspec.structs.asdict(one) | more | {"unreachable": self._unreachable(one)}
        return msgspec.convert(known, ErasureProgress)

    def _unreachable(self, one: Erasure) -> str:
        if self._store.reads.shared:
            return DATABASE
        return FILE if one.vacuum == "done" else FILE + REMAINS


class _Plan:
    def __init__(self) -> None:
        self.parts: Counter[tuple[str, str]] = Counter()
        self.events = self.jobs = self.open = 0

    def add(self, data: SubjectData) -> None:
        one = data.stored.delivery
        self.parts[one.endpoint, one.state] += 1
        known = {entry.index for entry in data.stored.events}
        self.events += len(known if data.whole else known & data.events)
        self.jobs += len(data.jobs)
        self.open += is_open(data.stored.history)
