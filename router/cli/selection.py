"""The one selector: `--endpoint --rule --event --state --since --until --limit`."""

import functools
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, get_args

import click
import msgspec

from router.cli.completing import endpoint_names, event_names, rule_ids
from router.clock import SystemClock
from router.errors import UsageError
from router.model.delivery import DeliveryState
from router.model.job import JobState
from router.store.protocol import Selector

JOB_STATES: tuple[str, ...] = get_args(JobState)
DELIVERY_STATES: tuple[str, ...] = get_args(DeliveryState)

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,9})(ms|s|m|h|d)")

Command = Callable[..., None]


def instant(text: str, now_ms: int) -> int:
    """
    Unix milliseconds of `2h` (that long ago) or of an RFC 3339 time (without offset: UTC).

    Raises:
        UsageError: it is neither.
    """
    ago = _DURATION.fullmatch(text)
    if ago is not None:
        return now_ms - int(ago[1]) * _UNITS_MS[ago[2]]
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time; write 2h (ago), 2026-03-01 or 2026-03-01T12:00:00Z"
        ) from None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return round(when.timestamp() * 1000)


def selector_options(*, states: tuple[str, ...] | None, limit: int) -> Callable[[Command], Command]:
    """
    Gives a command the selector's options as one `selector` argument.

    `states` None leaves `--state` out. `limit` is what `--limit` is when not given.
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


_FIELDS = ("endpoint", "rule", "event", "state", "since", "until", "where", "limit")


def _options(states: tuple[str, ...] | None, limit: int) -> list[Callable[[Any], Any]]:
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
        click.option("--where", hidden=True),
        click.option(
            "--limit",
            type=click.IntRange(1, 10_000),
            default=limit,
            show_default=True,
            help="At most so many, newest first.",
        ),
    ]
    if states is not None:
        choice = click.Choice(states)
        options.insert(3, click.option("--state", type=choice, help="Only in this state."))
    return options


def _selector(given: dict[str, Any]) -> Selector:
    if given["where"] is not None:
        raise UsageError("--where is not built in this version; use --rule, --event, --state")
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
    )
