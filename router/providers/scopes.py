"""The `scopes:` of a definition's `api`: what a token must be allowed, topic by topic."""

from collections.abc import Iterable

import msgspec

from router.model.patterns import wildcard


class NeededScope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """For these topics (`orders/*` is a pattern) the token must have one of these scopes."""

    one_of: tuple[str, ...]
    topics: tuple[str, ...]


class ScopesRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    Which scopes a token has, and which it needs. `granted` is the path that lists them: objects at
    `items` with the scope in `name`. The first of `needed` that fits a topic counts.
    """

    granted: str
    items: str
    name: str
    needed: tuple[NeededScope, ...] = ()

    def missing(self, topic: str, granted: Iterable[str]) -> tuple[str, ...]:
        """Scopes of which a topic needs one, if none of them is granted. Who may write may read."""
        has = {scope.replace("write_", "read_", 1) for scope in granted} | set(granted)
        for rule in self.needed:
            if any(wildcard(pattern, topic) for pattern in rule.topics):
                return () if has & set(rule.one_of) else rule.one_of
        return ()
