"""Runs in the ledger: chains followed, turns given, within the transaction that ends a job."""

from collections.abc import Mapping

from router.model.job import Group
from router.store.postgres.database import Tx


async def regroup(tx: Tx, groups: Mapping[str, Group | None], *, generation: str, now: int) -> int:
    """…"""
    raise NotImplementedError
