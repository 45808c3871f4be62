"""Jobs and attempts: one event x rule x action, durable, and each run of it."""

from typing import Any, Literal

import msgspec

JobState = Literal["available", "waiting", "running", "retryable", "succeeded", "dead", "cancelled"]
"""
available  due now or at its due time; nobody holds it
waiting    on a predecessor, a group turn or a paused rule
running    leased; an attempt has been recorded
retryable  an attempt failed; due again at its due time
succeeded, dead, cancelled   ended; `reason` says why for the last two
"""

ENDED: frozenset[str] = frozenset({"succeeded", "dead", "cancelled"})
OPEN: frozenset[str] = frozenset({"available", "waiting", "running", "retryable"})

ActionKind = Literal["http", "shell", "python", "log"]

FailureClass = Literal["network", "timeout", "throttled", "server", "client", "temporary", "error"]
"""
network, timeout, throttled (408 425 429), server (5xx)   full schedule
client (other 3xx 4xx)                                    first five delays, then dead
temporary (exit 75, Retry raised)                         schedule, then `short` once
error (any other failure of a shell or python action)     full schedule
"""


class NewJob(msgspec.Struct, frozen=True):
    """
    A job as routing makes it.

    `target` is the name its limits belong to. `lease` is set when it is committed already leased
    to be handed over in memory; its first attempt counts as recorded then. `due_at` is Unix
    milliseconds. `generation` names the ruleset that wanted it, None for its delivery's.
    `covers` are the event indexes of one run for a whole batch (`per: delivery`), of which
    `event_index` is the first; empty: that event alone.
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


class Job(msgspec.Struct, frozen=True):
    """
    A job as stored.

    `attempt` counts the attempts begun, `charged` those that spend the retry schedule, `deaths`
    the consecutive ones that ended with our own process. `lease` is the fencing token of the
    running attempt. `covers` as in NewJob. Times are Unix milliseconds.
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


class Done(msgspec.Struct, frozen=True):
    """The action succeeded; `result` is what later actions see as `results.ID`."""

    result: dict[str, Any] = {}


class Retry(msgspec.Struct, frozen=True):
    """The action failed and may be tried again, not before `after_s` seconds if given."""

    failure: FailureClass
    reason: str
    after_s: float | None = None
    result: dict[str, Any] = {}


class Fail(msgspec.Struct, frozen=True):
    """The action failed and must not be tried again."""

    reason: str
    result: dict[str, Any] = {}


Outcome = Done | Retry | Fail

AttemptOutcome = Literal["succeeded", "failed", "dead", "interrupted", "dry"]


class Attempt(msgspec.Struct, frozen=True):
    """
    One run of a job, ended.

    `result` is a JSON object: http `{status, headers, text, …}`, shell `{exit, stdout, stderr}`,
    log `{message}`; bounded by the action. `generation` is the ruleset whose action ran.
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
    `available`.
    """

    job: str
    lease: str
    attempt: Attempt
    state: JobState
    due_at: int | None = None
    reason: str | None = None
    charged: bool = True
