"""Replays in the ledger: each step makes its jobs and notes how far it has come, or neither."""

from router.model.operations import Audit, Replay, ReplayStep
from router.store.postgres.database import Tx


async def begin(tx: Tx, replay: Replay, audit: Audit | None = None) -> Replay:
    """…"""
    raise NotImplementedError


async def step(tx: Tx, step: ReplayStep, *, now: int) -> Replay | None:
    """…"""
    raise NotImplementedError


async def one(tx: Tx, id_: str, *, items: str = "items") -> Replay | None:
    """…"""
    raise NotImplementedError


async def of_job(tx: Tx, job: str) -> Replay | None:
    """…"""
    raise NotImplementedError


async def several(tx: Tx, limit: int, *, making: bool = False) -> tuple[Replay, ...]:
    """…"""
    raise NotImplementedError
