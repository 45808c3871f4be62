"""Ready-to-paste `router send` lines for a rules file."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from router.cli.options import DEFAULT_RULES, Options
from router.cli.send_requests import unknown
from router.model.settings import Endpoint
from router.providers import Provider
from router.rules.ruleset import Ruleset
from router.wiring.stores import exists


def hints(place: Options, ruleset: Ruleset, *, program: str | None = None) -> list[str]:
    """
    One line for each endpoint: an event that some rule of it waits for, else its first event.

    It reaches the server of `place` from a terminal in which nothing is set but the secrets.
    `program` is how to call the router; None: as it was called now.
    """
    called = program if program is not None else program_name(sys.argv[0], os.environ.get("PATH"))
    rules = None if str(place.rules) == DEFAULT_RULES else str(place.rules)
    # What was said in place of what `send` would find by itself.
    given = (("-f", rules), ("--listen", place.listen), ("--store", place.store))
    options = "".join(
        f" {option} {shlex.quote(value)}" for option, value in given if value is not None
    )
    dev = " --dev" if _needs_dev(place) else ""
    known = ruleset.providers
    return [
        f"{called} send{options}{dev} {shlex.quote(endpoint.name)} {shlex.quote(event)}{force}"
        for endpoint in ruleset.addressed.values()
        if (event := _event(ruleset, endpoint)) is not None
        for force in [" --force" if unknown(known[endpoint.provider], event, "") else ""]
    ]


def _needs_dev(place: Options) -> bool:
    """Whether `send` would not look for a development server by itself: see `Options.working`."""
    plain = msgspec.structs.replace(place, dev=False)
    ruleset = plain.loaded().ruleset
    return place.store is not None or ruleset is None or exists(ruleset.server.store)


def program_name(argv0: str, path: str | None) -> str:
    """`router` where the shell finds it, else the way it was called now."""
    name = Path(argv0).name
    if name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m router"
    if name != "router" or shutil.which("router", path=path or "") is not None:
        return "router"
    return shlex.quote(argv0)


def _event(ruleset: Ruleset, endpoint: Endpoint) -> str | None:
    known = list(_known(ruleset.providers[endpoint.provider], endpoint))
    for wanted in _wanted(ruleset, endpoint.name):
        if "*" not in wanted:
            return wanted
        beginning = wanted.partition("*")[0]
        found = next((name for name in known if name.startswith(beginning)), None)
        if found is not None:
            return found
    return known[0] if known else None


def _wanted(ruleset: Ruleset, endpoint: str) -> Iterator[str]:
    for rule in ruleset.rules:
        if rule.mode == "live" and (rule.sources is None or endpoint in rule.sources):
            yield from rule.events or ()


def _known(provider: Provider, endpoint: Endpoint) -> Iterator[str]:
    """The catalogue; events that are the end of one of the endpoint's paths come first."""
    names = [info.name for info in provider.events]
    yield from (n for n in names if any(a.endswith("/" + n) for a in endpoint.addresses))
    yield from names
