"""The audit: a line for every change by an operator, in the transaction of that change."""

import msgspec

from router.model.operations import Audit
from router.store.postgres.database import Tx
from router.store.postgres.texts import escape, unescape
from router.store.values import AUDIT_LINES


async def note(tx: Tx, audit: Audit | None, more: int = 0) -> None:
    """Add a line, or `more` to the count of the line that is there."""
    if audit is None:
        return
    await tx.run(
        "INSERT INTO audit (id, at, who, peer, way, verb, asked, count) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, $8) "
        "ON CONFLICT (id) DO UPDATE SET count = audit.count + $9",
        audit.id,
        audit.at,
        escape(audit.who),
        escape(audit.peer),
        audit.way,
        audit.verb,
        msgspec.json.encode(audit.asked),
        audit.count + more,
        more,
    )


async def count_up(tx: Tx, id_: str, more: int) -> None:
    """Add to the count of a line, if there is one."""
    await tx.run("UPDATE audit SET count = count + $1 WHERE id = $2", more, id_)


async def prune(tx: Tx, before: int) -> None:
    """Remove lines from before this wall time or beyond the bound, and replays without jobs."""
    await tx.run(
        "DELETE FROM audit WHERE at < $1 OR n <= (SELECT max(n) FROM audit) - $2",
        before,
        AUDIT_LINES,
    )
    await tx.run(
        "DELETE FROM replays WHERE state > 0 AND created_at < $1 "
        "AND NOT EXISTS (SELECT 1 FROM jobs WHERE replay = replays.n)",
        before,
    )


async def lines(tx: Tx, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]:
    """Newest first."""
    rows = await tx.all(
        "SELECT id, at, who, verb, asked, count, peer, way FROM audit "
        "WHERE at >= coalesce($1, at) AND at < coalesce($2, at + 1) ORDER BY n DESC LIMIT $3",
        since,
        until,
        limit,
    )
    return tuple(
        [
            Audit(
                id_, at, unescape(who), verb, msgspec.json.decode(asked), count, unescape(peer), way
            )
            for id_, at, who, verb, asked, count, peer, way in rows
        ]
    )
