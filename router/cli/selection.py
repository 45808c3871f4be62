"""The one selector: `--endpoint --rule --event --state --since --until --where --limit` …"""

import functools
from collections.abc import Callable
from typing import Any, get_args

import click
import msgspec

from router.cli.completion_values import endpoint_names, event_names, rule_ids
from router.clock import SystemClock
from router.errors import UsageError
from router.model.delivery import DeliveryState
from router.model.job import JobState
from router.store.time_text import instant
from router.store.values import Selector

JOB_STATES: tuple[str, ...] = get_args(JobState)
DELIVERY_STATES: tuple[str, ...] = get_args(DeliveryState)

Command = Callable[..., None]


def selector_options(
    *, states: tuple[str, ...] | None, limit: int | None
) -> Callable[[Command], Command]:
    """
    Gives a command the selector's options as one `selector` argument.

    `states` None leaves `--state` out. `limit` is what `--limit` is when not given, None: all.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_selector(**given: Any) -> None:
            command(selector=_selector({n: given.pop(n, None) for n in _FIELDS}), **given)

        decorated: Command = with_selector
        for option in reversed(_options(states, limit)):
            decorated = option(decorated)
        return decorated

    return decorate


def is_narrowed(selector: Selector) -> bool:
    """Whether it selects by anything but the limit."""
    return msgspec.structs.replace(selector, limit=0) != Selector(limit=0)


_FIELDS = (
    "endpoint", "rule", "event", "state", "since", "until", "where", "replay", "cause", "limit",
)  # fmt: skip


def _options(states: tuple[str, ...] | None, limit: int | None) -> list[Callable[[Any], Any]]:
    when = "2h (ago) or an RFC 3339 time."
    options = [
        click.option(
            "--endpoint",
            metavar="NAME",
            shell_complete=endpoint_names,
            help="Only of this endpoint.",
        ),
        click.option("--rule", metavar="ID", shell_complete=rule_ids, help="Only of this rule."),
        click.option(
            "--event",
            metavar="NAME",
            shell_complete=event_names,
            help="Only events of this name.",
        ),
        click.option("--since", metavar="TIME", help=f"Not before: {when}"),
        click.option("--until", metavar="TIME", help=f"Before: {when}"),
        click.option(
            "--where",
            metavar="EXPR",
            help="Only deliveries for which this holds: payload.total_price == '10.00'.",
        ),
        click.option("--replay", metavar="ID", help="Only jobs that this replay made."),
        click.option(
            "--cause", metavar="KEY", help="Only jobs that died of this; `router dead` has its key."
        ),
        click.option(
            "--limit",
            type=click.IntRange(1, 10_000),
            default=limit,
            show_default=limit is not None,
            help="At most so many, the newest.",
        ),
    ]
    if states is not None:
        choice = click.Choice(states)
        options.insert(3, click.option("--state", type=choice, help="Only in this state."))
    return options


def _selector(given: dict[str, Any]) -> Selector:
    now = SystemClock().now()
    times = {n: None if given[n] is None else instant(given[n], now) for n in ("since", "until")}
    if None not in times.values() and times["since"] > times["until"]:  # type: ignore[operator]
        raise UsageError("--since is later than --until; exchange them")
    return Selector(
        endpoint=given["endpoint"],
        rule=given["rule"],
        event=given["event"],
        state=given["state"],
        since=times["since"],
        until=times["until"],
        limit=given["limit"],
        where=given["where"],
        replay=given["replay"],
        cause=given["cause"],
    )
