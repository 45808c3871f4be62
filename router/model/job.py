"""Jobs and attempts: one event x rule x action, durable, and each run of it."""

from typing import Any, Literal

import msgspec

from router.model.delivery import Delivery, DeliveryEvent

JobState = Literal["available", "waiting", "running", "retryable", "succeeded", "dead", "cancelled"]
"""
available  due now or at its due time; nobody holds it
waiting    on a predecessor, a group turn or a paused rule; `waits_for` says which
running    leased; an attempt has been recorded
retryable  an attempt failed; due again at its due time
succeeded, dead, cancelled   ended; `reason` says why for the last two
"""

ENDED: frozenset[str] = frozenset({"succeeded", "dead", "cancelled"})
OPEN: frozenset[str] = frozenset({"available", "waiting", "running", "retryable"})

ActionKind = str
"""The name of a row of `router.kinds.KINDS`."""

FailureClass = Literal["network", "timeout", "throttled", "server", "client", "temporary", "error"]
"""
network, timeout, throttled (408 425 429), server (5xx)   full schedule
client (other 3xx 4xx)                                    first five delays, then dead
temporary (exit 75, Retry raised)                         schedule, then `short` once
error (any other failure of a shell or python action)     full schedule
"""


Wanted = Literal["succeeded", "dead", "ended"]
"""How a predecessor must end: `ended` takes any end, a cancellation too."""


class Predecessor(msgspec.Struct, frozen=True):
    """A predecessor of a job: an action of the same run, and how it must end."""

    action: str
    wants: Wanted = "succeeded"


class Group(msgspec.Struct, frozen=True):
    """A rule's concurrency group: how many runs of one value at once, and what becomes of more."""

    limit: int = 1
    on_busy: Literal["queue", "latest", "drop"] = "queue"
    on_dead: Literal["continue", "halt"] = "continue"


class Turn(msgspec.Struct, frozen=True):
    """What a run takes its turn by: runs of the same `key` share the group; `value` is shown."""

    key: str
    value: str
    group: Group


class NewJob(msgspec.Struct, frozen=True):
    """
    A job as routing makes it.

    `target` is the name its limits belong to. `lease` is set when it is committed already leased
    to be handed over in memory; its first attempt counts as recorded then. `due_at` is Unix
    milliseconds. `generation` names the ruleset that wanted it, None for its delivery's.
    `covers` are the event indexes of one run for a whole batch (`per: delivery`), of which
    `event_index` is the first; empty: that event alone.

    `run` is the same text for all jobs of a run that has an order or a turn, and for no other; the
    jobs of a run stand together. None: a job by itself. `after` are its predecessors, `turn` is
    its run's.
    """

    id: str
    event_index: int
    event_id: str
    event: str
    rule: str
    action: str
    kind: ActionKind
    target: str
    due_at: int
    state: JobState = "available"
    lease: str | None = None
    replay_of: str | None = None
    generation: str | None = None
    covers: tuple[int, ...] = ()
    run: str | None = None
    after: tuple[Predecessor, ...] = ()
    turn: Turn | None = None


class Job(msgspec.Struct, frozen=True):
    """
    A job as stored.

    `attempt` counts the attempts begun, `charged` those that spend the retry schedule, `deaths`
    the consecutive ones that ended with our own process. `lease` is the fencing token of the
    running attempt. `covers` and `after` as in NewJob. `waits_for` says, in words, what keeps a
    waiting job from starting. Times are Unix milliseconds.
    """

    id: str
    delivery: str
    endpoint: str
    event_index: int
    event_id: str
    event: str
    rule: str
    action: str
    kind: ActionKind
    target: str
    state: JobState
    due_at: int
    created_at: int
    generation: str
    attempt: int = 0
    charged: int = 0
    deaths: int = 0
    lease: str | None = None
    started_at: int | None = None
    ended_at: int | None = None
    reason: str | None = None
    replay_of: str | None = None
    covers: tuple[int, ...] = ()
    after: tuple[Predecessor, ...] = ()
    waits_for: tuple[str, ...] = ()


def committed(new: NewJob, delivery: Delivery, now: int) -> Job:
    """The job as the store holds it once it is committed; one that is `running` has begun."""
    begun = new.state == "running"
    return Job(
        id=new.id,
        delivery=delivery.id,
        endpoint=delivery.endpoint,
        event_index=new.event_index,
        event_id=new.event_id,
        event=new.event,
        rule=new.rule,
        action=new.action,
        kind=new.kind,
        target=new.target,
        state=new.state,
        due_at=new.due_at,
        created_at=now,
        generation=new.generation or delivery.generation,
        attempt=1 if begun else 0,
        lease=new.lease if begun else None,
        started_at=now if begun else None,
        replay_of=new.replay_of,
        covers=new.covers,
        after=new.after,
    )


class Work(msgspec.Struct, frozen=True):
    """
    A leased job on its way to its action.

    `event` is the one that intake has read, `scope` what expressions saw of it as it was routed by
    the job's own generation. None when the job comes from the backlog: rendering reads both from
    the delivery where they are wanted.
    """

    job: Job
    delivery: Delivery
    event: DeliveryEvent | None
    scope: dict[str, Any] | None = None


class Done(msgspec.Struct, frozen=True):
    """The action succeeded; `result` is what later actions see as `results.ID`."""

    result: dict[str, Any] = {}


class RetryOutcome(msgspec.Struct, frozen=True):
    """The action failed and may be tried again, not before `after_s` seconds if given."""

    failure: FailureClass
    reason: str
    after_s: float | None = None
    result: dict[str, Any] = {}


class FailOutcome(msgspec.Struct, frozen=True):
    """The action failed and must not be tried again."""

    reason: str
    result: dict[str, Any] = {}


Outcome = Done | RetryOutcome | FailOutcome


class Skip(msgspec.Struct, frozen=True):
    """The job's `when` says that it must not run; `reason` is `when`, or how that failed."""

    reason: str


AttemptOutcome = Literal["succeeded", "failed", "dead", "interrupted", "dry", "skipped"]


class Attempt(msgspec.Struct, frozen=True):
    """
    One run of a job, ended.

    `result` is a JSON object: http `{status, headers, text, …}`, shell `{exit, stdout, stderr}`,
    log `{message}`; bounded by the action. `generation` is the ruleset whose action ran.
    `skipped`: nothing ran, as `when` did not hold.
    """

    job: str
    number: int
    started_at: int
    ended_at: int
    outcome: AttemptOutcome
    reason: str | None
    result: dict[str, Any]
    generation: str


class Settlement(msgspec.Struct, frozen=True):
    """
    The end of one attempt: what to write, if `lease` still holds the job.

    `charged` says whether the attempt spends the schedule; `due_at` is set for `retryable` and
    `available`. `failure` is the class of what failed, which is not written.
    """

    job: str
    lease: str
    attempt: Attempt
    state: JobState
    due_at: int | None = None
    reason: str | None = None
    charged: bool = True
    failure: FailureClass | None = None
