"""What must hold as an action begins or ends: noted, and told at once where it does not."""

from typing import TYPE_CHECKING

from router.kinds.http import HttpCall
from router.kinds.kind import ActionCall
from router.model.job import ENDED, Job
from tests.sim.steps import Began

if TYPE_CHECKING:
    from tests.sim.whole import Whole


class Watch:
    """Notes what the process does, and says at once what must not be."""

    def __init__(self, world: "Whole") -> None:
        self.world, self.history = world, world.history
        self.running: dict[str, Job] = {}

    def begins(self, job: Job, call: ActionCall, boot: str) -> None:
        history, world = self.history, self.world
        self._is_recorded(job)
        self._no_transaction(job)
        if job.id in self.running:
            history.broken(20, f"{job.id} runs twice at once")
        if world.clock.now() < job.due_at or world.clock.now() < history.due.get(job.id, 0):
            history.broken(26, f"{job.id} runs before it is due")
        history.put_to_the_test(26)
        self._in_order(job)
        self._in_turn(job)
        self._within_limits(job)
        self.running[job.id] = job
        headers = dict(call.headers) if isinstance(call, HttpCall) else {}
        key = headers.get("idempotency-key", job.id)
        began = Began(world.clock.now(), boot, job.attempt, job.lease or "", key)
        history.begun.setdefault(job.id, []).append(began)

    def ends(self, job: Job) -> None:
        self.running.pop(job.id, None)
        self._no_transaction(job)

    def _is_recorded(self, job: Job) -> None:
        """I19: before the action begins, the file says that it does."""
        row = self.world.probe.execute(
            "SELECT state, lease, attempt FROM jobs WHERE id = ?", (job.id,)
        ).fetchone()
        self.history.put_to_the_test(19)
        if row != (3, job.lease, job.attempt):
            self.history.broken(19, f"{job.id} begins as {job.attempt} of {job.lease}, kept: {row}")

    def _no_transaction(self, job: Job) -> None:
        """I25: another connection may write at once."""
        try:
            self.world.probe.execute("BEGIN IMMEDIATE")
            self.world.probe.execute("ROLLBACK")
        except Exception as error:  # noqa: BLE001 - whatever keeps it from writing
            self.history.broken(25, f"{job.id}: {error}")
        self.history.put_to_the_test(25)

    def _in_order(self, job: Job) -> None:
        run = self.world.twins.model.runs.of(job.id)
        if run is None:
            return
        members = {m.action: m for m in self.world.twins.model.runs.members(run)}
        for need in job.after:
            self.history.put_to_the_test(20)
            before = members.get(need.action)
            if before is None or self.history.revived[before.id]:
                continue  # not replayed with it, or opened again after it had let this one go
            state = before.state
            if state not in ENDED or need.wants not in (state, "ended"):
                self.history.broken(20, f"{job.id} begins though {need.action} is {state}")

    def _in_turn(self, job: Job) -> None:
        runs = self.world.twins.model.runs
        run = runs.of(job.id)
        if run is None or run.turn is None:
            return
        others = [r for r in runs.runs if r.turn and r.turn.key == run.turn.key and r is not run]
        if not others:
            return
        self.history.put_to_the_test(23)
        busy = [r for r in others if self.running.keys() & set(r.jobs)]
        limit = 2 if job.rule == "wide" else 1
        if len(busy) >= limit:
            self.history.broken(23, f"{job.id} begins beside {len(busy)} runs of its key")
        before = [r for r in runs.runs[: runs.runs.index(run)] if r in others]
        for one in before if job.rule == "strict" else ():
            anew = any(self.history.revived[id_] for id_ in (*one.jobs, *run.jobs))
            if one.place != "gone" and not anew:
                self.history.broken(23, f"{job.id} overtakes {one.jobs}")

    def _within_limits(self, job: Job) -> None:
        """I24: of one target no more than its share runs."""
        most = {"erp": 3, "chat": 2}.get(job.target)
        if most is not None:
            self.history.put_to_the_test(24)
            busy = sum(one.target == job.target for one in self.running.values())
            if busy >= most:
                self.history.broken(24, f"{job.id} is the {busy + 1}th of {job.target}")
