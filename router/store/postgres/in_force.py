"""The rules in force for all nodes: those of the node that started or reloaded last."""

from router.store.postgres.database import Tx
from router.store.postgres.texts import escape
from router.store.values import NEW_MS, InForce

KEPT = 100
"""Rows of the table `published`: the newest."""

_PUT = """
    INSERT INTO published (seq, generation, by, at)
    SELECT coalesce((SELECT max(seq) FROM published), 0) + 1, $1, $2, $3 WHERE $1 IS DISTINCT FROM
        (SELECT generation FROM published WHERE by = $2 ORDER BY seq DESC LIMIT 1)
"""
_DECIDES = """
    SELECT generation FROM published WHERE generation = $1 OR at > $2
        OR generation IN (SELECT card->>'generation' FROM nodes WHERE NOT gone)
    ORDER BY seq DESC LIMIT 1
"""


async def put_in_force(tx: Tx, generation: str, *, by: str, at: int) -> None:
    """Put a generation in force, unless the node had none but that before."""
    # Of two at once the second sees the first, and no step that goes by what is in force is half
    # done.
    await tx.run("LOCK TABLE published IN EXCLUSIVE MODE")
    await tx.run(_PUT, generation, escape(by), at)
    await tx.run("DELETE FROM published WHERE seq <= (SELECT max(seq) FROM published) - $1", KEPT)


async def newest(tx: Tx) -> InForce | None:
    """What was put in force last."""
    row = await tx.row("SELECT seq, generation, at FROM published ORDER BY seq DESC LIMIT 1")
    return None if row is None else InForce(*row)


async def is_in_force(tx: Tx, generation: str, *, new_ms: int = NEW_MS) -> bool:
    """
    Whether this generation decides for all nodes, from now until the transaction ends: of those
    that a living node has, or that are newer than `new_ms`, the one put in force last does.
    """
    await tx.run("LOCK TABLE published IN ROW SHARE MODE")
    return await tx.one(_DECIDES, generation, tx.db.clock.now() - new_ms) in (None, generation)
