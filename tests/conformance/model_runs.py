"""
Chains and concurrency groups over plain dicts: every rule a few lines, nothing remembered twice.

Written from the promises, not from the store: the two share no code.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from router.model.job import ENDED, Group, Job, NewJob, Turn

FOLLOWED = ("predecessor_dead", "predecessor_cancelled", "not_needed")


class ModelRun:
    """A run: its jobs in order, and where it stands in its group (None: it has none)."""

    def __init__(self, turn: Turn | None, origin: "ModelRun | None") -> None:
        self.turn, self.origin = turn, origin
        self.place = None if turn is None else "waits"
        self.jobs: list[str] = []


class ModelRuns:
    """All runs in the order of their making. `jobs` are the store's own, `put` changes one."""

    def __init__(self, jobs: dict[str, Job], put: Callable[[Job], None] | None = None) -> None:
        self.jobs = jobs
        self.put = put or (lambda job: jobs.update({job.id: job}))
        self.runs: list[ModelRun] = []
        self.waits: dict[str, set[str]] = {}
        self.ahead = 0  # of ledger time
        self.freed: list[tuple[str, int]] = []
        self.cancelled: list[str] = []

    def reported(self) -> dict[str, Any]:
        """What happened since this was last asked."""
        freed, cancelled = tuple(sorted(self.freed)), tuple(sorted(self.cancelled))
        self.freed, self.cancelled = [], []
        return {"freed": freed, "cancelled": cancelled}

    def shown(self, job: Job) -> Job:
        """The job with what it waits for."""
        waits = self.waits.get(job.id, set())
        run = self.of(job.id)
        words = []
        if "after" in waits:
            words.append("the end of " + ", ".join(need.action for need in job.after))
        if "turn" in waits and run is not None and run.turn is not None:
            halted = " (halted by a dead job)" if self.in_place(run.turn.key, "halted") else ""
            words.append(f"its turn in group {run.turn.value}{halted}")
        if "paused" in waits:
            words.append("its paused rule")
        if "target" in waits:
            words.append("its paused target")
        return msgspec.structs.replace(job, due_at=job.due_at + self.ahead, waits_for=tuple(words))

    def of(self, job: str) -> ModelRun | None:
        return next((run for run in self.runs if job in run.jobs), None)

    def members(self, run: ModelRun) -> list[Job]:
        return [self.jobs[id_] for id_ in run.jobs]

    def in_place(self, key: str, *places: str) -> list[ModelRun]:
        return [r for r in self.runs if r.turn and r.turn.key == key and r.place in places]

    # -- changes --------------------------------------------------------------------------------

    def cancel(self, id_: str, reason: str, now: int) -> None:
        self.waits.pop(id_, None)
        self.cancelled.append(reason.partition(":")[0])
        self._change(id_, state="cancelled", reason=reason, ended_at=now + self.ahead)

    def hold(self, id_: str, what: str) -> None:
        self.waits.setdefault(id_, set()).add(what)
        self._change(id_, state="waiting")

    def free(self, id_: str, what: str, now: int | None) -> None:
        waits = self.waits.get(id_, set())
        waits.discard(what)
        job = self.jobs[id_]
        if job.state != "waiting" or waits:
            return
        state = "retryable" if job.attempt else "available"
        due_at = job.due_at if now is None else max(job.due_at, now)
        self._change(id_, state=state, due_at=due_at)
        self.freed.append((job.target, due_at))

    def _change(self, id_: str, **values: Any) -> None:
        self.put(msgspec.structs.replace(self.jobs[id_], **values))

    # -- a new run ------------------------------------------------------------------------------

    def add(self, news: list[NewJob], turn: Turn | None, origin: ModelRun | None, now: int) -> None:
        """Its jobs are in the store already; they get what they wait for here."""
        run = ModelRun(turn, origin)
        run.jobs = [new.id for new in news]
        self.runs.append(run)
        present = {new.action for new in news}
        for new in news:
            if any(need.action in present for need in new.after):
                self.hold(new.id, "after")
            if turn is not None:
                self.hold(new.id, "turn")
        if turn is not None:
            self._enter(run, turn, now)

    def _enter(self, run: ModelRun, turn: Turn, now: int) -> None:
        halting = self.in_place(turn.key, "halted")
        taken = next((r for r in halting if self._replays(run, r)), None)
        if taken is not None:
            taken.place = "gone"
            self._start(run, now)
        elif turn.group.on_busy == "drop" and self._is_full(turn):
            self._drop(run, "busy", now)
        elif turn.group.on_busy == "latest":
            for older in self.in_place(turn.key, "waits"):
                if older is not run:
                    self._drop(older, "superseded", now)
            for holder in self.in_place(turn.key, "has"):
                if self._is_full(turn) and self.may_be_superseded(holder):
                    self._drop(holder, "superseded", now)
        self.advance(turn.key, now)

    def _replays(self, run: ModelRun, halting: ModelRun) -> bool:
        if run.origin is not None:
            return run.origin in _line(halting)
        return self.members(run)[0].delivery == self.members(halting)[0].delivery

    def _is_full(self, turn: Turn) -> bool:
        return len(self.in_place(turn.key, "has", "halted")) >= turn.group.limit

    def _drop(self, run: ModelRun, reason: str, now: int) -> None:
        run.place = "gone"
        for job in self.members(run):
            if job.state not in ENDED and job.state != "running":
                self.cancel(job.id, reason, now)

    def may_be_superseded(self, run: ModelRun) -> bool:
        jobs = self.members(run)
        if any(job.state == "running" for job in jobs):
            return False
        begun = any(job.attempt for job in jobs)
        return not begun or any(job.attempt and job.state not in ENDED for job in jobs)

    def _start(self, run: ModelRun, now: int) -> None:
        run.place = "has"
        for id_ in run.jobs:
            if "turn" in self.waits.get(id_, ()):
                self.free(id_, "turn", now)

    def advance(self, key: str, now: int) -> None:
        for run in self.in_place(key, "waits"):
            if run.turn is None or self._is_full(run.turn):
                return  # nobody overtakes
            self._start(run, now)

    # -- an end, or a new beginning -------------------------------------------------------------

    def follow(self, run: ModelRun, now: int) -> None:
        self._follow_chain(run, now)
        if run.turn is None or run.place == "gone":
            return
        key, group = run.turn.key, run.turn.group
        jobs = self.members(run)
        if all(job.state in ENDED for job in jobs):
            dead = any(job.state == "dead" for job in jobs)
            halts = dead and group.on_dead == "halt" and run.place != "waits"
            run.place = "halted" if halts else "gone"
        elif group.on_busy == "latest" and run.place == "has":
            later = self.runs[self.runs.index(run) + 1 :]
            newer = [r for r in self.in_place(key, "waits") if r in later]
            if newer and self.may_be_superseded(run):
                self._drop(run, "superseded", now)
        self.advance(key, now)

    def _follow_chain(self, run: ModelRun, now: int) -> None:
        again = True
        while again:
            again = False
            for job in self.members(run):
                if "after" in self.waits.get(job.id, ()) and self._decided(run, job, now):
                    again = True

    def _decided(self, run: ModelRun, job: Job, now: int) -> bool:
        ends = {j.action: j.state for j in self.members(run)}
        for need in job.after:
            end = ends.get(need.action, need.wants)
            if end not in ENDED or need.wants in (end, "ended"):
                continue
            word = "dead" if end == "dead" else "cancelled"
            word = "not_needed" if need.wants == "dead" else f"predecessor_{word}"
            self.cancel(job.id, f"{word}: {need.action}", now)
            return True
        if any(ends.get(need.action, "succeeded") not in ENDED for need in job.after):
            return False
        self.free(job.id, "after", now)
        return True

    def reopened(self, run: ModelRun, now: int) -> None:
        """Dead jobs of this run are available again."""
        again = True
        while again:
            again = False
            opened = {job.action for job in self.members(run) if job.state not in ENDED}
            for job in self.members(run):
                followed = (job.reason or "").partition(":")[0] in FOLLOWED
                if job.state == "cancelled" and followed and opened & {n.action for n in job.after}:
                    self._change(job.id, reason=None, ended_at=None)
                    self.hold(job.id, "after")
                    again = True
        if run.turn is not None:
            if run.place in ("gone", "waits"):
                run.place = "waits"
                for job in self.members(run):
                    if job.state not in ENDED and job.state != "running":
                        self.hold(job.id, "turn")
            else:
                run.place = "has"
            self.advance(run.turn.key, now)
        self.follow(run, now)

    def regroup(self, groups: Mapping[str, Group | None], now: int) -> int:
        changed = []
        for run in self.runs:
            rule = self.members(run)[0].rule
            if run.turn is None or run.place == "gone" or rule not in groups:
                continue
            group = groups[rule] or Group(limit=2**31)
            if group != run.turn.group:
                run.turn = msgspec.structs.replace(run.turn, group=group)
                changed.append(run)
                if group.on_dead == "continue" and run.place == "halted":
                    run.place = "gone"
        self.advance_all([run.turn.key for run in changed if run.turn], now)
        return len(changed)

    def advance_all(self, keys: Iterable[str], now: int) -> None:
        for key in dict.fromkeys(keys):
            self.advance(key, now)

    def forget(self, gone: set[str], now: int) -> None:
        """These jobs were removed; a run that halts its group lets go with them."""
        left = [run for run in self.runs if not gone & set(run.jobs)]
        halting = [r for r in self.runs if r not in left and r.place == "halted" and r.turn]
        self.runs = left
        self.advance_all([run.turn.key for run in halting if run.turn], now)


def _line(run: ModelRun | None) -> list[ModelRun]:
    """A run, the one that it replays, and so on."""
    return [] if run is None else [run, *_line(run.origin)]
