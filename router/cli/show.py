"""`router show`: everything about one delivery or job."""

import asyncio
import base64
import time
from textwrap import indent
from typing import Any

import click
import msgspec

from router.cli.admin import AdminClient
from router.cli.operator_access import ask
from router.cli.options import Options, place_options
from router.cli.output import aged, flags_text, printed, timestamp
from router.cli.paging import paged
from router.cli.remote import RemoteOperator
from router.errors import NotFound, UsageError
from router.legible import pretty, span, visible, visible_block
from router.model.delivery import Delivery, Redaction, full_name
from router.model.job import ENDED, Attempt, Job
from router.model.packed import plain_body
from router.operator.times import dates
from router.store.values import DeliveryRecord, Selector
from router.web.pages.shown import verified

PAUSE_S = 0.3
_EVENTS_SHOWN = 20


@click.command()
@paged
@click.argument("identity", metavar="ID")
@click.option("--follow", is_flag=True, help="Print a job's output while this router runs it.")
@place_options("dev", "store", "admin", "server")
def show(*, place: Options, identity: str, follow: bool) -> None:
    """Everything about one delivery or job. ID may be its first 4 characters or more."""
    record = _record(place, identity)
    if follow:
        _follow(place, record.jobs)
        record = _record(place, identity)
    if not printed(_as_json(record), as_json=place.as_json):
        _print(record)


def _record(place: Options, identity: str) -> DeliveryRecord:
    return ask(place, lambda questions: questions.show(identity), counted="/api/deliveries?limit=1")


def _follow(place: Options, jobs: tuple[Job, ...]) -> None:
    """Print what each attempt of the job writes until the job has ended, or is gone."""
    if len(jobs) != 1:
        ids = ", ".join(job.id for job in jobs[:8])
        raise UsageError(f"--follow takes one job; this delivery has {ids or 'none'}")
    job, after = jobs[0], ""
    with AdminClient.of(place) as client:
        while job.state not in ENDED:
            written = client.output(job.id, after)
            if written.running:
                after = written.next
                for text, err in ((written.stdout, False), (written.stderr, True)):
                    if text:
                        click.echo(visible_block(text), nl=False, err=err)
            time.sleep(PAUSE_S)
            try:
                found = asyncio.run(RemoteOperator(client).jobs(Selector(ids=(job.id,))))
            except NotFound:
                return
            [job] = found.jobs


def _as_json(record: DeliveryRecord) -> dict[str, Any]:
    delivery = dates(msgspec.structs.asdict(record.delivery))
    if record.delivery.redacted is not None:
        delivery["redacted"] = dates(msgspec.to_builtins(record.delivery.redacted))
    body = delivery.pop("body")
    try:
        delivery["body"] = body.decode("utf-8")
    except UnicodeDecodeError:
        delivery["body_base64"] = base64.b64encode(body).decode()
    names = ("index", "id", "name", "action")
    return dates(
        {
            "delivery": delivery,
            "duplicates": record.duplicates,
            "last_seen_at": record.last_seen_at,
            "events": [{name: getattr(e, name) for name in names} for e in record.events],
            "jobs": record.jobs,
            "attempts": record.attempts,
        }
    )


def _print(record: DeliveryRecord) -> None:
    d = record.delivery
    copies = f"×{record.duplicates + 1}, the last at {aged(record.last_seen_at)}"
    lines = [
        ("delivery", d.id),
        ("received", f"{aged(d.received_at)} from {visible(d.peer) or 'unknown'}"),
        ("endpoint", f"{d.endpoint} ({d.provider})"),
        ("verified", verified(d)),
        ("state", d.state),
        ("flags", flags_text(d.flags) if d.flags else None),
        ("redacted", None if d.redacted is None else _redacted(d.redacted)),
        ("copies", copies if record.duplicates else None),
        ("replay of", d.replay_of or None),
        ("rules", f"generation {d.generation[:16]}"),
    ]
    for event in record.events[:_EVENTS_SHOWN]:
        name = full_name(event.name, event.action)
        lines.append(("event", f"{event.index}: {visible(name)} {event.id}"))
    if (more := len(record.events) - _EVENTS_SHOWN) > 0:
        lines.append(("", f"… and {more} more (--json lists them)"))
    for name, text in lines:
        if text is not None:
            click.echo(f"{name:<10}{text}")
    _print_request(d)
    _print_jobs(record)


def _redacted(mark: Redaction) -> str:
    """What was taken out, when, and what the body was."""
    fields = ", ".join(map(visible, mark.paths)) or "events of the batch"
    return f"{fields} at {aged(mark.at)}; the body came with SHA-256 {mark.sha256}"


def _print_request(d: Delivery) -> None:
    query = f"?{visible(d.query)}" if d.query else ""
    click.echo(f"\n{d.method} {visible(d.path)}{query}")
    for name, value in d.headers:
        click.echo(f"{visible(name)}: {visible(value)}")
    click.echo("")
    click.echo(pretty(plain_body(d)))


def _print_jobs(record: DeliveryRecord) -> None:
    if not record.jobs:
        click.echo("\nno jobs: no live rule matched")
    for job in record.jobs:
        reason = f": {visible(job.reason)}" if job.reason else ""
        due = f", due {aged(job.due_at)}" if job.state in ("retryable", "available") else ""
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
    at = timestamp(attempt.started_at)
    click.echo(f"  attempt {attempt.number}  {at}  {took}  {attempt.outcome}{reason}")
    for name, value in attempt.result.items():
        if name != "json":  # the same as `text` or `stdout`, for expressions
            _print_result(name, value)


def _print_result(name: str, value: Any) -> None:
    if value in (None, "", {}, []):
        return
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    block = visible_block(text).rstrip("\n")
    inset = "\n" + indent(block, " " * 6, lambda _: True) if "\n" in block else f" {block}"
    click.echo(f"    {visible(name)}:{inset}")
