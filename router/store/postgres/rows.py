"""Rows as values: ids get back their kinds, texts what PostgreSQL cannot keep."""

from collections.abc import Sequence
from typing import Any

from router.model.delivery import Delivery
from router.model.job import Attempt, Job
from router.store.common import columns
from router.store.postgres.texts import unescape


def to_job(row: Sequence[Any]) -> Job:
    """A job from a row of JOB_COLUMNS."""
    values = list(row)
    values[0], values[1], values[4] = f"job_{row[0]}", f"dlv_{row[1]}", f"evt_{row[4]}"
    values[5], values[20] = unescape(row[5]), unescape(row[20])
    values[-1] = unescape(row[-1])
    return columns.to_job(values)


def to_delivery(row: Sequence[Any]) -> Delivery:
    """A delivery from a row of DELIVERY_COLUMNS."""
    return columns.to_delivery((f"dlv_{row[0]}", *row[1:]))


def to_attempt(row: Sequence[Any]) -> Attempt:
    """An attempt from a row of ATTEMPT_COLUMNS."""
    job, number, began, ended, outcome, reason, result, generation = row
    values = (f"job_{job}", number, began, ended, outcome, unescape(reason), result, generation)
    return columns.to_attempt(values)
