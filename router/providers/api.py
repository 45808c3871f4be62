"""The `api:` of a definition: how a sender's own API is called, as data."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from router.model.patterns import wildcard
from router.providers import recover as recovery
from router.providers.recover import RecoverRule


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


VERSION = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")
_PATH = re.compile(r"/[!-~]*")
_PLACEHOLDER = re.compile(r"\{([a-z_]*)\}")
_PLACES: dict[str, frozenset[str]] = {
    "subscribe": frozenset({"api_version"}),
    "graphql": frozenset({"api_version"}),
    "notify": frozenset({"api_version", "webhook_id"}),
    "ranges": frozenset(),
    "dispatch": frozenset({"owner", "repo"}),
}


class ApiRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    What the router calls of a sender's API; a path that is left out: there is no such call.

    `token_header` is the header that carries the token, after `token_prefix`: one for all names
    of the provider, or one for each; `app_prefix` stands before the token of an app, where there
    are apps. `base` is the API's address where every user has the same, `version` what stands for
    `{api_version}` where an endpoint names none. `subscribe` makes a subscription, `notify` asks
    for a test delivery of one, `graphql` takes the mutation that makes one. `ranges` answers JSON
    whose field `ranges_field` lists the addresses that deliveries come from; `dispatch` triggers
    an event of the user's own. At most `subscriptions_per_s` subscriptions are made a second,
    `subscriptions_max` in all. `recover` is how deliveries that the sender could not make are
    asked for, `scopes` what topics need.
    """

    token_header: str | dict[str, str]
    token_prefix: str = ""
    app_prefix: str | None = None
    accept: str = "application/json"
    base: str | None = None
    version: str | None = None
    subscribe: str | None = None
    notify: str | None = None
    graphql: str | None = None
    subscriptions_per_s: int = 1
    subscriptions_max: int = 1000
    ranges: str | None = None
    ranges_field: str = ""
    dispatch: str | None = None
    recover: RecoverRule | None = None
    scopes: ScopesRule | None = None

    def header_for(self, spelling: str) -> str:
        """The token's header for one of the provider's names; the first for any other."""
        if isinstance(self.token_header, str):
            return self.token_header
        return self.token_header.get(spelling) or next(iter(self.token_header.values()))


def problems(rule: ApiRule | None, names: tuple[str, ...]) -> Iterator[str]:
    """What contradicts itself in an `api:` of a provider with these names."""
    if rule is None:
        return
    by_name = isinstance(rule.token_header, dict) and rule.token_header
    rows = (
        (
            by_name and set(by_name) != set(names),
            "`api.token_header` names a header for each of `names`, or one for all",
        ),
        (rule.token_header == {}, "`api.token_header` names no header"),
        (
            rule.version is not None and not VERSION.fullmatch(rule.version),
            "`api.version` is written YYYY-MM",
        ),
        (
            rule.subscriptions_per_s < 1 or rule.subscriptions_max < 1,
            "`api.subscriptions_per_s` and `api.subscriptions_max` are above zero",
        ),
        (
            (rule.ranges is None) != (rule.ranges_field == ""),
            "`api.ranges` and `api.ranges_field` go together",
        ),
    )
    yield from (text for wrong, text in rows if wrong)
    yield from recovery.problems(rule.recover)
    for key, allowed in _PLACES.items():
        path = getattr(rule, key)
        if path is None:
            continue
        if not _PATH.fullmatch(path):
            yield f"`api.{key}` is a path like '/admin/webhooks.json'"
        if set(_PLACEHOLDER.findall(path)) - allowed:
            known = ", ".join(f"{{{name}}}" for name in sorted(allowed)) or "no placeholder"
            yield f"`api.{key}` knows {known}"
