"""The operator's verbs and the small writes: cancel, revive, generations, facts, counts."""

from collections.abc import Mapping, Sequence
from typing import Any

from router.model.operations import Audit
from router.store.postgres.database import Tx
from router.store.values import (
    Generation,
    RuleCount,
    Selector,
)

Step = tuple[int, str | None]
"""How many jobs a step changed, and the id after which the next one goes on, if any."""


async def cancel(tx: Tx, *, selector: Selector, reason: str, now: int, after: str | None) -> Step:
    """…"""
    raise NotImplementedError


async def revive(tx: Tx, *, selector: Selector, now: int, after: str | None) -> Step:
    """…"""
    raise NotImplementedError


async def keep_generation(tx: Tx, generation: Generation) -> None:
    """…"""
    raise NotImplementedError


async def remember(tx: Tx, facts: Mapping[str, Any], audit: Audit | None = None) -> None:
    """…"""
    raise NotImplementedError


async def count_rules(tx: Tx, counts: Sequence[RuleCount]) -> None:
    """…"""
    raise NotImplementedError


async def beat(tx: Tx) -> None:
    """…"""
    raise NotImplementedError
