"""Secrets that are whole addresses, as those of chats often are."""

from collections.abc import Iterator

from router.kinds import KINDS
from router.rules.ruleset import Ruleset


def url_secrets(ruleset: Ruleset) -> Iterator[str]:
    """Those that a target, or an action of itself, calls."""
    for target in ruleset.targets.values():
        if target.url_secret is not None:
            yield target.url_secret
    for rule in ruleset.rules:
        for action in rule.actions:
            yield from KINDS[action.kind].url_secrets(action.spec)
