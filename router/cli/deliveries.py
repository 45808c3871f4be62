"""`router deliveries`."""

from typing import Any

import click

from router.cli.operator_access import ask, note_examined
from router.cli.options import Options, place_options
from router.cli.output import dates, note, print_json, print_table, shortened, states, when
from router.cli.selection import DELIVERY_STATES, JOB_STATES, selector_options
from router.clock import SystemClock
from router.errors import UsageError
from router.model.delivery import DeliverySummary
from router.model.selector import Criteria
from router.store.values import Selector
from router.suggest import did_you_mean

LIMIT = 50
_REFUSALS_KEPT = 500
_REFUSED_BY = {"endpoint", "since", "until", "limit"}
"""What is known of a refused request."""


@click.command()
@place_options("dev", "store", "admin", "server")
@selector_options(states=(*DELIVERY_STATES, *JOB_STATES), limit=LIMIT)
@click.option("--refused", is_flag=True, help="What the running server refused lately.")
def deliveries(*, place: Options, selector: Criteria, refused: bool) -> None:
    """What has arrived, newest first. `router show ID` tells all of one."""
    if refused:
        _refused(place, selector)
        return
    answer = ask(
        place,
        lambda questions: questions.deliveries(Selector.of(selector)),
        counted="/api/deliveries?limit=1",
    )
    note_examined(answer)
    found = answer.deliveries
    if place.as_json:
        print_json(found)
        return
    short = shortened(d.id for d in found)
    now = SystemClock().now()
    columns = ("received", "delivery", "endpoint", "event", "state", "jobs")
    print_table(columns, [_cells(d, short[d.id], now) for d in found])


def _cells(d: DeliverySummary, short: str, now: int) -> list[str]:
    copies = f" ×{d.duplicates + 1}" if d.duplicates else ""
    received = when(d.received_at, now)
    return [received, short, d.endpoint, _events(d), d.state + copies, states(d.jobs)]


def _events(d: DeliverySummary) -> str:
    names = list(dict.fromkeys(d.events))
    shown = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
    return f"{shown} ({d.event_count})" if d.event_count > 1 else shown


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
    if place.as_json:
        print_json([dates(r) for r in found])
        return
    if not found:
        note("the server has refused nothing since it started")
        return
    columns = ("at", "endpoint", "event", "status", "reason", "from", "hint")
    now = SystemClock().now()
    print_table(columns, [_refusal_cells(r, now) for r in found])


def _is_wanted(refusal: dict[str, Any], selector: Criteria) -> bool:
    at = refusal["at"]
    return (
        selector.endpoint in (None, refusal["endpoint"])
        and (selector.since is None or at >= selector.since)
        and (selector.until is None or at < selector.until)
    )


def _refusal_cells(refusal: dict[str, object], now: int) -> list[str]:
    at = refusal.get("at")
    rest = ("endpoint", "event", "status", "reason", "peer", "hint")
    return [
        when(at if isinstance(at, int) else None, now),
        *("-" if refusal.get(name) is None else str(refusal[name]) for name in rest),
    ]
