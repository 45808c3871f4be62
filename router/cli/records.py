"""What the reading commands ask: of the store here, or of the router that `--server` names."""

from typing import TYPE_CHECKING, Protocol, TypeVar

import click
import msgspec

from router.cli.admin import AdminClient, NoServer, NotADoor, OtherStore
from router.cli.filtering import list_stored, search
from router.cli.generations import rules_to_read
from router.cli.open_store import read_store
from router.cli.options import Options
from router.cli.output import note
from router.clock import SystemClock
from router.errors import NotFound, RouterError
from router.model.delivery import DeliverySummary
from router.model.job import Job
from router.model.operations import Audit, Cause
from router.store.common.death_causes import by_cause
from router.store.values import DeliveryRecord, Generation, Selector, Stored
from router.web.admin.answers import ToldRule

if TYPE_CHECKING:
    from router.rules.ruleset import Ruleset
    from router.store.sqlite.reader import SqliteReader

T = TypeVar("T")

_AT_ONCE = 50
_COUNTS_WITHIN_S = 2.0
"""A server that takes longer to write its counts is not waited for: the store tells the rest."""


class Records(Protocol):
    """Stored work, newest first. An id may be cut short, as long as it fits one thing alone."""

    def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]: ...

    def jobs(self, selector: Selector) -> tuple[Job, ...]: ...

    def causes(self, selector: Selector) -> tuple[Cause, ...]:
        """Dead jobs by what they died of, the latest first."""
        ...

    def record(self, identity: str) -> DeliveryRecord:
        """
        The delivery of that id; of a job's id, its delivery with that job alone.

        Raises:
            NotFound: nothing has it, or several have.
        """
        ...

    def generation(self, identity: str) -> Generation | None: ...

    def audited(self, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]: ...

    def rules(self) -> tuple[ToldRule, ...]:
        """The rules in file order, then those that are gone but have open jobs."""
        ...


def records_of(place: Options) -> Records:
    """
    The records that a command is about: those of the server that `--server` names, else the store
    of the rules file here.
    """
    if place.server is not None:
        from router.cli.remote import ServerRecords

        return ServerRecords(click.get_current_context().with_resource(AdminClient.of(place)))
    return StoreRecords(*rules_to_read(place))


class StoreRecords:
    """Those of the store of these rules, whether a server runs or not."""

    def __init__(self, place: Options, ruleset: "Ruleset") -> None:
        self._place = place
        self._ruleset = ruleset
        self._store = ruleset.server.store

    def deliveries(self, selector: Selector) -> tuple[DeliverySummary, ...]:
        """With how often each came, as of now."""

        async def found(reader: "SqliteReader") -> tuple[DeliverySummary, ...]:
            if selector.where is None:
                return await reader.deliveries(selector)
            ids = [stored.delivery.id for stored in await self._fitting(reader, selector)]
            listed: list[DeliverySummary] = []
            for start in range(0, len(ids), _AT_ONCE):
                some = tuple(ids[start : start + _AT_ONCE])
                listed += await reader.deliveries(Selector(ids=some, limit=_AT_ONCE))
            return tuple(listed)

        self._have_counts_written("/api/deliveries?limit=1")
        return list_stored(selector, self._ruleset, found)

    def jobs(self, selector: Selector) -> tuple[Job, ...]:
        """Jobs, each whole."""

        async def found(reader: "SqliteReader") -> tuple[Job, ...]:
            if selector.where is None:
                return await reader.jobs(selector)
            fitting = await self._fitting(reader, selector, jobs=True)
            return tuple(job for stored in fitting for job in stored.jobs)

        return list_stored(selector, self._ruleset, found)

    def causes(self, selector: Selector) -> tuple[Cause, ...]:
        """As the store counts them; with a condition, as we do."""
        if selector.where is not None:
            return causes_of(self.jobs(selector))
        return list_stored(selector, self._ruleset, lambda reader: reader.causes(selector))

    def record(self, identity: str) -> DeliveryRecord:
        """With how often it came, as of now. Raises NotFound."""
        self._have_counts_written("/api/deliveries?limit=1")
        found = read_store(self._store, lambda reader: _find(reader, identity), absent=None)
        if found is None:
            raise NotFound(f"nothing here has the id {identity!r}; `router deliveries` lists ids")
        return found

    def generation(self, identity: str) -> Generation | None:
        """One that was kept."""
        return read_store(self._store, lambda reader: reader.generation(identity), absent=None)

    def audited(self, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]:
        """Who changed what."""
        return read_store(
            self._store, lambda reader: reader.audited(since, until, limit), absent=()
        )

    def rules(self) -> tuple[ToldRule, ...]:
        """The rules of the file, beside what the store knows of them as of now."""
        from router.web.admin.told import told_rules

        async def read(reader: "SqliteReader") -> tuple[ToldRule, ...]:
            jobs, counts = await reader.counts(), await reader.rule_counts()
            return told_rules(self._ruleset, jobs, counts, now)

        now = SystemClock().now()
        self._have_counts_written("/api/rules")
        unknown = told_rules(self._ruleset, {}, {}, now)
        return read_store(self._store, read, absent=unknown, quiet=True)

    async def _fitting(
        self, reader: "SqliteReader", selector: Selector, *, jobs: bool = False
    ) -> list[Stored]:
        return await search(reader, selector, self._ruleset, jobs=jobs)

    def _have_counts_written(self, route: str) -> None:
        """
        A running server counts copies, and what rules do, in memory first: have it write them.
        If it cannot be asked, say that the counts are older.
        """
        try:
            with AdminClient.of(self._place, self._ruleset, timeout_s=_COUNTS_WITHIN_S) as door:
                door.write_counts(route)
        except (NoServer, NotADoor, OtherStore):
            return
        except (click.ClickException, RouterError) as error:
            note(f"counts may be some seconds old: {error}")


def causes_of(jobs: tuple[Job, ...]) -> tuple[Cause, ...]:
    """Why these jobs died."""
    return by_cause((j.rule, j.action, j.target, j.reason, j.id, j.ended_at or 0) for j in jobs)


def with_job_alone(record: DeliveryRecord, job: Job) -> DeliveryRecord:
    """A delivery, of which nothing but this job is to be seen."""
    return msgspec.structs.replace(
        record,
        events=tuple(e for e in record.events if e.index == job.event_index),
        jobs=(job,),
        attempts=tuple(a for a in record.attempts if a.job == job.id),
    )


async def _find(reader: "SqliteReader", identity: str) -> DeliveryRecord | None:
    if identity.startswith("job_"):
        return await _find_job(reader, identity)
    whole = identity if identity.startswith("dlv_") else f"dlv_{identity}"
    found = await reader.delivery(whole)
    if found is None and not identity.startswith("dlv_"):
        return await _find_job(reader, f"job_{identity}")
    return found


async def _find_job(reader: "SqliteReader", identity: str) -> DeliveryRecord | None:
    job = await reader.job(identity)
    record = None if job is None else await reader.delivery(job.delivery)
    return None if job is None or record is None else with_job_alone(record, job)
