"""Runs cost what they cost: a long queue no more than a short one, a job by itself nothing."""

import asyncio

import pytest

from router.model.job import Group, Turn
from router.store.sqlite import runs
from tests.clocks import START_MS
from tests.unit.store.ledger import Ledger


class Counted(Ledger):
    """A book in memory that counts the machine's steps, and the statements about runs."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0
        self.about_runs: list[str] = []

    def end_one(self) -> None:
        """Lease the job that is due, and settle it, counting."""
        self.db.set_progress_handler(self._step, 1)
        self.db.set_trace_callback(self._statement)
        self.settle(self.one(START_MS + 9_000))
        self.db.set_progress_handler(None, 0)
        self.db.set_trace_callback(None)

    def _step(self) -> int:
        self.steps += 1
        return 0

    def _statement(self, sql: str) -> None:
        if " runs " in sql and not sql.lstrip().startswith("SELECT ("):
            self.about_runs.append(sql)


def steps_to_end_one(on_busy: str, waiting: int) -> int:
    counted = Counted()
    turn = Turn("r\x1fx", "x", Group(1, on_busy))  # type: ignore[arg-type]
    for _ in range(waiting + 1):
        counted.accept(counted.make.job(run="r", turn=turn))
    counted.end_one()
    return counted.steps


def test_a_long_queue_is_no_slower_than_a_short_one() -> None:
    assert steps_to_end_one("queue", 1_000) < 1.5 * steps_to_end_one("queue", 10)


@pytest.mark.parametrize("on_busy", ["latest", "drop"])
def test_what_was_superseded_or_dropped_is_not_looked_at_again(on_busy: str) -> None:
    assert steps_to_end_one(on_busy, 1_000) < 1.5 * steps_to_end_one(on_busy, 10)


def test_a_job_by_itself_asks_nothing_about_runs() -> None:
    counted = Counted()
    counted.accept(counted.make.job())
    counted.end_one()
    assert counted.about_runs == []
    counted.accept(counted.make.job(run="r", turn=Turn("r\x1fx", "x", Group())))
    counted.end_one()
    assert counted.about_runs


def test_a_change_that_waits_for_something_is_not_the_writer_s() -> None:
    """It is ended, and said so: half a change must not be committed."""
    ended: list[str] = []

    async def change() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append("closed")

    with pytest.raises(AssertionError, match="waits for something"):
        runs.at_once(change())
    assert ended == ["closed"]
