"""A hook's `trigger-rule` as a tree."""

from collections.abc import Iterator

import msgspec

from router.cli.importing.hooks_file import Hook, HookParameter
from router.yaml_source import Node, Scalar

_RULE_KEYS = ("and", "or", "not", "match")
_MATCH_KEYS = ("type", "regex", "secret", "value", "parameter", "ip-range")
_ALGORITHMS = {
    **{
        f"payload-{way}-sha{size}": f"sha{size}"
        for way in ("hmac", "hash")
        for size in (1, 256, 512)
    },
    "scalr-signature": "scalr",
}
_GIVEN = {"value": "value", "regex": "regex", "ip-whitelist": "ip-range"}
"""The key of what a match compares with; for all others, it is their secret."""


class Trigger(msgspec.Struct, frozen=True):
    """
    A rule: `and`, `or` or `not` of `rules`; or a match: `value`, `regex`, `ip-whitelist`, `signed`
    by an algorithm, and `never` for what webhook never finds true.

    `given` is the value, the pattern, the secret or the ranges.
    """

    kind: str
    node: Node
    given: Node
    parameter: HookParameter
    rules: tuple["Trigger", ...] = ()
    algorithm: str = ""

    @property
    def compares(self) -> bool:
        """Whether it compares a parameter."""
        return self.kind in ("value", "regex")


def read_trigger(hook: Hook) -> Trigger:
    """The rule of the hook; without one it always runs, as by an empty `and`."""
    node = hook.get("trigger-rule")
    return _rule(hook, node) if node else _joined("and", hook.node)


def leaves(trigger: Trigger) -> Iterator[Trigger]:
    """The matches of a rule."""
    if trigger.kind not in _RULE_KEYS:
        yield trigger
    for rule in trigger.rules:
        yield from leaves(rule)


def _joined(kind: str, node: Node, *rules: Trigger) -> Trigger:
    return Trigger(kind, node, node, HookParameter(node, "", ""), rules)


def _never(hook: Hook, node: Node, message: str) -> Trigger:
    hook.refuse(node, message)
    return _joined("never", node)


def _rule(hook: Hook, node: Node) -> Trigger:
    given = hook.fields(node, _RULE_KEYS)
    first, *others = [key for key in _RULE_KEYS if key in given] or [""]
    for key in others:
        hook.differs(given[key], f"webhook ignores '{key}' beside '{first}'")
    if not first:
        text = "webhook never finds an empty rule true, so this hook never runs"
        return _never(hook, node, text)
    inner = given[first]
    if first == "match":
        return _match(hook, inner)
    items = [inner] if first == "not" else hook.items(inner)
    return _joined(first, node, *(_rule(hook, item) for item in items))


def _match(hook: Hook, node: Node) -> Trigger:
    given = hook.fields(node, _MATCH_KEYS)
    type_ = hook.text(given.get("type"))
    algorithm = _ALGORITHMS.get(type_, "")
    if not algorithm and type_ not in _GIVEN:
        text = f"webhook knows no match of type '{type_}' and never finds it true"
        return _never(hook, node, text)
    key = _GIVEN.get(type_, "secret")
    wanted = given.get(key, Scalar("", "'", node.start, node.start))
    parameter = HookParameter(node, "header", "X-Signature")  # as Scalr's; addresses have none
    if type_ not in ("ip-whitelist", "scalr-signature"):
        parameter = hook.parameter(given.get("parameter", node))
    if key in ("secret", "ip-range") and not any(hook.reference(wanted)):
        return _never(hook, node, f"webhook never finds it true without '{key}'")
    if type_ == "regex" and fits_text(hook.text(wanted), "") is None:
        hook.refuse(wanted, "webhook cannot read this regular expression and answers 500")
    return Trigger("signed" if algorithm else type_, node, wanted, parameter, (), algorithm)


def fits_text(pattern: str, text: str) -> bool | None:
    """Whether it fits a part of the text; None if it is no regular expression."""
    import re2

    quiet = re2.Options()
    quiet.log_errors = False  # else RE2 itself prints the pattern
    try:
        return re2.compile(pattern, quiet).search(text) is not None
    except re2.error:
        return None
