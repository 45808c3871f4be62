"""A hook's `trigger-rule` as a tree."""

from collections.abc import Iterator

import msgspec

from router.cli.importing.hooks_file import Hook, HookParameter, HookText, Match
from router.yaml_source import Node

_RULE_KEYS = ("and", "or", "not", "match")
_SIGNED = {
    f"payload-{way}-sha{size}": f"sha{size}" for way in ("hmac", "hash") for size in (1, 256, 512)
}
_SIGNED |= {"scalr-signature": "scalr"}
_GIVEN = {"value": "value", "regex": "regex", "ip-whitelist": "ip_range"}
"""What a match compares with; all others have a secret."""


class Trigger(msgspec.Struct, frozen=True, eq=False):
    """
    A rule: `and`, `or` or `not` of `rules`; or a match: `value`, `regex`, `ip-whitelist`, `signed`
    by an algorithm, and `never` for what webhook never finds true.

    `given` is the value, the pattern, the secret or the ranges.
    """

    kind: str
    node: Node
    given: HookText
    parameter: HookParameter
    rules: tuple["Trigger", ...] = ()
    algorithm: str = ""

    @property
    def compares(self) -> bool:
        """Whether it compares a parameter."""
        return self.kind in ("value", "regex")

    def leaves(self) -> Iterator["Trigger"]:
        """Its matches."""
        if self.kind not in _RULE_KEYS:
            yield self
        for rule in self.rules:
            yield from rule.leaves()


def read_trigger(hook: Hook) -> Trigger:
    """The rule of the hook; without one it always runs, as by an empty `and`."""
    node = hook.trigger_rule
    return _rule(hook, node) if node else _joined("and", hook.node)


def _joined(kind: str, node: Node, *rules: Trigger) -> Trigger:
    none = HookText("", node)
    return Trigger(kind, node, none, HookParameter(node, none, none, none, none), rules)


def _never(hook: Hook, node: Node, note: str, /, **names: str) -> Trigger:
    hook.note(node, note, **names)
    return _joined("never", node)


def _rule(hook: Hook, node: Node) -> Trigger:
    given = hook.fields(node, _RULE_KEYS)
    first, *others = [key for key in _RULE_KEYS if key in given] or [""]
    for key in others:
        hook.note(given[key], "beside", key=key, first=first)
    if not first:
        return _never(hook, node, "empty-rule")
    inner = given[first]
    if first == "match":
        return _match(hook, hook.part(Match, inner, inner))
    items = [inner] if first == "not" else hook.items(inner)
    return _joined(first, node, *(_rule(hook, item) for item in items))


def _match(hook: Hook, match: Match) -> Trigger:
    type_, parameter = match.type, match.parameter
    algorithm, key = _SIGNED.get(type_, ""), _GIVEN.get(type_, "secret")
    if not algorithm and type_ not in _GIVEN:
        return _never(hook, match.node, "unknown-match", type=type_)
    wanted: HookText = getattr(match, key)
    if not wanted and key in ("secret", "ip_range"):
        return _never(hook, match.node, "match-without", key=key.replace("_", "-"))
    if type_ == "regex" and fits_text(wanted, "") is None:
        hook.note(wanted.node, "bad-pattern")
    if algorithm == "scalr":
        name, place = (HookText(text, match.node) for text in ("X-Signature", "header"))
        parameter = msgspec.structs.replace(parameter, source=place, name=name)
    return Trigger("signed" if algorithm else type_, match.node, wanted, parameter, (), algorithm)


def fits_text(pattern: str, text: str) -> bool | None:
    """Whether it fits a part of the text; None if it is no regular expression."""
    import re2

    quiet = re2.Options()
    quiet.log_errors = False  # else RE2 itself prints the pattern
    try:
        return re2.compile(pattern, quiet).search(text) is not None
    except re2.error:
        return None
