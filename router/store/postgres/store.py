"""The store that several routers share: one PostgreSQL."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Concatenate, ParamSpec, TypeVar

from router.clock import Clock
from router.errors import RouterError, StoreUnavailable, UsageError
from router.model.job import ActionKind, Group, Settlement
from router.model.operations import Audit
from router.model.store_address import DatabaseUrl
from router.model.target import Pause
from router.store.common.copy_counts import CopyCounts
from router.store.postgres import (
    accepting,
    adding,
    audit_log,
    copies,
    erasing,
    holding,
    in_force,
    leasing,
    operations,
    partitions,
    pruning,
    receiving,
    recovering,
    redacting,
    replaying,
    runs,
    schema,
    settling,
)
from router.store.postgres.database import Database, Tx
from router.store.postgres.merging import Merged
from router.store.postgres.nodes import Nodes
from router.store.postgres.notices import tell
from router.store.postgres.reader import PostgresReader
from router.store.removal import Pruned, Retain
from router.store.values import (
    CLOCK_SEEN,
    Acceptance,
    Accepted,
    Died,
    Duplicate,
    LeaseBatch,
    OnCommit,
    Recovered,
    Selector,
    Settled,
    VacuumRoom,
    uncounted,
    untold,
)

T = TypeVar("T")
P = ParamSpec("P")


def _verb(
    function: Callable[Concatenate[Tx, P], Awaitable[T]],
) -> Callable[Concatenate["PostgresStore", P], Coroutine[Any, Any, T]]:
    """A verb of the protocol, which a function does in one transaction."""

    async def verb(self: "PostgresStore", /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._db.transact(lambda tx: function(tx, *args, **kwargs))

    return verb


class PostgresStore:
    """One router's side of the ledger that all of them share."""

    shared = True

    def __init__(self, db: Database) -> None:
        self._db = db
        self.reads = PostgresReader(db, self._write_copies)
        self._accepts = Merged(self._accept_all, db.writers, accepting.load, accepting.keys)
        nodes = Nodes(db)
        self.join, self.beat = nodes.join, nodes.beat
        self.declare_gone, self.claim = nodes.declare_gone, nodes.claim
        self.divide, self.listen = nodes.divide, nodes.listen
        self._ends = Merged(partial(settling.settle_all, db))
        self._copies = copies.Copies()
        self._pruner = pruning.Pruner(db)
        self._counts = CopyCounts(db.clock, partial(self._copies.write, db))
        self._closed = False
        self._proving = asyncio.Lock()
        self.failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        db.damaged = self._fail
        self.fingerprint_key = b""

    async def start(self) -> None:
        """Make the tables if there are none. Raises StoreRefused, StoreUnavailable."""
        await self._db.open()
        await self._db.write.run(schema.make)
        await self._db.write.run(receiving.refuse_unfinished)
        self.fingerprint_key = await self._db.write.run(schema.fingerprint_key)
        await self._db.transact(lambda tx: partitions.prepare(tx, self._db.clock.ledger()))

    # -- intake ----------------------------------------------------------------------------------

    async def accept(self, acceptance: Acceptance) -> Accepted | Duplicate:
        (receipt,) = await self.accept_all((acceptance,))
        if isinstance(receipt, RouterError):
            raise receipt
        return receipt

    def accept_all(
        self, group: Sequence[Acceptance]
    ) -> "asyncio.Future[Sequence[Accepted | Duplicate | RouterError]]":
        if self._closed:
            raise StoreUnavailable("the store is closed")
        return self._accepts.do(group)

    async def _accept_all(
        self, group: Sequence[Acceptance]
    ) -> Sequence[Accepted | Duplicate | RouterError]:
        receipts = await accepting.accept_all(self._db, group, self._db.clock.ledger())
        self._count(group, receipts)
        return receipts

    def _fail(self, reason: str) -> None:
        if not self.failure.done():
            self.failure.set_result(reason)

    # -- dispatch --------------------------------------------------------------------------------

    def lease(
        self,
        slots: Mapping[str, int],
        *,
        lease: str,
        now: int,
        fresh: Mapping[str, Sequence[str]] = {},
        kinds: Mapping[str, ActionKind] = {},
    ) -> Awaitable[LeaseBatch]:
        return leasing.lease(self._db, slots, lease=lease, now=now, fresh=fresh, kinds=kinds)

    async def settle(self, settlement: Settlement, own: Acceptance | None = None) -> Settled:
        (settled,) = await self.settle_all(((settlement, own),))
        if isinstance(settled, RouterError):
            raise settled
        return settled

    def settle_all(
        self, group: Sequence[tuple[Settlement, Acceptance | None]]
    ) -> "asyncio.Future[Sequence[Settled | RouterError]]":
        if self._closed:
            raise StoreUnavailable("the store is closed")
        return self._ends.do(group)

    async def recover(
        self,
        *,
        nodes: Collection[str],
        now: int,
        on_interrupt_dead: frozenset[tuple[str, str]],
        died: Died = untold,
    ) -> Recovered:
        return await recovering.recover(self._db, nodes, now, on_interrupt_dead, died)

    # -- operators and upkeep --------------------------------------------------------------------

    add = _verb(adding.add)
    begin_replay = _verb(replaying.begin)
    replay_step = _verb(replaying.step)
    keep_generation = _verb(operations.keep_generation)
    put_in_force = _verb(in_force.put_in_force)
    count_rules = _verb(operations.count_rules)
    count_activity = _verb(operations.count_activity)
    remember = _verb(operations.remember)
    redact = _verb(redacting.redact)
    note = _verb(audit_log.note)
    erase = _verb(erasing.erase)

    async def ready(self) -> None:
        async with self._proving:
            await self._db.write.run(lambda connection: operations.beat(Tx(self._db, connection)))

    async def recall(self, prefix: str) -> Mapping[str, Any]:
        return await self.reads.recall(prefix)

    async def keep_clock(self) -> int:
        """The database's clock is everybody's, and no router sets it."""
        await self.remember({CLOCK_SEEN: self._db.clock.ledger()})
        return 0

    async def cancel(
        self, selector: Selector, *, reason: str, now: int, audit: Audit | None = None
    ) -> int:
        step = partial(operations.cancel, selector=selector, reason=reason, now=now)
        return await self._in_steps(step, audit, change=selector.replay is not None)

    async def revive(self, selector: Selector, *, now: int, audit: Audit | None = None) -> int:
        return await self._in_steps(partial(operations.revive, selector=selector, now=now), audit)

    async def hold(self, paused: frozenset[str], *, generation: str, now: int = 0) -> int:
        return await self._until_none(
            partial(holding.hold, rules=paused, generation=generation, now=now)
        )

    async def pause_target(self, target: str, *, reason: str, by: str, at: int) -> int:
        pause = partial(holding.pause, target=target, why=Pause(reason, by, at))
        held = await self._db.transact(pause)
        return held + await self._until_none(partial(holding.pause_on, target=target))

    async def resume_target(self, target: str, *, now: int) -> int:
        freed = await self._db.transact(partial(holding.resume, target=target, now=now))
        return freed + await self._until_none(partial(holding.resume_on, target=target, now=now))

    async def _until_none(self, step: Callable[[Tx], Awaitable[int]]) -> int:
        """Step by step, until one changes nothing; how many were changed."""
        changed = 0
        while more := await self._db.transact(step):
            changed += more
        return changed

    async def regroup(
        self, groups: Mapping[str, Group | None], *, generation: str, now: int
    ) -> int:
        step = partial(runs.regroup, groups=groups, generation=generation, now=now)
        return await self._until_none(step)

    async def prune(self, retain: Retain, *, now: int) -> Pruned:
        await self._write_copies()
        return await self._pruner.step(retain, now)

    async def blank(self, texts: Sequence[str], after: str = "") -> str | None:
        return await self._db.transact(lambda tx: erasing.blank(tx, texts, after))

    async def empty_journal(self, name: str) -> bool:  # noqa: ARG002 - it is the database's own
        return True

    async def vacuum_room(self) -> VacuumRoom:
        raise UsageError(
            "the store is a PostgreSQL database, in which its owner does this: `VACUUM (FULL)` in "
            "psql, while no router runs"
        )

    async def vacuum(self) -> None:
        await self.vacuum_room()

    async def _in_steps(
        self,
        step: Callable[..., Awaitable[operations.Step]],
        audit: Audit | None,
        *,
        change: bool = False,
    ) -> int:
        """
        Step by step; each adds what it changed to the audit's line. `change`: it is one, however
        many jobs that are.
        """

        async def audited(tx: Tx, after: str | None) -> operations.Step:
            changed, following = await step(tx, after=after)
            if changed or change:
                await audit_log.note(tx, audit, changed)
                await tell(tx)
            return changed, following

        total = 0
        after: str | None = None
        while True:
            changed, after = await self._db.transact(partial(audited, after=after))
            total += changed
            if after is None:
                return total

    # -- copies ----------------------------------------------------------------------------------

    def _count(
        self, group: Sequence[Acceptance], receipts: Sequence[Accepted | Duplicate | RouterError]
    ) -> None:
        for acceptance, receipt in zip(group, receipts, strict=True):
            if isinstance(receipt, Duplicate):
                self._copies.add(receipt.delivery, acceptance.delivery.received_at)
        if self._copies:
            self._counts.came()

    async def _write_copies(self) -> None:
        await self._counts.stop()
        await self._copies.write(self._db)

    # -- the owner -------------------------------------------------------------------------------

    def journal_bytes(self) -> int:
        """The database keeps its own journal."""
        return 0

    async def close(self) -> None:
        """Let what is under way end, and close every connection."""
        if self._closed:
            return
        self._closed = True
        await self._accepts.close()
        await self._ends.close()
        with contextlib.suppress(StoreUnavailable):  # counts of copies, and nothing else
            await self._write_copies()
        await self._db.close()


async def open_store(
    url: str, *, clock: Clock, on_commit: OnCommit = uncounted, pool: int = 6
) -> PostgresStore:
    """
    Open the store at this address, making its tables as needed. `on_commit` is called
    after every transaction.

    Raises:
        StoreRefused: the server refuses us, or its tables are of a newer router.
        StoreUnavailable: it cannot be reached now.
    """
    db = Database(DatabaseUrl(url), clock, pool, on_commit)
    try:
        store = PostgresStore(db)
        await store.start()
    except BaseException:
        await db.close()
        raise
    return store
