"""What the router's own events say to people: one line, with the command that looks closer."""

from collections.abc import Mapping
from typing import Any

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
