"""Whole deliveries read in pages, for whoever must look into them: bounded in rows and bytes."""

from router.store.postgres.database import Tx
from router.store.values import (
    Page,
    Selector,
)


async def page(
    tx: Tx,
    selector: Selector,
    *,
    jobs: bool,
    newest: bool = False,
    after: str | None = None,
    whole: bool = False,
) -> Page:
    """…"""
    raise NotImplementedError
