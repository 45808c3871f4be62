"""What a shell may complete an argument with: names that the rules file holds."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from router.cli.options import DEFAULT_RULES

if TYPE_CHECKING:
    from router.rules.ruleset import Ruleset

_FILE_BYTES_MAX = 128 * 1024  # a larger file takes longer to read than a key press may take


def endpoint_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The endpoints of the rules file; where one is an argument, those with an address."""
    ruleset = _ruleset(ctx)
    if ruleset is None:
        return []
    argument = isinstance(param, click.Argument)
    return _beginning(incomplete, ruleset.addressed if argument else ruleset.endpoints)


def rule_ids(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The rules of the rules file."""
    ruleset = _ruleset(ctx)
    return _beginning(incomplete, [rule.id for rule in ruleset.rules]) if ruleset else []


def event_names(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """The events of the endpoint named before, with their actions; else of every endpoint."""
    ruleset = _ruleset(ctx)
    if ruleset is None:
        return []
    endpoint = ruleset.endpoints.get(str(ctx.params.get("endpoint")))
    names = [endpoint.provider] if endpoint else list(ruleset.providers)
    infos = [info for name in names for info in ruleset.providers[name].events]
    found = (n for i in infos for n in (i.name, *(f"{i.name}.{action}" for action in i.actions)))
    return _beginning(incomplete, dict.fromkeys(found))


def provider_names(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The senders built in, in both spellings."""
    from router.providers import builtin

    return _beginning(incomplete, builtin())


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _ruleset(ctx: click.Context) -> "Ruleset | None":
    """The file's, or None: a wrong file is no reason to spoil a command line half written."""
    from router.errors import RouterError
    from router.wiring.rules import read_rules

    given = ctx.params.get("rules") or os.environ.get("ROUTER_RULES") or DEFAULT_RULES
    path = Path(str(given))
    try:
        if path.stat().st_size > _FILE_BYTES_MAX:
            return None
        return read_rules(path, environ=os.environ, dev=True).ruleset
    except (OSError, RouterError):
        return None
