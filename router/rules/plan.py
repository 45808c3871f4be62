"""From a reading to a plan: events with their dedupe keys, the jobs that rules want of them."""

import hashlib
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from router.expressions import encode_json, key_of
from router.model.delivery import REDACTED, Delivery, DeliveryEvent, DeliveryState
from router.model.ids import Ids
from router.model.job import NewJob, Turn
from router.model.settings import Endpoint
from router.providers import ReadEvent, Reading
from router.rules.live import LiveRuleset
from router.rules.match import Matches
from router.rules.scope import event_scope
from router.rules.specs import CompiledRule, Concurrency

JOBS_MAX = 20_000
KEY_BYTES_MAX = 255
SHOWN_MAX = 200


class Plan(msgspec.Struct, frozen=True):
    """
    What one delivery becomes: its state, its events, their jobs, and of each event its matches
    and the scope that they were judged by.

    `flags` are the reading's and the plan's own; `reason` says why it was not routed. `ungrouped`
    has, for each run whose concurrency group has no value, its rule.
    """

    state: DeliveryState
    events: tuple[DeliveryEvent, ...]
    jobs: tuple[NewJob, ...]
    matches: tuple[Matches, ...]
    scopes: tuple[dict[str, Any], ...]
    flags: tuple[str, ...]
    reason: str | None = None
    ungrouped: tuple[str, ...] = ()


Reserve = Callable[[str, str], str | None]
"""Asks dispatch for a lease on a slot of (target, kind); None: commit the job as available."""


def dedupe_key(endpoint: str, identity: bytes, *, hidden: bool = False) -> bytes:
    """The endpoint's name and the identity; hashed when over 255 bytes, or `hidden`."""
    key = endpoint.encode() + b"\0" + identity
    if hidden or len(key) > KEY_BYTES_MAX:
        return hashlib.sha256(key).digest()
    return key


def body_identity(event: str, body: bytes) -> bytes:
    """The identity of a delivery that carries none: SHA-256 of event name and body."""
    return hashlib.sha256(event.encode() + b"\0" + body).digest()


class _PlannedRun(msgspec.Struct):
    """One rule and the event it wants, or under `per: delivery` all it wants of the batch."""

    rule: CompiledRule
    events: list[DeliveryEvent]
    turn: Turn | None


def _gather(
    runs: list[_PlannedRun],
    batches: dict[str, _PlannedRun],
    event: DeliveryEvent,
    found: Matches,
    scope: dict[str, Any],
    hidden: Collection[tuple[str, str]],
) -> None:
    for rule in (*found.live, *found.paused):
        if rule.per_delivery and rule.id in batches:
            batches[rule.id].events.append(event)
            continue
        turn = None
        if rule.concurrency is not None:
            hide = (scope["endpoint"], rule.id) in hidden
            turn = turn_of(rule.id, rule.concurrency, scope, hidden=hide)
        run = _PlannedRun(rule, [event], turn)
        runs.append(run)
        if rule.per_delivery:
            batches[rule.id] = run


def turn_of(
    rule: str, concurrency: Concurrency, scope: dict[str, Any], *, hidden: bool = False
) -> Turn | None:
    """
    What a run takes its turn by; None: its group has no value. `hidden`: the value itself is not to
    be stored.
    """
    value = key_of(concurrency.value, scope)
    if value is None:
        return None
    text = encode_json(value).decode()
    key = f"{rule}\x1f{text}"
    if hidden or len(key) > KEY_BYTES_MAX:
        key = f"{rule}\x1f{hashlib.sha256(text.encode()).hexdigest()}"
    shown = REDACTED if hidden else value if isinstance(value, str) else text
    return Turn(key, shown[:SHOWN_MAX], concurrency.group)


