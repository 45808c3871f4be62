"""Which rules are in force for all nodes: those that any of them has published last."""

import msgspec

from router.store.common.publications import KEPT, following
from router.store.postgres.database import Tx
from router.store.postgres.texts import escape, unescape
from router.store.values import Publication


async def published(tx: Tx, by: str | None = None) -> Publication | None:
    """The newest publication, of all nodes or of one."""
    row = await tx.row(
        "SELECT seq, generation, by, at FROM published WHERE by = coalesce($1, by) "
        "ORDER BY seq DESC LIMIT 1",
        escape(by),
    )
    return None if row is None else Publication(row[0], row[1], unescape(row[2]), row[3])


async def publish(
    tx: Tx, generation: str, *, by: str, at: int, after: int | None = None
) -> Publication:
    """Put a generation in force, within the open transaction; gives what is in force then."""
    # Of two at once the second sees what the first has published, and no step that goes by what
    # is in force is half done.
    await tx.run("LOCK TABLE published IN EXCLUSIVE MODE")
    newest, given = await published(tx), Publication(0, generation, by, at)
    then = following(given, newest, await published(tx, by), after)
    if then is not newest:
        seq, *others = msgspec.structs.astuple(msgspec.structs.replace(then, by=escape(by)))
        await tx.run("INSERT INTO published VALUES ($1, $2, $3, $4)", seq, *others)
        await tx.run("DELETE FROM published WHERE seq <= $1", then.seq - KEPT)
    return then


async def in_force(tx: Tx, generation: str) -> bool:
    """
    Whether what is one for all nodes goes by this generation, from now until this transaction ends.
    """
    await tx.run("LOCK TABLE published IN ROW SHARE MODE")
    newest = await published(tx)
    return newest is None or newest.generation == generation
