"""Routers that share the store: who lives, who is gone, who does what one does for all."""

from typing import Any

import msgspec

from router.model.share import NO_REPORT, Division, ShareReport, Shares
from router.store.postgres import shares
from router.store.postgres.connection import Connection
from router.store.postgres.database import Database, Tx
from router.store.postgres.in_force import is_in_force
from router.store.postgres.notices import CHANNEL, targets_of
from router.store.postgres.shares import to_shares
from router.store.values import Beats, Heard, NodeCard, NodeSeen, unheard

_card = msgspec.json.Decoder(NodeCard)
CLAIM = "shares"
"""Whoever has it divides them."""
LOCK_CLASS = 0x5748
"""Each node's session holds the advisory lock (this, its number) as long as it is connected."""
GONE_SHOWN = "1 hour"
"""Nodes that are gone, and have not beaten for so long, are shown no more."""
GONE_KEPT = "7 days"
"""After that their rows go: who holds a lease and is not there has never joined."""

_MS = "floor(extract(epoch FROM {}) * 1000)::bigint"
_SEEN = (
    "n.n::text, n.card, n.beat, "
    f"{_MS.format('n.seen_at')}, NOT EXISTS (SELECT FROM connected c WHERE c.node = n.n), n.gone"
)
"""A row of `_seen`."""
_CONNECTED = f"""
    connected AS MATERIALIZED (
        SELECT objid::bigint AS node FROM pg_locks
        WHERE locktype = 'advisory' AND classid = {LOCK_CLASS} AND objsubid = 2 AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
"""

_FORGET = f"DELETE FROM nodes WHERE gone AND seen_at < clock_timestamp() - interval '{GONE_KEPT}'"
_FORGET_CLAIMS = "DELETE FROM claims WHERE until < clock_timestamp() - interval '1 day'"
_JOIN = "INSERT INTO nodes (card) VALUES ($1) RETURNING n"
_BEAT = f"""
    WITH beaten AS (
        UPDATE nodes SET beat = beat + 1, seen_at = clock_timestamp(), card = $2, report = $3
        WHERE n = $1 AND NOT gone RETURNING {_MS.format("seen_at")} AS now
    ), {_CONNECTED}
    SELECT beaten.now, s.version, s.given, {_SEEN}
    FROM beaten LEFT JOIN shares s ON s.node = $1 AND s.version <> $4
    LEFT JOIN nodes n ON n.n <> $1 AND NOT n.gone
    ORDER BY n.n
"""
_DECLARE_GONE = """
    WITH marked AS (
        UPDATE nodes SET gone = true WHERE n = $1 AND NOT gone AND beat <= $2 RETURNING n
    )
    SELECT EXISTS (SELECT FROM marked)
        OR NOT EXISTS (SELECT FROM nodes WHERE n = $1 AND NOT gone)
"""
_CLAIM = """
    INSERT INTO claims AS c (name, node, until)
    SELECT $1, n, clock_timestamp() + $3 * interval '1 millisecond'
    FROM nodes WHERE n = $2 AND NOT gone
    ON CONFLICT (name) DO UPDATE SET node = excluded.node, until = excluded.until
    WHERE c.node = excluded.node OR c.until <= clock_timestamp()
        OR NOT EXISTS (SELECT FROM nodes WHERE n = c.node AND NOT gone)
    RETURNING true
"""
_LISTED = f"""
    WITH {_CONNECTED} SELECT {_SEEN} FROM nodes n
    WHERE NOT n.gone OR n.seen_at > clock_timestamp() - interval '{GONE_SHOWN}' ORDER BY n.n
"""

# One step of the index for each holder, however many jobs each of them holds.
_HOLDER = "SELECT split_part(lease, '/', 1) FROM queue WHERE lease IS NOT NULL"
_LOST = f"""
    WITH RECURSIVE holders (node) AS (
        ({_HOLDER} ORDER BY 1 LIMIT 1) UNION ALL SELECT (
            {_HOLDER} AND split_part(lease, '/', 1) > holders.node ORDER BY 1 LIMIT 1
        ) FROM holders WHERE holders.node IS NOT NULL
    )
    SELECT node FROM holders WHERE node IS NOT NULL AND node <> $1
        AND node NOT IN (SELECT n::text FROM nodes WHERE NOT gone)
"""


