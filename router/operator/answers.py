"""What operators' questions and verbs are answered with: values that know nothing of HTTP."""

from typing import Any, Literal

import msgspec

from router.model.delivery import DeliveryState, DeliverySummary, Redaction
from router.model.fetched import Fetched
from router.model.job import Attempt, Job
from router.model.operations import ActionJobs, Audit, Cause, Replay, ReplayState
from router.model.recovery import Recovery
from router.model.target import TargetRow, TargetState
from router.store.removal import Pruned
from router.store.values import ListedGeneration

HIDDEN = "[hidden]"
"""Stands where a caller without bodies may not look."""


class Deliveries(msgspec.Struct, frozen=True):
    """
    A page of deliveries, newest first. `next` is the `cursor` of the page after, if any.

    With `where`: on `failed` events it could not be evaluated, `reason` says why on the first one.
    """

    deliveries: tuple[DeliverySummary, ...]
    next: str | None = None
    failed: int = 0
    reason: str | None = None


class Jobs(msgspec.Struct, frozen=True):
    """A page of jobs, newest first; `failed` and `reason` as of deliveries."""

    jobs: tuple[Job, ...]
    next: str | None = None
    failed: int = 0
    reason: str | None = None


class Generations(msgspec.Struct, frozen=True):
    """The newest generations, newest first. `live` is the one in force."""

    generations: tuple[ListedGeneration, ...]
    live: str


class EventRow(msgspec.Struct, frozen=True):
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
    `redacted`: what was taken out of it.
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
    events: tuple[EventRow, ...]
    jobs: tuple[Job, ...]
    attempts: tuple[Attempt, ...]
    redacted: Redaction | None = None


class ExportPage(msgspec.Struct, frozen=True):
    """
    Deliveries as they are handed over, in JSON that keeps their numbers; `failed` and `reason` as
    of deliveries. An empty page may have a `next`, too.
    """

    deliveries: tuple[msgspec.Raw, ...]
    next: str | None = None
    failed: int = 0
    reason: str | None = None


class OneJob(msgspec.Struct, frozen=True):
    """A job and its ended attempts."""

    job: Job
    attempts: tuple[Attempt, ...]


class Dead(msgspec.Struct, frozen=True):
    """Dead jobs by what they died of, the latest first; `failed` and `reason` as of deliveries."""

    causes: tuple[Cause, ...]
    failed: int = 0
    reason: str | None = None


class RuleCounters(msgspec.Struct, frozen=True):
    """What a rule did since `since`."""

    since: int
    evaluated: int
    matched: int
    errored: int
    shadowed: int
    last_matched_at: int | None


class RuleRow(msgspec.Struct, frozen=True, rename={"sources": "from"}):
    """
    A rule of the file, or an `orphan`: one that is gone from it but has open jobs.

    `sources` None: all endpoints; `events` None: every event. `note` is what is worth a look.
    """

    rule: str
    mode: str
    jobs: dict[str, int]
    counted: RuleCounters | None
    note: str | None
    about: str | None = None
    sources: tuple[str, ...] | None = None
    events: tuple[str, ...] | None = None
    otherwise: bool = False
    actions: tuple[str, ...] = ()


class RuleList(msgspec.Struct, frozen=True):
    """The rules in file order, then orphans."""

    generation: str
    rules: tuple[RuleRow, ...]


class TargetList(msgspec.Struct, frozen=True):
    """Named targets, then other places with work or trouble."""

    targets: tuple[TargetRow, ...]


class AuditLines(msgspec.Struct, frozen=True):
    """Who changed what, newest first."""

    audit: tuple[Audit, ...]
    next: str | None = None


class Replays(msgspec.Struct, frozen=True):
    """Replays, newest first, without what they named."""

    replays: tuple[Replay, ...]


class EarlierReplay(msgspec.Struct, frozen=True):
    """A replay, and when it was begun."""

    id: str
    at: int


