"""`router deliveries`, `dead`, `rules` and `audit`: the lists."""

from collections.abc import Callable, Sequence
from typing import Any

import click
import msgspec

from router.cli.operator_access import ask, note_unevaluated
from router.cli.options import Options, place_options, same_place
from router.cli.output import (
    event_names,
    note,
    print_json,
    print_list,
    print_table,
    shortened,
    states,
    when,
)
from router.cli.paging import paged
from router.cli.redraw import watched
from router.cli.selection import DELIVERY_STATES, JOB_STATES, selector_options
from router.clock import SystemClock
from router.errors import UsageError
from router.model.delivery import DeliverySummary
from router.model.job import Job
from router.model.operations import Cause
from router.model.selector import ABOUT, Criteria
from router.operator.answers import RuleRow
from router.operator.audit_text import asked_json, asked_words, origin
from router.operator.criteria import check_span
from router.operator.times import dates
from router.store.time_text import instant
from router.store.values import Selector
from router.suggest import did_you_mean

LIMIT = 50
_REFUSALS_KEPT = 500
_REFUSED_BY = {"endpoint", "since", "until", "limit"}
"""What is known of a refused request."""
_RULE_COLUMNS = ("rule", "mode", "from", "events", "actions", "jobs")
_RULE_COUNTS = ("asked", "matched", "errors", "last matched", "note")


def listing(command: Callable[..., None]) -> click.Command:
    """A command that lists what the router here has, or the one that is named."""
    placed = place_options("dev", "store", "admin", "server")(command)
    return click.command()(watched(paged(placed)))


@listing
@selector_options(states=(*DELIVERY_STATES, *JOB_STATES), limit=LIMIT)
@click.option("--refused", is_flag=True, help="Requests that this router refused recently.")
def deliveries(*, place: Options, selector: Criteria, refused: bool) -> None:
    """The deliveries, newest first. `router show ID` tells all of one."""
    if refused:
        _refused(place, selector)
        return
    answer = ask(
        place,
        lambda questions: questions.deliveries(Selector.of(selector)),
        counted="/api/deliveries?limit=1",
    )
    note_unevaluated(answer.failed, answer.reason)
    short = shortened(d.id for d in answer.deliveries)
    print_list(
        answer.deliveries,
        ("received", "delivery", "endpoint", "event", "state", "jobs"),
        (_delivery_cells(d, short[d.id]) for d in answer.deliveries),
        as_json=place.as_json,
    )


def _delivery_cells(d: DeliverySummary, short: str) -> list[str]:
    state = d.state + (f" ×{d.duplicates + 1}" if d.duplicates else "")
    events = event_names(d.events, d.event_count)
    return [when(d.received_at), short, d.endpoint, events, state, states(d.jobs)]


def _refused(place: Options, selector: Criteria) -> None:
    from router.cli.admin import AdminClient

    for name in selector.as_json().keys() - _REFUSED_BY:
        raise UsageError(f"--{name} is for deliveries that were stored, not for --refused")
    with AdminClient.of(place) as client:
        kept = client.refusals(_REFUSALS_KEPT).refusals
        known = client.status().endpoints if selector.endpoint is not None else []
    endpoint = selector.endpoint
    if endpoint is not None and endpoint not in {*known, *(r.get("endpoint") for r in kept)}:
        hint = did_you_mean(endpoint, known) or f"there are {', '.join(known)}"
        raise UsageError(f"there is no endpoint {endpoint!r}; {hint}")
    found = [r for r in kept if _is_wanted(r, selector)][: selector.limit]
    if not found and not place.as_json:
        note("this router has refused nothing since it started")
        return
    names = ("endpoint", "event", "status", "reason", "peer", "hint")
    print_list(
        [dates(r) for r in found],
        ("at", *("from" if name == "peer" else name for name in names)),
        (_refusal_cells(refusal, names) for refusal in found),
        as_json=place.as_json,
    )


def _is_wanted(refusal: dict[str, Any], selector: Criteria) -> bool:
    at = refusal["at"]
    return (
        selector.endpoint in (None, refusal["endpoint"])
        and (selector.since is None or at >= selector.since)
        and (selector.until is None or at < selector.until)
    )


def _refusal_cells(refusal: dict[str, Any], names: Sequence[str]) -> list[str]:
    cells = ("-" if refusal.get(name) is None else str(refusal[name]) for name in names)
    return [when(refusal["at"]), *cells]


# -- what died ------------------------------------------------------------------------------------


@listing
@selector_options(states=None, limit=None)
@click.option("--list", "listed", is_flag=True, help=f"Each job, the newest {LIMIT}, or --limit.")
def dead(*, place: Options, selector: Criteria, listed: bool) -> None:
    """
    Jobs that were given up, by cause: the same action and target, the same words but for ids and
    numbers. `router revive --cause KEY` tries exactly these again.
    """
    wanted = msgspec.structs.replace(Selector.of(selector), state="dead")
    if listed:
        _show_list(place, wanted)
    else:
        _show_causes(place, wanted)


