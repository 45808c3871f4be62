"""What operators do: replays under way, lines of the audit, dead jobs by cause."""

from typing import Any, Literal

import msgspec

from router.model.job import NewJob

ReplayState = Literal["making", "made", "cancelled"]
"""
making     its jobs are being made, some deliveries at a time
made       every job is there; whether they have run is in their own states
cancelled  ended by an operator before or after that
"""

Change = Literal["cancel", "revive"]
"""What operators do with jobs that there are."""

Way = Literal["page", "api", "command"]
"""How an operator acts: `command` is the command line on the store itself, without a server."""

Item = tuple[str, tuple[str, ...] | None]
"""A delivery, and the jobs of it to make again; None: the delivery as a whole."""


class Replay(msgspec.Struct, frozen=True):
    """
    Stored work made again, as one thing with a name.

    `asked` is the request as JSON, `items` what it named, None if a selector finds it on the way.
    `reached` is how far it has come; `due` has, of each target, when its next job is due (Unix
    milliseconds, with fractions). `skipped` counts deliveries that could not be made again,
    `passed` jobs (or deliveries, where they are routed again) that had been made again already;
    `earlier` is the newest job that did so.
    """

    id: str
    asked: dict[str, Any]
    created_at: int
    items: tuple[Item, ...] | None = None
    state: ReplayState = "making"
    reached: str = ""
    due: dict[str, float] = {}
    deliveries: int = 0
    jobs: int = 0
    skipped: int = 0
    ended_at: int | None = None
    passed: int = 0
    earlier: str | None = None


class ReplayStep(msgspec.Struct, frozen=True):
    """
    Some deliveries of a replay with their new jobs, to be made in one transaction.

    It counts only while the replay stands at `after`; then it stands at `reached`, and is made if
    this was the `last` step. `once`: what has been made again since it was looked at is passed
    over; `passed` was before that.
    """

    replay: str
    after: str
    reached: str
    last: bool
    work: tuple[tuple[str, tuple[NewJob, ...]], ...]
    due: dict[str, float]
    skipped: int = 0
    passed: int = 0
    earlier: str | None = None
    once: bool = False


class ActionJobs(msgspec.Struct, frozen=True):
    """The jobs of one action."""

    rule: str
    action: str
    target: str
    jobs: int


class Planned(msgspec.Struct, frozen=True):
    """
    The plan of a replay, or of a change of jobs that there are. `first_at` and `last_at` are when
    the deliveries came, Unix milliseconds; `seconds` is how long its pace will take; `whole` is
    false when there is more than was looked at. `passed` and `earlier` as of a replay; of `revive`,
    dead jobs that a replay has made again. Of a replay, so many deliveries are `redacted`.
    """

    deliveries: int = 0
    jobs: int = 0
    skipped: int = 0
    parts: tuple[ActionJobs, ...] = ()
    first_at: int | None = None
    last_at: int | None = None
    seconds: float = 0.0
    whole: bool = True
    passed: int = 0
    earlier: str | None = None
    redacted: int = 0


class Audit(msgspec.Struct, frozen=True):
    """
    A line of the audit: who changed what, when, and how many that were.

    `who` is the name of their token (`token` is the one in the file beside the store), `local` for
    the command line on the store itself, `anyone` where no token is required. `way` is how they
    asked, None: the router did, or it is not known. `peer` is the address they came from, of a
    command USER@HOST.
    """

    id: str
    at: int
    who: str
    verb: str
    asked: dict[str, Any]
    count: int = 0
    peer: str | None = None
    way: Way | None = None


class Cause(msgspec.Struct, frozen=True):
    """
    Dead jobs of one rule, action and target that died alike; `key` selects exactly these.

    `reason` is theirs without what differs. `first_at` and `last_at` are when they ended,
    `examples` the ids of some of them.
    """

    key: str
    rule: str
    action: str
    target: str
    reason: str
    count: int
    first_at: int
    last_at: int
    examples: tuple[str, ...]
