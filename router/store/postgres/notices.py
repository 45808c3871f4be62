"""What routers that share a ledger tell each other at once: which targets have new jobs."""

from collections.abc import Iterable

from router.store.postgres.database import Tx

CHANNEL = "router"
_BYTES_MAX = 4_000
"""PostgreSQL takes 8,000."""


def notice(targets: Iterable[str]) -> str:
    """
    The text for `pg_notify`: targets, with commas between them; empty: whoever hears it looks
    himself.
    """
    named = sorted(set(targets))
    text = ",".join(named)
    if len(text.encode()) > _BYTES_MAX or any("," in target for target in named):
        return ""
    return text


def targets_of(text: str) -> list[str]:
    """The targets that a notice names."""
    return text.split(",") if text else []


async def tell(tx: Tx, targets: Iterable[str] = ()) -> None:
    """Others hear of these targets once it is committed; of none: that they look themselves."""
    await tx.run("SELECT pg_notify($1, $2)", CHANNEL, notice(targets))