# -- by cause


def _show_causes(place: Options, wanted: Selector) -> None:
    answer = ask(place, lambda questions: questions.dead(wanted))
    note_unevaluated(answer.failed, answer.reason)
    found = answer.causes
    if found and not place.as_json:  # before the list: behind a pipe it would follow the prompt
        here = same_place()
        again, each = f"{reviving(found[0])}{here}", f"router dead --list{here}"
        note(f"again, for instance: `{again}`; each of them: `{each}`")
    print_list(
        [{**dates(msgspec.structs.asdict(c)), "revive": reviving(c)} for c in found],
        ("jobs", "last", "first", "rule/action", "target", "cause", "key", "job"),
        map(_cause_cells, found),
        as_json=place.as_json,
    )


def reviving(cause: Cause) -> str:
    """The command that tries exactly these jobs again; a replay would leave them dead."""
    return f"router revive --cause {cause.key}"


def _cause_cells(cause: Cause) -> list[str]:
    return [
        str(cause.count),
        when(cause.last_at),
        when(cause.first_at),
        f"{cause.rule}/{cause.action}",
        cause.target,
        cause.reason or "-",
        cause.key,
        cause.examples[0],
    ]


# -- one by one


def _show_list(place: Options, wanted: Selector) -> None:
    wanted = msgspec.structs.replace(wanted, limit=wanted.limit or LIMIT)
    answer = ask(place, lambda questions: questions.jobs(wanted))
    note_unevaluated(answer.failed, answer.reason)
    short = shortened(job.id for job in answer.jobs)
    print_list(
        answer.jobs,
        ("ended", "job", "rule/action", "endpoint", "event", "attempts", "reason"),
        (_job_cells(job, short[job.id]) for job in answer.jobs),
        as_json=place.as_json,
    )


def _job_cells(job: Job, short: str) -> list[str]:
    return [
        when(job.ended_at),
        short,
        f"{job.rule}/{job.action}",
        job.endpoint,
        job.event,
        str(job.attempt),
        job.reason or "-",
    ]


# -- the rules ------------------------------------------------------------------------------------


@listing
def rules(*, place: Options) -> None:
    """
    The rules, their jobs by state, and how often each was asked and matched.

    Asked are the rules that an event could concern; matched counts shadow matches too. An orphan is
    a rule that the file no longer has but that still has open jobs; they run with the last version
    there was. `router cancel --rule ID` ends those that wait.
    """
    rows = ask(place, lambda questions: questions.rules(), counted="/api/rules", quiet=True).rules
    if place.as_json:
        print_json(rows)
    elif any(row.counted for row in rows):
        print_table(
            (*_RULE_COLUMNS, *_RULE_COUNTS), ([*_rule_cells(row), *_counts(row)] for row in rows)
        )
    else:
        print_table(_RULE_COLUMNS, [_rule_cells(row) for row in rows])


def _rule_cells(row: RuleRow) -> list[str]:
    if row.mode == "orphan":
        return [row.rule, "orphan", "-", "-", "-", states(row.jobs)]
    events = ", ".join(row.events) if row.events else "every event"
    return [
        row.rule,
        row.mode,
        ", ".join(row.sources) if row.sources else "all",
        "(otherwise)" if row.otherwise else events,
        ", ".join(row.actions),
        states(row.jobs),
    ]


def _counts(row: RuleRow) -> list[str]:
    counted = row.counted
    if counted is None:
        return ["-", "-", "-", "-", ""]
    return [
        str(counted.evaluated),
        str(counted.matched + counted.shadowed),
        str(counted.errored),
        when(counted.last_matched_at),
        row.note or "",
    ]


# -- who changed what -----------------------------------------------------------------------------


@listing
@click.option("--since", metavar="TIME", help=ABOUT["since"])
@click.option("--until", metavar="TIME", help=ABOUT["until"])
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=LIMIT,
    show_default=True,
    help="At most so many, the newest.",
)
def audit(*, place: Options, since: str | None, until: str | None, limit: int) -> None:
    """Who changed what, newest first: replays, cancels, reloads and the like, by people."""
    now = SystemClock().now()
    begin = None if since is None else instant(since, now)
    end = None if until is None else instant(until, now)
    check_span(begin, end)
    found = ask(place, lambda questions: questions.audit(begin, end, limit)).audit
    print_list(
        [asked_json(a) for a in found],
        ("at", "who", "from", "did", "count", "what"),
        ((when(a.at), a.who, origin(a), a.verb, str(a.count), asked_words(a)) for a in found),
        as_json=place.as_json,
    )
