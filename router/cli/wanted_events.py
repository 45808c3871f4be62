"""Which events of a sender the rules of an endpoint want, as rules and as the sender name them."""

from collections.abc import Iterable

import msgspec

from router.model.patterns import wants_event
from router.model.settings import Endpoint
from router.providers.provider import Provider
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledRule


class WantedEvents(msgspec.Struct, frozen=True):
    """
    `patterns` are the rules' own words, `names` the events to select at the sender for them.
    `every` are the rules that want every event, `rest` those that take what no other one wants.
    `unknown` are (rule, pattern) of which the sender's catalogue knows nothing.
    """

    patterns: tuple[str, ...]
    names: tuple[str, ...]
    every: tuple[str, ...]
    rest: tuple[str, ...]
    unknown: tuple[tuple[str, str], ...]


def wanted(ruleset: Ruleset, endpoint: Endpoint) -> WantedEvents:
    """What the rules of an endpoint want of it; a pattern that is meant for another is left out."""
    provider = ruleset.providers[endpoint.provider]
    rules = rules_of(ruleset, endpoint)
    patterns: dict[str, None] = {}
    names: dict[str, None] = {}
    unknown = []
    for rule in rules:
        for pattern in rule.events or ():
            found = events_of(provider, pattern)
            if not found and any(events_of(other, pattern) for other in _senders(ruleset, rule)):
                continue
            if not found and provider.events and not provider.may_be_named(pattern):
                unknown.append((rule.id, pattern))
            patterns[pattern] = None
            names |= dict.fromkeys(found or [pattern])
    every = [rule.id for rule in rules if _wants_every(rule)]
    # An address may be for one event alone: its sender sends no other there.
    alone = [
        e.name for e in provider.events if any(a.endswith(f"/{e.name}") for a in endpoint.addresses)
    ]
    if every and alone:
        every, names = [], names | dict.fromkeys(alone)
    rest = [rule.id for rule in rules if rule.otherwise and rule.events is None]
    return WantedEvents(tuple(patterns), tuple(names), tuple(every), tuple(rest), tuple(unknown))


def rules_of(ruleset: Ruleset, endpoint: Endpoint) -> list[CompiledRule]:
    """The rules that what arrives there is shown to."""
    return [r for r in ruleset.rules if r.sources is None or endpoint.name in r.sources]


def events_of(provider: Provider, pattern: str) -> list[str]:
    """The events of the sender's catalogue that have to be sent for a pattern to match."""
    named, _ = provider.split_name(pattern)
    return [
        info.name
        for info in provider.events
        # An action that the catalogue does not list is one of a known event all the same.
        if info.name == named
        or any(wants_event((pattern,), info.name, action) for action in (None, *info.actions))
    ]


def _senders(ruleset: Ruleset, rule: CompiledRule) -> Iterable[Provider]:
    names = ruleset.endpoints if rule.sources is None else rule.sources
    endpoints = (ruleset.endpoints[name] for name in names if name in ruleset.endpoints)
    return (ruleset.providers[endpoint.provider] for endpoint in endpoints)


def _wants_every(rule: CompiledRule) -> bool:
    if rule.events is None:
        return not rule.otherwise
    return any(not pattern.strip("*") for pattern in rule.events)
