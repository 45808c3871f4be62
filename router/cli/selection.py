"""The one selector as options: `--endpoint --rule --event --state --since --until --where` …"""

import functools
from collections.abc import Callable
from typing import Any, get_args

import click

from router.cli.bound_values import var_option
from router.cli.completion_values import endpoint_names, event_names, rule_ids
from router.clock import SystemClock
from router.model.delivery import DeliveryState
from router.model.job import JobState
from router.model.selector import ABOUT, Criteria
from router.operator.criteria import criteria
from router.store.time_text import instant

JOB_STATES: tuple[str, ...] = get_args(JobState)
DELIVERY_STATES: tuple[str, ...] = get_args(DeliveryState)

Command = Callable[..., None]

_METAVARS = {
    "endpoint": "NAME", "event": "NAME", "since": "TIME", "until": "TIME", "where": "EXPR",
    "cause": "KEY", "state": "STATE", "limit": "N",
}  # fmt: skip
_COMPLETED = {"endpoint": endpoint_names, "rule": rule_ids, "event": event_names}


def selector_options(
    *, states: tuple[str, ...] | None, limit: int | None, limited: bool = True
) -> Callable[[Command], Command]:
    """
    Gives a command the selector's options as one `selector` argument.

    `states` None leaves `--state` out. `limit` is what `--limit` is when not given, None: all.
    Not `limited`: there is no such option, all is meant.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_selector(**given: Any) -> None:
            now = SystemClock().now()
            texts = {name: given.pop(name, None) for name in ABOUT}
            command(selector=criteria(texts, lambda text: instant(text, now)), **given)

        decorated: Command = with_selector
        without = {"state": states is None, "limit": not limited}
        for name in reversed(ABOUT):
            if not without.get(name):
                decorated = _option(name, states, limit)(decorated)
        return decorated

    return decorate


def is_narrowed(selector: Criteria) -> bool:
    """Whether it selects by anything but the limit."""
    return bool(selector.as_json().keys() - {"limit"})


def _option(
    name: str, states: tuple[str, ...] | None, limit: int | None
) -> Callable[[Command], Command]:
    if name == "var":
        return var_option
    more: dict[str, Any] = {"metavar": _METAVARS.get(name, "ID"), "help": ABOUT[name]}
    if name == "state":
        about = f"{ABOUT[name].rstrip('.')}: {', '.join(states or ())}."
        more |= {"type": click.Choice(states or ()), "help": about}
    elif name == "limit":
        shown = limit is not None
        more |= {"type": click.IntRange(1, 10_000), "default": limit, "show_default": shown}
    return click.option(f"--{name}", shell_complete=_COMPLETED.get(name), **more)
