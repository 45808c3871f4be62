"""`router deliveries`."""

from collections.abc import Sequence
from typing import Any

import click

from router.cli.operator_access import ask, note_examined
from router.cli.options import Options, place_options
from router.cli.output import dates, event_names, note, print_list, shortened, states, when
from router.cli.paging import paged
from router.cli.redraw import watched
from router.cli.selection import DELIVERY_STATES, JOB_STATES, selector_options
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
@watched
@paged
@place_options("dev", "store", "admin", "server")
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
    note_examined(answer)
    short = shortened(d.id for d in answer.deliveries)
    print_list(
        answer.deliveries,
        ("received", "delivery", "endpoint", "event", "state", "jobs"),
        (_cells(d, short[d.id]) for d in answer.deliveries),
        as_json=place.as_json,
    )


def _cells(d: DeliverySummary, short: str) -> list[str]:
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
