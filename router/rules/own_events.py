"""The router's own events: deliveries of an endpoint without address, planned like any other."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from router.kinds import CODES, KINDS
from router.model.delivery import Delivery, InboundRequest
from router.model.ids import Ids
from router.model.job import ActionKind, Attempt, Job
from router.model.settings import OWN
from router.rules.live import LiveRuleset
from router.rules.plan import Plan, Planner

SAID_MAX = 1_000
"""Characters of `text`: what every chat and pager takes whole."""

TEXTS = {
    "job.dead": "{rule}/{action} is dead after {attempts} attempts: {reason} (router show {job})",
    "jobs.dead": "dead jobs: {new} more, {dead} in all; {list} (router dead)",
    "target.failing": "target {target} is failing: {reason} (router targets)",
    "target.paused": "target {target} was paused by {by}: {reason} (router targets)",
    "endpoint.refusing": "endpoint {endpoint} refused {refused} requests in {minutes} minutes and "
    "accepted {accepted}, mostly for {main_reason} "
    "(router deliveries --refused --endpoint {endpoint})",
    "endpoint.silent": "endpoint {endpoint} has received nothing since {heard} (router doctor)",
    "rule.failing": "rule {rule} erred on {erred} events in {minutes} minutes and matched "
    "{matched} (router rules)",
    "reload.failed": "the changed rules file is wrong, the rules before it stay in force: "
    "{diagnostics} (router check)",
    "secret.expiring": "secret {secret} ends at {until}, days left: {days_left}",
    "certificate.expiring": "the certificate of {certificate} ends at {until}, "
    "days left: {days_left}",
    "store.filling": "the store fills: {percent} % of {cause} (router store info)",
    "rules.differ": "for {minutes} minutes routers of one database have gone by different rules "
    "(router doctor)",
}
TEXTS |= {"target.open": TEXTS["target.failing"]}


def text_of(event: str, payload: Mapping[str, Any]) -> str:
    """The `text` of an event; what is too long loses its middle, never the command."""
    known = {
        **payload,
        "heard": payload.get("last") or payload.get("since"),
        "list": "; ".join(map(_died, payload.get("by_rule", ()))),
    }
    lines = {key: str(value).partition("\n")[0] for key, value in known.items()}
    words = TEXTS[event].format_map(lines)
    return words if len(words) <= SAID_MAX else f"{words[: SAID_MAX - 101]}…{words[-100:]}"


def _died(one: Mapping[str, Any]) -> str:
    reason = one["reason"].partition("\n")[0]
    return f"{one['new']} of {one['rule']}/{one['action']}: {reason}"


DEAD = "job.dead"
TEXT_MAX = 1_024
"""Characters of an action's answer that an event repeats: enough to see what went wrong."""
REASON_MAX = 500
DIAGNOSTICS_MAX = 4_096

Hide = Callable[[str], str]
"""Masks the secrets in a text."""


def wants(live: LiveRuleset, event: str) -> bool:
    """Whether any rule `from: router` lets this event in; without one nothing is ever stored."""
    if live.own is None:
        return False
    return any(
        not index.empty
        for wanting in live.matcher.wanting(OWN, event, None)
        for index in (wanting.every, wanting.named)
    )


def planned(
    live: LiveRuleset,
    ids: Ids,
    event: str,
    identity: str,
    payload: Mapping[str, Any],
    now: int,
    due_at: int,
) -> tuple[Delivery, Plan] | None:
    """
    One of our own events as a delivery with its jobs, all to be leased; None: nobody wants it.

    `identity` is the same text for the same cause: it is the dedupe key. The payload gets a `text`
    for people. `now` is wall time, `due_at` ledger time.
    """
    if live.own is None or not wants(live, event):
        return None
    headers = (
        ("content-type", "application/json"),
        ("router-event", event),
        ("router-event-id", identity),
    )
    body = msgspec.json.encode({"text": text_of(event, payload), **payload})
    # An identity may hold a name with characters that no header has.
    wire = tuple((n.encode(), v.encode("latin-1", "backslashreplace")) for n, v in headers)
    reading = live.own.provider.read(InboundRequest("POST", b"", b"", wire, body, "", now))
    draft = Delivery(
        id=ids.new("dlv", now),
        endpoint=OWN,
        provider=OWN,
        received_at=now,
        method="POST",
        path="",
        query="",
        headers=headers,
        body=body,
        verified_by=None,
        state="routed",
        event_count=len(reading.events),
        generation=live.ruleset.generation,
    )
    plan = Planner(live, ids, lambda _target, _kind: None).plan(
        draft, reading, live.own.settings, now, due_at
    )
    return msgspec.structs.replace(draft, state=plan.state, flags=plan.flags), plan


def death(
    live: LiveRuleset, ids: Ids, job: Job, attempt: Attempt, hide: Hide, due_at: int
) -> tuple[Delivery, Plan] | None:
    """
    `job.dead` for a job whose last attempt this is; None: nobody wants it, or the job itself is
    about one of our own events. So a rule `from: router` whose own action dies makes no loop.
    """
    if job.endpoint == OWN or not wants(live, DEAD):
        return None
    # A revived job may die again: that is another event.
    identity = f"{DEAD}/{job.id}/{attempt.number}"
    told = _untold(attempt) if live.redacts(job.endpoint) else attempt
    payload = of_death(job, told, hide)
    return planned(live, ids, DEAD, identity, payload, attempt.ended_at, due_at)


def _untold(attempt: Attempt) -> Attempt:
    """Without what may repeat a value that is redacted: its output, and what its reason quotes."""
    reason = head_of(attempt.reason or "")
    codes = {key: attempt.result.get(key) for key in CODES}
    return msgspec.structs.replace(attempt, reason=reason, result=codes)


def head_of(reason: str) -> str:
    """A reason without what it quotes behind its first colon."""
    return reason.partition(":")[0]


def of_death(job: Job, attempt: Attempt, hide: Hide) -> dict[str, Any]:
    """The payload of `job.dead`."""
    return {
        "job": job.id,
        "delivery": job.delivery,
        "endpoint": job.endpoint,
        "event": shown(job.event, hide, REASON_MAX),
        "event_id": job.event_id,
        "rule": job.rule,
        "action": job.action,
        "kind": job.kind,
        "target": shown(job.target, hide, REASON_MAX),
        "attempts": job.attempt,
        "reason": shown(attempt.reason or "", hide, REASON_MAX),
        "created_at": timestamp(job.created_at),
        "died_at": timestamp(attempt.ended_at),
        "last": _last(job.kind, attempt.result, hide),
    }


def _last(kind: ActionKind, result: Mapping[str, Any], hide: Hide) -> dict[str, Any]:
    """What the last attempt's action had to say: a code, and the end of a text."""
    found: dict[str, Any] = {**dict.fromkeys(CODES), "text": None}
    for key in CODES:
        if type(result.get(key)) is int:
            found[key] = result[key]
    for key in KINDS[kind].result.output:
        text = result.get(key)
        if isinstance(text, str) and text.strip():
            # Masked before it is cut: half a secret would not be known for one.
            found["text"] = _storable(hide(text))[-TEXT_MAX:]
            break
    return found


def shown(text: str, hide: Hide, most: int) -> str:
    """A text without secrets, no longer than that, and fit to be stored whatever is in it."""
    return _storable(hide(text))[:most]


def timestamp(at: int) -> str:
    """Unix milliseconds as RFC 3339, in whole seconds."""
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
