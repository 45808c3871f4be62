"""The audit: a line for every change by an operator, in the transaction of that change."""

from router.model.operations import Audit
from router.store.postgres.database import Tx


async def note(tx: Tx, audit: Audit | None, more: int = 0) -> None:
    """…"""
    raise NotImplementedError


async def lines(tx: Tx, since: int | None, until: int | None, limit: int) -> tuple[Audit, ...]:
    """…"""
    raise NotImplementedError
