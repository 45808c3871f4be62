"""Chains and concurrency groups of a trial, in memory."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from router.model.job import Group, Job, NewJob, Turn
from router.store import chains
from router.store.chains import Member

Place = Literal["waits", "has", "halted", "gone"]


class _TrialRun:
    """One run: its jobs by id, and where it stands in its group."""

    def __init__(self, ids: Sequence[str], turn: Turn | None) -> None:
        self.ids = tuple(ids)
        self.turn = turn
        self.place: Place = "gone" if turn is None else "waits"


class TrialRuns:
    """The runs of a trial in the order in which they came; `jobs` are the ledger's own."""

    def __init__(self, jobs: dict[str, Job]) -> None:
        self._jobs = jobs
        self._waits: dict[str, int] = {}
        self._runs: list[_TrialRun] = []
        self._of: dict[str, _TrialRun] = {}
        self._results: dict[str, Mapping[str, Any]] = {}

    def add(self, news: Sequence[NewJob], now: int) -> None:
        """Jobs of one run, made before; they get what they wait for, and perhaps their turn."""
        run = _TrialRun([new.id for new in news], news[0].turn)
        self._runs.append(run)
        for new in news:
            self._of[new.id] = run
            paused = chains.PAUSED if new.state == "waiting" else 0
            turn = chains.TURN if run.turn is not None else 0
            self._waits[new.id] = (chains.PREDECESSORS if new.after else 0) + turn + paused
            if self._waits[new.id]:
                self._change(new.id, state="waiting")
        if run.turn is not None:
            self._enter(run, run.turn, now)

    def _enter(self, run: _TrialRun, turn: Turn, now: int) -> None:
        if turn.group.on_busy == "drop" and self._full(turn):
            self._end(run, chains.BUSY)
        elif turn.group.on_busy == "latest":
            for older in self._in_group(turn, "waits"):
                if older is not run:
                    self._end(older, chains.SUPERSEDED)
            for holder in self._in_group(turn, "has"):
                if self._full(turn) and chains.yields(self._members(holder)):
                    self._end(holder, chains.SUPERSEDED)
        self._advance(turn, now)

    def ended(self, job: str, result: Mapping[str, Any], now: int) -> None:
        """An attempt of this job has ended: see what that means for the others."""
        run = self._of.get(job)
        if run is None:
            return
        self._results[job] = result
        members = self._members(run)
        chains.follow(members, now)
        self._keep(run, members)
        if run.turn is None or run.place == "gone":
            return
        if chains.ended(members):
            dead = any(member.state == "dead" for member in members)
            run.place = "halted" if dead and run.turn.group.on_dead == "halt" else "gone"
        elif self._newer(run, run.turn) and chains.yields(members):
            self._end(run, chains.SUPERSEDED)
        self._advance(run.turn, now)

    def reopened(self, jobs: Sequence[str], now: int) -> None:
        """These dead jobs are available again."""
        for run in [run for run in self._runs if set(run.ids) & set(jobs)]:
            members = self._members(run)
            chains.wait_again(members)
            if run.turn is not None and run.place in ("gone", "waits"):
                run.place = "waits"
                for member in members:
                    if not member.ended and member.state != "running":
                        member.hold(chains.TURN)
            elif run.turn is not None:
                run.place = "has"
            chains.follow(members, now)
            self._keep(run, members)
            if run.turn is not None:
                self._advance(run.turn, now)

    def results(self, job: str) -> dict[str, Any]:
        """What the actions of a job's run have left, by their ids."""
        run = self._of.get(job)
        ids = run.ids if run is not None else ()
        return {self._jobs[id_].action: self._results[id_] for id_ in ids if id_ in self._results}

    def _newer(self, run: _TrialRun, turn: Turn) -> bool:
        """Whether a newer run may supersede this one, and waits to."""
        later = self._runs[self._runs.index(run) + 1 :]
        return turn.group.on_busy == "latest" and any(
            other in later for other in self._in_group(turn, "waits")
        )

    def _advance(self, turn: Turn, now: int) -> None:
        for run in self._in_group(turn, "waits"):
            if self._full(turn):
                return
            run.place = "has"
            members = self._members(run)
            for member in members:
                member.free(chains.TURN, now)
            self._keep(run, members)

    def _in_group(self, turn: Turn, place: Place) -> list[_TrialRun]:
        return [r for r in self._runs if r.turn and r.turn.key == turn.key and r.place == place]

    def _full(self, turn: Turn) -> bool:
        group: Group = turn.group
        held = len(self._in_group(turn, "has")) + len(self._in_group(turn, "halted"))
        return held >= group.limit

    def _end(self, run: _TrialRun, reason: str) -> None:
        run.place = "gone"
        members = self._members(run)
        for member in members:
            if not member.ended and member.state != "running":
                member.cancel(reason)
        self._keep(run, members)

    def _members(self, run: _TrialRun) -> list[Member]:
        return [self._member(self._jobs[id_]) for id_ in run.ids]

    def _member(self, job: Job) -> Member:
        return Member(
            action=job.action,
            state=job.state,
            due_at=job.due_at,
            target=job.target,
            waits=self._waits[job.id],
            needs=job.after,
            attempt=job.attempt,
            reason=job.reason,
        )

    def _keep(self, run: _TrialRun, members: Sequence[Member]) -> None:
        for id_, member in zip(run.ids, members, strict=True):
            self._waits[id_] = member.waits
            values = {"state": member.state, "due_at": member.due_at, "reason": member.reason}
            self._change(id_, **values)

    def _change(self, id_: str, **values: Any) -> None:
        self._jobs[id_] = msgspec.structs.replace(self._jobs[id_], **values)