class Planner:
    """Plans deliveries by one live generation."""

    def __init__(self, live: LiveRuleset, ids: Ids, reserve: Reserve) -> None:
        self._live = live
        self._hidden = live.hidden.keys
        self._ids = ids
        self._reserve = reserve

    def plan(
        self, delivery: Delivery, reading: Reading, endpoint: Endpoint, now: int, due_at: int
    ) -> Plan:
        """Name, key and match every event; make the jobs of those that match, due at `due_at`."""
        if reading.state != "routed":
            return self._unrouted(delivery, reading, endpoint, reading.state, reading.reason, now)
        ruleset = self._live.ruleset
        shared, match = ruleset.roots(delivery), self._live.matcher.match
        events: list[DeliveryEvent] = []
        matches: list[Matches] = []
        scopes: list[dict[str, Any]] = []
        runs: list[_PlannedRun] = []
        batches: dict[str, _PlannedRun] = {}
        flags = reading.flags
        for read in reading.events:
            event = read.event(self._ids.new("evt", now))
            scope = event_scope(shared, delivery, event, ruleset.defines)
            keys, flag = self._keys(delivery, read, endpoint, scope)
            if flag and flag not in flags:
                flags = (*flags, flag)
            if keys:
                event = msgspec.structs.replace(event, keys=keys)
            found = match(delivery.endpoint, event.name, event.action, scope)
            events.append(event)
            matches.append(found)
            scopes.append(scope)
            _gather(runs, batches, event, found, scope, self._live.hidden.groups)
        if sum([len(run.rule.actions) for run in runs]) > JOBS_MAX:
            reason = f"more than {JOBS_MAX} jobs"
            return self._unrouted(delivery, reading, endpoint, "too_complex", reason, now)
        jobs: list[NewJob] = []
        for run in runs:
            self._add_jobs(jobs, run, now, due_at)
        state: DeliveryState = "routed" if jobs else "unmatched"
        ungrouped = tuple([run.rule.id for run in runs if run.rule.concurrency and not run.turn])
        return Plan(
            state=state,
            events=tuple(events),
            jobs=tuple(jobs),
            matches=tuple(matches),
            scopes=tuple(scopes),
            flags=flags,
            ungrouped=ungrouped,
        )

    def _add_jobs(self, jobs: list[NewJob], run: _PlannedRun, now: int, due_at: int) -> None:
        first, rule, turn = run.events[0], run.rule, run.turn
        covers = tuple([e.index for e in run.events]) if rule.per_delivery else ()
        paused = rule.mode == "paused"
        linked = turn is not None or rule.id in self._live.chained
        name: str | None = None
        for action in rule.actions:
            held = paused or turn is not None or action.after
            lease = None if held else self._reserve(action.target, action.kind)
            id_ = self._ids.new("job", now)
            if linked and name is None:
                name = id_  # the first job's id names the run
            job = NewJob(
                id=id_,
                event_index=first.index,
                event_id=first.id,
                event=first.name,
                rule=rule.id,
                action=action.id,
                kind=action.kind,
                target=action.target,
                due_at=due_at,
                state="waiting" if paused else "running" if lease else "available",
                lease=lease,
                covers=covers,
                run=name,
                after=action.after,
                turn=turn,
            )
            jobs.append(job)

    def _keys(
        self, delivery: Delivery, read: ReadEvent, endpoint: Endpoint, scope: dict[str, Any]
    ) -> tuple[tuple[bytes, ...], str | None]:
        ruleset = self._live.ruleset
        mode, body = endpoint.dedupe.mode, delivery.body if read.raw is None else read.raw
        identity, flag = read.provider_id if mode == "id" else None, None
        if mode == "body":
            identity = body_identity(read.name, body)
        elif mode == "key":
            # None: the endpoint went with a reload while its request was being read
            key = ruleset.dedupe_keys.get(endpoint.name)
            value = None if key is None else key_of(key, scope)
            identity, flag = (None, "no_key") if value is None else (encode_json(value), None)
        elif mode == "id" and identity is None and ruleset.providers[endpoint.provider].has_ids:
            identity = body_identity(read.name, body)
            flag = "no_id" if ruleset.providers[endpoint.provider].sends_ids else None
        hidden = bool(self._hidden) and endpoint.name in self._hidden
        keys = () if identity is None else (dedupe_key(endpoint.name, identity, hidden=hidden),)
        if endpoint.replay_guard:
            guard = b"body\0" + body_identity(read.name, body)
            keys = (*keys, dedupe_key(endpoint.name, guard))
        return keys, flag

    def _unrouted(
        self,
        delivery: Delivery,
        reading: Reading,
        endpoint: Endpoint,
        state: DeliveryState,
        reason: str | None,
        now: int,
    ) -> Plan:
        """One pseudo event carries the delivery's key, so that copies are still duplicates."""
        identity = reading.delivery_id
        provider = self._live.ruleset.providers[delivery.provider]
        flags = reading.flags
        if identity is None or endpoint.dedupe.mode == "body":
            identity = body_identity(reading.event_name, delivery.body)
            if provider.sends_ids and "no_id" not in flags:
                flags = (*flags, "no_id")
        keyed = endpoint.dedupe.mode == "body" or (
            endpoint.dedupe.mode == "id" and provider.has_ids
        )
        keys = (dedupe_key(delivery.endpoint, identity),) if keyed else ()
        event = DeliveryEvent(
            self._ids.new("evt", now), 0, reading.event_name, None, None, keys=keys
        )
        return Plan(
            state=state, events=(event,), jobs=(), matches=(), scopes=(), flags=flags, reason=reason
        )
