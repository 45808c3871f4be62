"""Which rules are in force for all nodes: those that any of them has published last."""

import msgspec

from router.store.common.publications import AGREE_MS, KEPT, following
from router.store.postgres.database import Tx
from router.store.postgres.texts import escape, unescape
from router.store.values import NO_LOCAL, Local, Publication

_local = msgspec.json.Decoder(Local)

_NEWEST = """
    SELECT generation FROM published WHERE generation = $1 OR at > $2
        OR generation IN (SELECT card->>'generation' FROM nodes WHERE NOT gone)
    ORDER BY seq DESC LIMIT 1
"""


async def published(tx: Tx, by: str | None = None) -> Publication | None:
    """The newest publication, of all nodes or of one."""
    row = await tx.row(
        "SELECT seq, generation, by, at, local FROM published WHERE by = coalesce($1, by) "
        "ORDER BY seq DESC LIMIT 1",
        escape(by),
    )
    if row is None:
        return None
    seq, generation, told, at, local = row
    return Publication(seq, generation, unescape(told), at, _local.decode(local))


async def publish(
    tx: Tx, generation: str, *, by: str, at: int, after: int | None = None, local: Local = NO_LOCAL
) -> Publication:
    """Put a generation in force, within the open transaction; gives what is in force then."""
    # Of two at once the second sees what the first has published, and no step that goes by what
    # is in force is half done.
    await tx.run("LOCK TABLE published IN EXCLUSIVE MODE")
    newest, given = await published(tx), Publication(0, generation, by, at, local)
    then = following(given, newest, await published(tx, by), after)
    if then is not newest:
        await tx.run(
            "INSERT INTO published VALUES ($1, $2, $3, $4, $5)",
            *(then.seq, generation, escape(by), at, msgspec.json.encode(local)),
        )
        await tx.run("DELETE FROM published WHERE seq <= $1", then.seq - KEPT)
    return then


async def in_force(tx: Tx, generation: str, *, agree_ms: int = AGREE_MS) -> bool:
    """
    Whether what is one for all nodes goes by this generation, from now until this transaction ends:
    of the publications that a living node goes by, or may within `agree_ms`, the last one does.
    """
    await tx.run("LOCK TABLE published IN ROW SHARE MODE")
    return await tx.one(_NEWEST, generation, tx.db.clock.now() - agree_ms) in (None, generation)
