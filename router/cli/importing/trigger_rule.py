"""A hook's `trigger-rule` as a tree."""

import re
from collections.abc import Iterator

import msgspec

from router.cli.importing.hooks_file import Hook, HookParameter, fields, is_null
from router.yaml_source import Mapping, Node

_RULE_KEYS = ("and", "or", "not", "match")
_MATCH_KEYS = ("type", "regex", "secret", "value", "parameter", "ip-range")
_SIGNATURE = re.compile(r"payload-(?:hmac|hash)-(sha1|sha256|sha512)")


class All(msgspec.Struct, frozen=True):
    """`and`."""

    rules: tuple["Trigger", ...]


class AnyOf(msgspec.Struct, frozen=True):
    """`or`."""

    rules: tuple["Trigger", ...]


class Not(msgspec.Struct, frozen=True):
    """`not`."""

    rule: "Trigger"


class Equals(msgspec.Struct, frozen=True):
    """`value`."""

    node: Node
    parameter: HookParameter
    value: Node


class Fits(msgspec.Struct, frozen=True):
    """`regex`."""

    node: Node
    parameter: HookParameter
    pattern: str


class Signed(msgspec.Struct, frozen=True):
    """`payload-hmac-…`, or Scalr's signature."""

    node: Node
    parameter: HookParameter
    algorithm: str
    secret: Node
    scalr: bool = False


class FromRange(msgspec.Struct, frozen=True):
    """`ip-whitelist`."""

    node: Node
    ranges: tuple[str, ...]


class Never(msgspec.Struct, frozen=True):
    """What webhook never finds true."""


Trigger = All | AnyOf | Not | Equals | Fits | Signed | FromRange | Never


def read_trigger(hook: Hook) -> Trigger | None:
    """The rule of the hook; None if it has none and always runs."""
    node = hook.get("trigger-rule")
    return None if node is None or is_null(node) else _rule(hook, node)


def leaves(trigger: Trigger) -> Iterator[Trigger]:
    """The matches of a rule."""
    if isinstance(trigger, All | AnyOf):
        for rule in trigger.rules:
            yield from leaves(rule)
    elif isinstance(trigger, Not):
        yield from leaves(trigger.rule)
    else:
        yield trigger


def _rule(hook: Hook, node: Node) -> Trigger:
    if not isinstance(node, Mapping):
        hook.refuse(node, "a rule is a mapping of and, or, not or match")
        return Never()
    hook.unknown_keys(node, _RULE_KEYS)
    given = fields(node)
    found = [key for key in _RULE_KEYS if key in given and not is_null(given[key][1])]
    for key in found[1:]:
        hook.differs(given[key][0], f"webhook ignores '{key}' beside '{found[0]}'")
    if not found:
        hook.refuse(node, "webhook never finds an empty rule true, so this hook never runs")
        return Never()
    inner = given[found[0]][1]
    if found[0] == "match":
        return _match(hook, inner)
    if found[0] == "not":
        return Not(_rule(hook, inner))
    rules = tuple(_rule(hook, item) for item in hook.items(inner))
    return All(rules) if found[0] == "and" else AnyOf(rules)


def _match(hook: Hook, node: Node) -> Trigger:
    if not isinstance(node, Mapping):
        hook.refuse(node, "a match is a mapping with a 'type'")
        return Never()
    hook.unknown_keys(node, _MATCH_KEYS)
    given = {key: value for key, (_, value) in fields(node).items()}
    type_ = hook.text(given.get("type"))
    if type_ == "ip-whitelist":
        return FromRange(node, tuple(hook.text(given.get("ip-range")).split()))
    if type_ == "scalr-signature":
        return _signed(hook, node, HookParameter(node, "header", "X-Signature"), "sha1", scalr=True)
    if type_ not in ("value", "regex") and not _SIGNATURE.fullmatch(type_):
        hook.refuse(node, f"webhook knows no match of type '{type_}' and never finds it true")
        return Never()
    return _compared(hook, node, type_)


def _compared(hook: Hook, node: Mapping, type_: str) -> Trigger:
    """A match of a parameter."""
    given = {key: value for key, (_, value) in fields(node).items()}
    parameter = hook.parameter(given.get("parameter", node))
    if signature := _SIGNATURE.fullmatch(type_):
        return _signed(hook, node, parameter, signature[1])
    if type_ == "value":
        return Equals(node, parameter, given.get("value", node))
    pattern = hook.text(given.get("regex"))
    _check_pattern(hook, given.get("regex", node), pattern)
    return Fits(node, parameter, pattern)


def _signed(
    hook: Hook, node: Mapping, parameter: HookParameter, algorithm: str, *, scalr: bool = False
) -> Trigger:
    given = fields(node)
    secret = given["secret"][1] if "secret" in given else None
    if secret is None or (not hook.reference(secret)[0] and not hook.text(secret)):
        hook.refuse(node, "webhook finds no signature right without a secret")
        return Never()
    return Signed(node, parameter, algorithm, secret, scalr)


def _check_pattern(hook: Hook, node: Node, pattern: str) -> None:
    if fits_text(pattern, "") is None:
        hook.refuse(node, "webhook cannot read this regular expression and answers 500")


def fits_text(pattern: str, text: str) -> bool | None:
    """Whether it fits a part of the text; None if it is no regular expression."""
    import re2

    quiet = re2.Options()
    quiet.log_errors = False  # else RE2 itself prints the pattern
    try:
        return re2.compile(pattern, quiet).search(text) is not None
    except re2.error:
        return None