class OperatorPlan(msgspec.Struct, frozen=True):
    """
    What a verb would do; nothing has been done. `seconds` is how long its pace will take; `whole`
    is false when there is more than was looked at.

    With `until` in its selector the verb does exactly this. `passed` is what is left out because
    it has been made again already, `earlier` the last replay that did so; `newer` has, of each job
    that is named and has been made again, its newest run and that one's state. Of a replay,
    `redacted` deliveries are among them, whose values are no longer there.
    """

    deliveries: int
    jobs: int
    skipped: int
    parts: tuple[ActionJobs, ...]
    first_at: int | None
    last_at: int | None
    seconds: float
    whole: bool
    passed: int
    earlier: EarlierReplay | None
    until: int | None
    newer: dict[str, tuple[str, str]] = {}
    redacted: int = 0
    dry_run: Literal[True] = True


class ReplayProgress(msgspec.Struct, frozen=True):
    """
    How far a replay is. `state` is `making` if that takes longer than an answer may: ask again.

    `last_due_at` is when its pace ends; `skipped`, `passed` and `earlier` as of a plan.
    """

    id: str
    state: ReplayState
    deliveries: int
    jobs: int
    skipped: int
    passed: int
    earlier: EarlierReplay | None
    created_at: int
    last_due_at: int | None
    dry_run: Literal[False] = False


class Cancelled(msgspec.Struct, frozen=True):
    """How many jobs were cancelled."""

    cancelled: int


class Revived(msgspec.Struct, frozen=True):
    """How many dead jobs were made available again; `passed`, `earlier`, `newer` as of a plan."""

    revived: int
    passed: int = 0
    earlier: EarlierReplay | None = None
    newer: dict[str, tuple[str, str]] = {}


class TargetChanged(msgspec.Struct, frozen=True):
    """A target after `pause` or `resume`; `jobs` of it wait now, or go on."""

    target: str
    state: TargetState
    changed: bool
    jobs: int


class PruneProgress(Pruned, frozen=True):
    """What a bounded piece of retention removed; `more`: ask again."""

    more: bool


class Remembered(msgspec.Struct, frozen=True):
    """How many facts are kept."""

    remembered: int


class Noted(msgspec.Struct, frozen=True):
    """How many lines the audit got."""

    noted: int


class Reloaded(msgspec.Struct, frozen=True):
    """The generation in force, and whether the reload changed it."""

    generation: str
    changed: bool


class Resumed(msgspec.Struct, frozen=True):
    """Whether the router was held; jobs run now in any case."""

    changed: bool


class ReloadState(msgspec.Struct):
    """
    How the last reload went; times in Unix milliseconds, `error` the diagnostics as text.

    `succeeded_at` is when the rules in force were read, `failures` how many reloads failed since,
    `changes` what the last one that changed anything changed, by names. `unread` is why the last
    one could not even read the files, for now: that says nothing about the rules.
    """

    ok: bool = True
    at: int = 0
    error: str | None = None
    succeeded_at: int = 0
    failures: int = 0
    changes: dict[str, Any] = {}
    unread: str | None = None


class StoreFile(msgspec.Struct, frozen=True):
    """The store's file or database, and the bytes that it holds."""

    path: str
    bytes: int


class ServerState(msgspec.Struct, frozen=True):
    """
    What runs here. `held`: no job runs until `router resume`. `jobs` are counted by state, `silent`
    has endpoints that nothing comes to any more, `ranges` when each sender's published addresses
    were last read, `fetched` how it goes with all that proves deliveries and is fetched, by
    address, `recoveries` the last time that each sender was asked for what it could not deliver.
    """

    version: str
    generation: str
    started_at: int
    endpoints: list[str]
    store: StoreFile
    jobs: dict[str, int]
    reload: ReloadState
    held: bool = False
    silent: dict[str, dict[str, Any]] = {}
    ranges: dict[str, int | None] = {}
    fetched: dict[str, Fetched] = {}
    recoveries: dict[str, Recovery] = {}


class RefusalList(msgspec.Struct, frozen=True):
    """The newest requests that this router refused, newest first."""

    refusals: list[dict[str, Any]]


class RefusedRequest(msgspec.Struct, frozen=True):
    """One refused request, whole; names and values of `headers` as Latin-1 texts."""

    id: str
    at: int
    endpoint: str
    reason: str
    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body_base64: bytes
    body_bytes: int
    cut: bool


class JobOutput(msgspec.Struct, frozen=True):
    """
    What a job's command has written; `next` is the `after` of the next question. It does not run,
    as far as this router knows, where another one runs it.
    """

    running: bool
    attempt: int = 0
    stdout: str = ""
    stderr: str = ""
    next: str = ""
