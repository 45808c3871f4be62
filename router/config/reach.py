"""`otherwise` rules that can never run, because another rule always matches."""

from collections.abc import Collection, Iterable, Iterator

from router.config.schema import RuleEntry
from router.model.patterns import wildcard
from router.rules.specs import CompiledRule
from router.yaml_source import Node

Both = tuple[RuleEntry, CompiledRule]


def unreachable(rules: Iterable[Both], constant: Collection[int]) -> Iterator[tuple[Node, str]]:
    """
    `otherwise` rules whose every event some live rule of the endpoint takes, and which; `constant`
    are the conditions that are always true, by identity.
    """
    takers: dict[str, list[CompiledRule]] = {}
    for entry, rule in rules:
        # One for `all` endpoints does not count.
        if rule.mode != "live" or rule.otherwise or "match" in entry.broken:
            continue
        if all(id(condition) in constant for condition in entry.match or ()):
            for endpoint in rule.sources or ():
                takers.setdefault(endpoint, []).append(rule)
    for entry, rule in rules:
        if rule.otherwise and rule.sources and takers:
            each = [
                next((taker.id for taker in takers.get(name, ()) if _covers(taker, rule)), None)
                for name in rule.sources
            ]
            if None not in each:
                names = ", ".join(f"'{name}'" for name in dict.fromkeys(each))
                yield (
                    entry.key_at("otherwise"),
                    f"this rule can never run, because {names} always matches",
                )


def _covers(taker: CompiledRule, rule: CompiledRule) -> bool:
    """Whether the one takes every event that the other names."""
    if taker.events is None:
        return True
    if rule.events is None:
        return "*" in taker.events
    return all(_within(pattern, taker.events) for pattern in rule.events)


def _within(pattern: str, others: Iterable[str]) -> bool:
    name, dot, _ = pattern.partition(".")
    return any(
        other in (pattern, "*")
        or ("*" not in pattern and wildcard(other, pattern))
        or (dot and "*" not in name and wildcard(other, name))
        for other in others
    )
