"""Routers that share the store: who lives, who is gone, who does what one does for all."""

from router.store.postgres.database import Tx


async def lost(tx: Tx, node: str) -> frozenset[str]:
    """…"""
    raise NotImplementedError
