"""Questions about what all routers have committed."""

from collections.abc import Collection, Mapping
from typing import Any

from router.model.delivery import DeliverySummary
from router.model.job import Job, JobState
from router.model.operations import Cause
from router.model.target import TargetCounts
from router.store.postgres.database import Tx
from router.store.values import (
    DeliveryRecord,
    Generation,
    NameKind,
    RuleCount,
    Selector,
)


async def deliveries(tx: Tx, selector: Selector) -> tuple[DeliverySummary, ...]:
    """…"""
    raise NotImplementedError


async def delivery(tx: Tx, prefix: str) -> DeliveryRecord | None:
    """…"""
    raise NotImplementedError


async def jobs(tx: Tx, selector: Selector) -> tuple[Job, ...]:
    """…"""
    raise NotImplementedError


async def job(tx: Tx, prefix: str) -> Job | None:
    """…"""
    raise NotImplementedError


async def results(tx: Tx, job: str, actions: frozenset[str]) -> Mapping[str, Any]:
    """…"""
    raise NotImplementedError


async def counts(tx: Tx) -> Mapping[str, Mapping[JobState, int]]:
    """…"""
    raise NotImplementedError


async def causes(tx: Tx, selector: Selector) -> tuple[Cause, ...]:
    """…"""
    raise NotImplementedError


async def names(tx: Tx, kind: NameKind) -> tuple[str, ...]:
    """…"""
    raise NotImplementedError


async def rule_counts(tx: Tx) -> Mapping[str, RuleCount]:
    """…"""
    raise NotImplementedError


async def target_counts(tx: Tx) -> Mapping[str, TargetCounts]:
    """…"""
    raise NotImplementedError


async def targets(tx: Tx) -> Mapping[str, int]:
    """…"""
    raise NotImplementedError


async def generation(tx: Tx, prefix: str) -> Generation | None:
    """…"""
    raise NotImplementedError


async def generations_with(tx: Tx, rule: str) -> tuple[str, ...]:
    """…"""
    raise NotImplementedError


async def recall(tx: Tx, prefix: str) -> dict[str, Any]:
    """…"""
    raise NotImplementedError


async def held_bytes(tx: Tx) -> int:
    """…"""
    raise NotImplementedError


async def under(tx: Tx, leases: Collection[str]) -> tuple[Job, ...]:
    """…"""
    raise NotImplementedError
