"""`router show`: everything about one delivery or job."""

import base64
from typing import Any

import click
import msgspec

from router.cli.admin import AdminClient
from router.cli.flags import flags_text
from router.cli.operator_access import ask
from router.cli.options import Options, place_options
from router.cli.output import dates, moment, pretty, print_json, span, visible, visible_block
from router.errors import UsageError
from router.model.delivery import Delivery
from router.model.job import Attempt
from router.store.values import DeliveryRecord, EventEntry

_EVENTS_SHOWN = 20


@click.command()
@click.argument("identity", metavar="ID")
@click.option("--follow", is_flag=True, help="Print a job's output while it runs.")
@place_options("dev", "store", "admin", "server")
def show(*, place: Options, identity: str, follow: bool) -> None:
    """Everything about one delivery or job. ID may be its first 4 characters or more."""
    record = _record(place, identity)
    if follow:
        _follow(place, record)
        record = _record(place, identity)
    if place.as_json:
        print_json(_as_json(record))
    else:
        _print(record)


def _record(place: Options, identity: str) -> DeliveryRecord:
    return ask(place, lambda questions: questions.show(identity), counted="/api/deliveries?limit=1")


def _follow(place: Options, record: DeliveryRecord) -> None:
    from router.cli.follow_output import follow

    if len(record.jobs) != 1:
        ids = ", ".join(job.id for job in record.jobs[:8])
        raise UsageError(f"--follow takes one job; this delivery has {ids or 'none'}")
    with AdminClient.of(place) as client:
        follow(client, record.jobs[0])


def _as_json(record: DeliveryRecord) -> dict[str, Any]:
    delivery = dates(msgspec.structs.asdict(record.delivery))
    body = delivery.pop("body")
    try:
        delivery["body"] = body.decode("utf-8")
    except UnicodeDecodeError:
        delivery["body_base64"] = base64.b64encode(body).decode()
    events = [
        {"index": e.index, "id": e.id, "name": e.name, "action": e.action} for e in record.events
    ]
    whole: dict[str, Any] = {
        "delivery": delivery,
        "duplicates": record.duplicates,
        "last_seen_at": record.last_seen_at,
        "events": events,
        "jobs": record.jobs,
        "attempts": record.attempts,
    }
    return dates(whole)


def _print(record: DeliveryRecord) -> None:
    d = record.delivery
    click.echo(f"delivery  {d.id}")
    click.echo(f"received  {moment(d.received_at)} from {visible(d.peer) or 'unknown'}")
    click.echo(f"endpoint  {d.endpoint} ({d.provider})")
    click.echo(f"verified  {_verified(d)}")
    click.echo(f"state     {d.state}")
    if d.flags:
        click.echo(f"flags     {flags_text(d.flags)}")
    if record.duplicates:
        last = moment(record.last_seen_at)
        click.echo(f"copies    ×{record.duplicates + 1}, the last at {last}")
    if d.replay_of:
        click.echo(f"replay of {d.replay_of}")
    click.echo(f"rules     generation {d.generation[:16]}")
    _print_events(record.events)
    _print_request(d)
    _print_jobs(record)


def _verified(delivery: Delivery) -> str:
    if delivery.verified_by is None:
        return "no: the endpoint is unsigned"
    return f"by secret {delivery.verified_by!r}"


def _print_events(events: tuple[EventEntry, ...]) -> None:
    for event in events[:_EVENTS_SHOWN]:
        name = event.name if event.action is None else f"{event.name}.{event.action}"
        click.echo(f"event     {event.index}: {visible(name)} {event.id}")
    if len(events) > _EVENTS_SHOWN:
        click.echo(f"          … and {len(events) - _EVENTS_SHOWN} more (--json lists them)")


def _print_request(d: Delivery) -> None:
    query = f"?{visible(d.query)}" if d.query else ""
    click.echo(f"\n{d.method} {visible(d.path)}{query}")
    for name, value in d.headers:
        click.echo(f"{visible(name)}: {visible(value)}")
    click.echo("")
    click.echo(pretty(d.body))


def _print_jobs(record: DeliveryRecord) -> None:
    if not record.jobs:
        click.echo("\nno jobs: no live rule wanted it")
    for job in record.jobs:
        reason = f": {visible(job.reason)}" if job.reason else ""
        due = f", due {moment(job.due_at)}" if job.state in ("retryable", "available") else ""
        waits = f" for {visible('; '.join(job.waits_for))}" if job.waits_for else ""
        click.echo(
            f"\njob {job.id}  {job.rule}/{job.action} ({job.kind})  {job.state}{waits}{due}{reason}"
        )
        if job.replay_of:
            click.echo(f"  replay of {job.replay_of}")
        for attempt in record.attempts:
            if attempt.job == job.id:
                _print_attempt(attempt)


def _print_attempt(attempt: Attempt) -> None:
    took = span(max(0, attempt.ended_at - attempt.started_at))
    reason = f": {visible(attempt.reason)}" if attempt.reason else ""
    at = moment(attempt.started_at)
    click.echo(f"  attempt {attempt.number}  {at}  {took}  {attempt.outcome}{reason}")
    for name, value in attempt.result.items():
        if name != "json":  # the same as `text` or `stdout`, for expressions
            _print_result(name, value)


def _print_result(name: str, value: Any) -> None:
    if value in (None, "", {}, []):
        return
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    lines = visible_block(text).rstrip("\n").split("\n")
    if len(lines) == 1:
        click.echo(f"    {visible(name)}: {lines[0]}")
        return
    click.echo(f"    {visible(name)}:")
    for line in lines:
        click.echo(f"      {line}")
