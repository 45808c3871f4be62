"""`router explain`."""

from typing import Any

import click
import msgspec

from router.cli.completion_values import endpoint_names, rule_ids
from router.cli.explain_input import Explanation, explain_payload, explain_stored
from router.cli.options import Options, is_given, place_options
from router.cli.output import print_exact
from router.cli.paging import paged
from router.errors import NotFound, UsageError
from router.rules.explain_words import event_json


@click.command()
@paged
@click.argument("delivery", required=False, metavar="[DELIVERY]")
@place_options("dev", "store", "admin", "server")
@click.option("--event", metavar="N", help="One event of a batch; with --payload, its name.")
@click.option("--rule", metavar="ID", help="Only this rule, in full.", shell_complete=rule_ids)
@click.option("--payload", metavar="FILE", help="Explain this body instead (- is stdin).")
@click.option(
    "--endpoint",
    metavar="NAME",
    help="With --payload: the endpoint that would receive it.",
    shell_complete=endpoint_names,
)
def explain(
    *,
    place: Options,
    delivery: str | None,
    event: str | None,
    rule: str | None,
    payload: str | None,
    endpoint: str | None,
) -> None:
    """
    Why each rule matched a delivery, or did not.

    A stored DELIVERY (its id, or the first 4 characters or more) is explained by the rules that
    decided it; with -f, by that file here. With --payload nothing need be stored:
    --payload FILE --endpoint NAME --event NAME.
    """
    if payload is None:
        if delivery is None or endpoint is not None:
            raise UsageError(
                "name a delivery, or a body: --payload FILE --endpoint NAME --event NAME"
            )
        found = explain_stored(place, delivery, _number(event))
    else:
        if delivery is not None or endpoint is None or event is None:
            raise UsageError("--payload takes --endpoint NAME and --event NAME, and no delivery")
        if is_given("server"):
            raise UsageError("--payload is explained by the rules file here: leave --server out")
        found = explain_payload(place, payload, endpoint, event)
    if rule is not None:
        found = _only(found, rule)
    _answer(place, found, whole=rule is not None)


def _number(event: str | None) -> int | None:
    if event is None:
        return None
    if not (event.isascii() and event.isdecimal() and len(event) < 10):
        raise UsageError(f"--event takes the number of an event of the delivery, not {event!r}")
    return int(event)


def _only(found: Explanation, rule: str) -> Explanation:
    """
    One rule of it.

    Raises:
        NotFound: those rules have none of that id.
    """
    events = tuple(
        msgspec.structs.replace(e, rules=tuple(r for r in e.rules if r.rule.id == rule))
        for e in found.events
    )
    if any(not event.rules for event in events):
        raise NotFound(f"there is no rule {rule!r} in {found.by}")
    return msgspec.structs.replace(found, events=events)


def _answer(place: Options, found: Explanation, *, whole: bool) -> None:
    if place.as_json:
        print_exact(explanation_json(found))
        return
    from router.cli.explain_text import explanation_lines

    for line in explanation_lines(found, whole=whole):
        click.echo(line)


def explanation_json(found: Explanation) -> dict[str, Any]:
    """Values for `encode_json`."""
    d, record = found.delivery, found.record
    return {
        "delivery": d.id or None,
        "received_at": d.received_at,
        "endpoint": d.endpoint,
        "provider": d.provider,
        "verified_by": d.verified_by,
        "state": d.state,
        "flags": list(d.flags),
        "duplicates": record.duplicates if record else 0,
        "last_seen_at": record.last_seen_at if record else None,
        "by": found.by,
        "generation": found.generation,
        "decided_by": d.generation,
        "reason": found.reason,
        "answer": found.answer,
        "events": [event_json(e) for e in found.events],
    }