class Nodes:
    """
    The verbs of `NodeStore` for this process: its beats go over one connection, whose lock tells
    the others that it is there.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._locked: tuple[Connection, int] | None = None
        self._heard: Heard = unheard
        self._listening: Connection | None = None

    def listen(self, heard: Heard) -> None:
        """`heard` is called when another router's commit is told of; see `NodeStore`."""
        self._heard = heard

    async def join(self, card: NodeCard) -> str:
        """A number that no node has or had; it lives from now on."""

        async def joined(connection: Connection) -> int:
            async with connection.transaction():
                # A number that a crash of the server undoes would be given twice.
                await connection.execute("SET LOCAL synchronous_commit = on")
                await connection.execute(f"{_FORGET}; {_FORGET_CLAIMS}")
                return int(await connection.fetchval(_JOIN, _said(card)))

        number = await self._db.node.run(joined)
        await self._db.node.run(lambda connection: self._lock(connection, number))
        return str(number)

    async def beat(
        self, node: str, card: NodeCard, report: ShareReport = NO_REPORT
    ) -> Beats | None:
        """Say that this node lives; who else does. None: it is gone."""
        values = _said(card), msgspec.json.encode(report), report.version

        async def beaten(connection: Connection) -> Any:
            await self._lock(connection, int(node))
            return await connection.fetch(_BEAT, int(node), *values)

        rows = await self._db.node.run(beaten)
        if not rows:
            return None
        now, version, given = rows[0][:3]
        others = tuple([_seen(row[3:]) for row in rows if row[3] is not None])
        return Beats(now, others, None if version is None else to_shares(version, given))

    async def declare_gone(self, node: str, beats: int) -> bool:
        """Mark a node as gone unless it has beaten since; whether it is gone now."""
        return bool(await self._db.state(1, lambda tx: tx.one(_DECLARE_GONE, int(node), beats)))

    async def claim(self, name: str, node: str, ttl_ms: int) -> bool:
        """Whether the node has this claim from now on."""
        return await self._db.state(1, lambda tx: claimed(tx, name, node, ttl_ms))

    async def divide(
        self, node: str, division: Division, *, generation: str, ttl_ms: int
    ) -> Shares | None:
        """Divide the shares of all nodes anew, if this one may; its own."""

        async def divide(tx: Tx) -> Shares | None:
            if not await is_in_force(tx, generation, new_ms=0):
                return None
            may = await claimed(tx, CLAIM, node, ttl_ms)
            return await shares.divide(tx, node, division, lost) if may else None

        return await self._db.transact(divide)

    async def _lock(self, connection: Connection, number: int) -> None:
        """
        Its lock is held by this connection, which hears what others tell. One that was lost may
        keep the lock for a moment.
        """
        if self._listening is not connection:
            await connection.add_listener(CHANNEL, self._told)
            self._listening = connection
        if self._locked == (connection, number):
            return
        await connection.execute("SELECT pg_advisory_unlock_all()")
        sql = "SELECT pg_try_advisory_lock($1, $2)"
        if await connection.fetchval(sql, LOCK_CLASS, number):
            self._locked = connection, number

    def _told(self, _connection: object, pid: int, _channel: str, text: object) -> None:
        if pid not in self._db.sessions:
            self._heard(targets_of(str(text)))


async def claimed(tx: Tx, name: str, node: str, ttl_ms: int) -> bool:
    """Whether the node has this claim from now on; its row is locked then."""
    return bool(await tx.one(_CLAIM, name, int(node), ttl_ms))


async def listed(tx: Tx) -> tuple[NodeSeen, ...]:
    """Nodes that have joined, the latest last."""
    return tuple([_seen(row) for row in await tx.all(_LISTED)])


async def lost(tx: Tx, node: str) -> frozenset[str]:
    """Nodes that hold leases and run no more, but never `node`."""
    return frozenset([holder for (holder,) in await tx.all(_LOST, node)])


def _said(card: NodeCard) -> str:
    return msgspec.json.encode(card).decode("utf-8")


def _seen(row: Any) -> NodeSeen:
    number, card, beats, seen_at, closed, gone = row
    return NodeSeen(number, _card.decode(card), beats, seen_at, closed, gone)
