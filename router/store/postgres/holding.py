"""Jobs of paused rules and paused targets: made to wait, and let go again."""

from collections.abc import Collection

from router.store.postgres.database import Tx


async def hold(tx: Tx, rules: Collection[str], targets: Collection[str], now: int) -> int:
    """…"""
    raise NotImplementedError
