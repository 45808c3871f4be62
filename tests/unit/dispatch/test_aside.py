"""What is to be said of a job that is dead stops no start and no lease, whoever found it so."""

import random
from typing import Any

from router.dispatch import Dispatcher, DispatchRules
from router.model.job import Attempt, Job
from router.model.retry import STANDARD
from router.model.settings import TargetLimits
from router.store.values import Acceptance, Died, Recovered, untold
from tests.sim.ledger import Ledger
from tests.sim.loop import SimClock
from tests.sim.makers import a_job
from tests.unit.dispatch.bench import Bench, on_bench


class Asking(Ledger):
    """Keeps whom it may ask of dead jobs."""

    died: Died = staticmethod(untold)

    async def recover(self, **named: Any) -> Recovered:
        self.died = named["died"]
        return await super().recover(**named)


def refused(_job: Job, _attempt: Attempt) -> Acceptance | None:
    raise ValueError("no event of this")


@on_bench
async def test_an_event_that_cannot_be_made_is_reported_as_a_defect(bench: Bench) -> None:
    ledger = Asking()
    live = DispatchRules(
        render=bench.render,
        retry_of=lambda _job: STANDARD,
        limits=lambda _target, _kind: TargetLimits(1),
        died=refused,
    )
    given = {"clock": SimClock(), "rng": random.Random(1), "node": "boot", "observe": bench.seen}
    await Dispatcher(ledger, {}, live, **given).recover()  # type: ignore[arg-type]
    job = a_job(state="dead", reason="crash_loop")
    attempt = Attempt(job.id, 0, 1, 1, "dead", "crash_loop", {}, "g")
    assert ledger.died(job, attempt) is None
    assert [str(error) for error in bench.seen.leaks] == ["no event of this"]
