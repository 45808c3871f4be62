"""`otherwise` rules that can never run, because another rule always matches."""

from collections.abc import Callable, Iterable, Sequence

from router.config.context import LoadContext
from router.config.schema import ConditionEntry, RuleEntry
from router.rules.patterns import wildcard
from router.rules.specs import CompiledRule

Both = tuple[RuleEntry, CompiledRule]


def check_reach(
    context: LoadContext, rules: Sequence[Both], always: Callable[[ConditionEntry], bool]
) -> None:
    """
    Warn of `otherwise` rules whose every event some live rule of the endpoint takes; `always`
    says which conditions are always true.
    """
    takers = [(entry, rule) for entry, rule in rules if _takes_all(entry, rule, always)]
    by_endpoint: dict[str, list[Both]] = {}
    for entry, rule in takers:
        for endpoint in rule.sources or ():
            by_endpoint.setdefault(endpoint, []).append((entry, rule))
    for entry, rule in rules:
        if rule.otherwise and rule.sources and by_endpoint:
            _check(context, entry, rule, by_endpoint)


def _takes_all(
    entry: RuleEntry, rule: CompiledRule, always: Callable[[ConditionEntry], bool]
) -> bool:
    """A live rule without a real condition; one for `all` endpoints does not count."""
    unconditional = "match" not in entry.broken and all(map(always, entry.match or ()))
    return rule.mode == "live" and not rule.otherwise and rule.sources is not None and unconditional


def _check(
    context: LoadContext, entry: RuleEntry, rule: CompiledRule, takers: dict[str, list[Both]]
) -> None:
    found = []
    for endpoint in rule.sources or ():
        taker = next((t for _, t in takers.get(endpoint, ()) if _covers(t, rule)), None)
        if taker is None:
            return
        found.append(taker.id)
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(found))
    message = f"this rule can never run, because {names} always matches"
    context.warning("unreachable-otherwise", message, entry.key_at("otherwise"))


def _covers(taker: CompiledRule, rule: CompiledRule) -> bool:
    """Whether the one takes every event that the other names."""
    if taker.events is None:
        return True
    if rule.events is None:
        return "*" in taker.events
    return all(_within(pattern, taker.events) for pattern in rule.events)


def _within(pattern: str, others: Iterable[str]) -> bool:
    for other in others:
        if other in (pattern, "*"):
            return True
        if "*" not in pattern and wildcard(other, pattern):
            return True
        name, dot, _ = pattern.partition(".")
        if dot and "*" not in name and wildcard(other, name):
            return True
    return False
