"""What each router may use of the limits of targets, as one of them divides it for all."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from router.model.share import NO_REPORT, Division, Given, ShareReport, ShareRow, Shares
from router.store.postgres.database import Tx
from router.store.values import NodeLoad

_GONE = """
    SELECT s.node::text FROM shares s
    WHERE NOT EXISTS (SELECT FROM nodes n WHERE n.n = s.node AND NOT n.gone)
"""
_ROWS = """
    SELECT coalesce(s.node, n.n)::text, s.version, s.given, s.held, n.report, coalesce(n.gone, true)
    FROM shares s FULL JOIN nodes n ON n.n = s.node
    WHERE s.node IS NOT NULL OR NOT n.gone ORDER BY coalesce(s.node, n.n)
"""
_GIVE = """
    INSERT INTO shares VALUES ($1, $2, $3, $4) ON CONFLICT (node) DO UPDATE
    SET version = excluded.version, given = excluded.given, held = excluded.held
"""
_LOADS = """
    SELECT coalesce(s.node::text, r.node), s.given, r.running
    FROM shares s FULL JOIN (
        SELECT node, json_object_agg(target, jobs) AS running FROM (
            SELECT split_part(lease, '/', 1) AS node, target, count(*) AS jobs
            FROM queue WHERE lease IS NOT NULL GROUP BY 1, 2
        ) by_target GROUP BY node
    ) r ON r.node = s.node::text
"""
Lost = Callable[[Tx, str], Awaitable[frozenset[str]]]
_given = msgspec.json.Decoder(Given)
_running = msgspec.json.Decoder(dict[str, int])
_report = msgspec.json.Decoder(ShareReport)


async def divide(tx: Tx, node: str, division: Division, lost: Lost) -> Shares | None:
    """
    Write what the division changes, within the open transaction, which alone does so; what this
    node has then. None: it is gone. Of nodes that are gone only those that are `lost`, which hold
    leases, are kept.
    """
    if gone := {one for (one,) in await tx.all(_GONE)}:
        left = [int(one) for one in gone - await lost(tx, node)]
        await tx.run("DELETE FROM shares WHERE node = ANY($1::bigint[])", left)
    rows = [_row(row) for row in await tx.all(_ROWS)]
    changed = division(rows)
    await tx.each(_GIVE, [_values(row) for row in changed])
    return next((row.shares for row in (*changed, *rows) if row.node == node), None)


async def loads(tx: Tx) -> Mapping[str, NodeLoad]:
    """What each node was given, and what runs under its leases."""
    return {
        node: NodeLoad(_given.decode(given or b"{}"), _running.decode(running or "{}"))
        for node, given, running in await tx.all(_LOADS)
    }


def to_shares(version: int, given: bytes) -> Shares:
    """As they are kept."""
    return Shares(version, _given.decode(given))


def _row(row: Any) -> ShareRow:
    node, version, given, held, report, gone = row
    said = NO_REPORT if report is None else _report.decode(report)
    if version is None:
        return ShareRow(node, report=said, gone=gone)
    return ShareRow(node, to_shares(version, given), _given.decode(held), said, gone)


def _values(row: ShareRow) -> tuple[Any, ...]:
    encode = msgspec.json.encode
    return int(row.node), row.shares.version, encode(row.shares.given), encode(row.held)
