"""What the admin door's questions are answered with: values that know nothing of HTTP."""

from typing import Any

import msgspec

from router.model.delivery import DeliveryState, DeliverySummary
from router.model.job import Attempt, Job
from router.model.operations import Audit, Cause, Replay
from router.model.target import TargetRow
from router.store.values import ListedAttempt, ListedEvent, ListedGeneration

HIDDEN = "[hidden]"
"""Stands where a caller without bodies may not look."""


class Deliveries(msgspec.Struct, frozen=True):
    """
    A page of deliveries, newest first. `next` is the `cursor` of the page after, if any; `cut`:
    not all that `where` was to be held against was looked at.
    """

    deliveries: tuple[DeliverySummary, ...]
    next: str | None = None
    cut: bool = False


class EventPage(msgspec.Struct, frozen=True):
    """A page of events, those of the newest delivery first."""

    events: tuple[ListedEvent, ...]
    next: str | None = None


class Jobs(msgspec.Struct, frozen=True):
    """A page of jobs, newest first; `cut` as of deliveries."""

    jobs: tuple[Job, ...]
    next: str | None = None
    cut: bool = False


class Attempts(msgspec.Struct, frozen=True):
    """A page of attempts, those of the newest job first."""

    attempts: tuple[ListedAttempt, ...]
    next: str | None = None


class Generations(msgspec.Struct, frozen=True):
    """A page of generations, newest first. `live` is the one in force."""

    generations: tuple[ListedGeneration, ...]
    live: str
    next: str | None = None


class GenerationText(msgspec.Struct, frozen=True):
    """A rules file as it once was; `context` has the other files and variables of that day."""

    id: str
    created_at: int
    text: str
    context: dict[str, Any]


class ToldEvent(msgspec.Struct, frozen=True):
    """An event of a delivery."""

    index: int
    id: str
    name: str
    action: str | None = None


class OneDelivery(msgspec.Struct, frozen=True):
    """
    A delivery with everything that came of it; its body is a page of its own.

    `headers` are (lower-case name, value). Times are Unix milliseconds. `events` are those that
    were new of `event_count`; `damaged`: the disk has changed it, nothing is done with it.
    """

    id: str
    endpoint: str
    provider: str
    received_at: int
    state: DeliveryState
    method: str
    path: str
    query: str
    headers: tuple[tuple[str, str], ...]
    body_bytes: int
    verified_by: str | None
    generation: str
    flags: tuple[str, ...]
    peer: str
    replay_of: str | None
    duplicates: int
    last_seen_at: int | None
    event_count: int
    damaged: bool
    events: tuple[ToldEvent, ...]
    jobs: tuple[Job, ...]
    attempts: tuple[Attempt, ...]


class OneJob(msgspec.Struct, frozen=True):
    """A job and its ended attempts."""

    job: Job
    attempts: tuple[Attempt, ...]


class Dead(msgspec.Struct, frozen=True):
    """Dead jobs by what they died of, the latest first."""

    causes: tuple[Cause, ...]


class Counted(msgspec.Struct, frozen=True):
    """What a rule did since `since`."""

    since: int
    evaluated: int
    matched: int
    errored: int
    shadowed: int
    last_matched_at: int | None


class ToldRule(msgspec.Struct, frozen=True, rename={"sources": "from"}):
    """
    A rule of the file, or an `orphan`: one that is gone from it but has open jobs.

    `sources` None: all endpoints; `events` None: every event. `note` is what is worth a look.
    """

    rule: str
    mode: str
    jobs: dict[str, int]
    counted: Counted | None
    note: str | None
    about: str | None = None
    sources: tuple[str, ...] | None = None
    events: tuple[str, ...] | None = None
    otherwise: bool = False
    actions: tuple[str, ...] = ()


class RuleList(msgspec.Struct, frozen=True):
    """The rules in file order, then orphans."""

    generation: str
    rules: tuple[ToldRule, ...]


class TargetList(msgspec.Struct, frozen=True):
    """Named targets, then other places with work or trouble."""

    targets: tuple[TargetRow, ...]


class ToldEndpoint(msgspec.Struct, frozen=True):
    """A receiving address."""

    name: str
    provider: str
    addresses: tuple[str, ...]
    secrets: tuple[str, ...]
    unsigned: bool
    body_max: int


class Endpoints(msgspec.Struct, frozen=True):
    """The endpoints; `base_url` is what senders are told."""

    base_url: str
    endpoints: tuple[ToldEndpoint, ...]


class Remembered(msgspec.Struct, frozen=True):
    """Small facts that outlive a restart, by name."""

    facts: dict[str, Any]


class AuditLines(msgspec.Struct, frozen=True):
    """Who changed what, newest first."""

    audit: tuple[Audit, ...]
    next: str | None = None


class Replays(msgspec.Struct, frozen=True):
    """Replays, newest first, without what they named."""

    replays: tuple[Replay, ...]


class Me(msgspec.Struct, frozen=True):
    """Who is asking, and what they may do."""

    name: str
    role: str
    bodies: bool
