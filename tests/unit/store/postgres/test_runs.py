"""Runs in PostgreSQL: what is locked, read and written, and what it costs in statements."""

from router.model.job import Group, NewJob, Predecessor, Turn
from router.store.common.states import DEAD
from router.store.postgres.database import Database
from tests.clocks import START_MS
from tests.store_values import Maker
from tests.unit.store.postgres.running import add_runs, end, states

FREED = (("erp", START_MS),)


def chain(make: Maker) -> list[NewJob]:
    after = {"a": (), "b": (Predecessor("a"),), "c": (Predecessor("b"),)}
    return [make.job(action=name, run="r", after=needs) for name, needs in after.items()]


def turn(on_busy: str = "queue", limit: int = 1, key: str = "deploy\x1fx") -> Turn:
    return Turn(key, "x", Group(limit, on_busy))  # type: ignore[arg-type]  # words of a Literal


async def test_a_chain_goes_on_and_ends(db: Database, make: Maker) -> None:
    jobs = chain(make)
    assert await add_runs(db, make, jobs) == [((), ())]
    assert await states(db, *jobs) == ["available", "waiting", "waiting"]
    assert await end(db, jobs, jobs[0]) == (FREED, ())
    assert await end(db, jobs, jobs[1], DEAD) == ((), ("predecessor_dead",))
    assert await states(db, *jobs) == ["succeeded", "dead", "cancelled predecessor_dead: b"]


async def test_runs_of_a_group_take_their_turns(db: Database, make: Maker) -> None:
    runs = [[make.job(run=name, turn=turn())] for name in "abc"]
    assert await add_runs(db, make, *runs) == [(FREED, ()), ((), ()), ((), ())]
    jobs = [job for (job,) in runs]
    assert await states(db, *jobs) == ["available", "waiting", "waiting"]
    assert await end(db, runs[0], jobs[0]) == (FREED, ())
    assert await states(db, *jobs) == ["succeeded", "available", "waiting"]
