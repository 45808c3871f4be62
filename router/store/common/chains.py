"""
What the end of one job means for the others of its run: pure, whoever keeps the jobs.

A run is an event x rule with all its actions. Its members are changed in place; the caller writes
down what changed.
"""

from collections.abc import Sequence

import msgspec

from router.model.job import ENDED, JobState, Predecessor

PREDECESSORS, TURN, PAUSED, TARGET = 1, 2, 4, 8
"""What a job waits for; a job may wait for several, so `waits` is their sum."""

SUPERSEDED, BUSY = "superseded", "busy"
DEAD, CANCELLED, UNNEEDED = "predecessor_dead", "predecessor_cancelled", "not_needed"


class Member(msgspec.Struct):
    """One job of a run, as far as the others are concerned."""

    action: str
    state: JobState
    due_at: int
    target: str
    waits: int = 0
    needs: tuple[Predecessor, ...] = ()
    attempt: int = 0
    reason: str | None = None

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    def free(self, what: int, now: int) -> None:
        """It waits for this no longer; it may start now if it waits for nothing else."""
        self.waits &= ~what
        if self.state == "waiting" and not self.waits:
            self.state = "retryable" if self.attempt else "available"
            self.due_at = max(self.due_at, now)

    def hold(self, what: int) -> None:
        """It waits for this from now on."""
        self.waits |= what
        self.state = "waiting"

    def cancel(self, reason: str) -> None:
        """It will not run."""
        self.state, self.reason, self.waits = "cancelled", reason, 0


def follow(members: Sequence[Member], now: int) -> None:
    """Free or cancel whoever waits for a predecessor that has ended; transitively."""
    states = {member.action: member.state for member in members}
    changed = True
    while changed:
        changed = False
        for member in members:
            if not member.waits & PREDECESSORS:
                continue
            if (reason := _hopeless(member, states)) is not None:
                member.cancel(reason)
            elif all(states.get(need.action) in (None, *ENDED) for need in member.needs):
                member.free(PREDECESSORS, now)
            else:
                continue
            states[member.action] = member.state
            changed = True


def _hopeless(member: Member, states: dict[str, JobState]) -> str | None:
    """Why a member can never start: the first of its predecessors that ended in another way."""
    for need in member.needs:
        state = states.get(need.action)  # None: a replay without it, which had ended
        if need.wants == "ended" or state is None or state == need.wants or state not in ENDED:
            continue
        if need.wants == "dead":
            return f"{UNNEEDED}: {need.action}"
        return f"{DEAD if state == 'dead' else CANCELLED}: {need.action}"
    return None


def wait_again(members: Sequence[Member]) -> None:
    """Some dead members were reopened: those that only they had cancelled wait again."""
    opened = {member.action for member in members if not member.ended}
    changed = True
    while changed:
        changed = False
        for member in members:
            if _followed(member) and opened & {need.action for need in member.needs}:
                member.reason = None
                member.hold(PREDECESSORS)
                opened.add(member.action)
                changed = True


def _followed(member: Member) -> bool:
    """Whether a predecessor's end cancelled it."""
    word = (member.reason or "").partition(":")[0]
    return member.state == "cancelled" and word in (DEAD, CANCELLED, UNNEEDED)


def ended(members: Sequence[Member]) -> bool:
    """Whether the run has ended, whatever way."""
    return all(member.ended for member in members)


def yields(members: Sequence[Member]) -> bool:
    """
    Whether a newer run may supersede this one now: it has not begun, or it is between the attempts
    of a job, and none of its jobs is executing.
    """
    if any(member.state == "running" for member in members):
        return False
    if not any(member.attempt for member in members):
        return True
    return any(not member.ended and member.attempt for member in members)


def cancel_rest(members: Sequence[Member], reason: str) -> None:
    """None that has not begun runs any more: a newer run takes the place of this one, or so."""
    for member in members:
        if not member.ended and member.state != "running":
            member.cancel(reason)
