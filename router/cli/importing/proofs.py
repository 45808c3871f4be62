"""
What of a trigger rule says who may send: signatures, tokens, addresses, the method.

These are no conditions of rules here but keys of the endpoint and its provider, so that what is not
genuine is refused and never stored.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from router.cli.importing.formulas import ALWAYS, Formula
from router.cli.importing.hooks_file import Hook
from router.cli.importing.trigger_rule import (
    All,
    AnyOf,
    Equals,
    FromRange,
    Signed,
    Trigger,
    leaves,
)
from router.yaml_source import Node

_REMOVED_FROM = re.compile(r"authorization", re.IGNORECASE)
_TOKEN = {"header": "header", "url": "query", "payload": "field"}


class Proof(msgspec.Struct, frozen=True):
    """One match that proves: the ways in which it may be shown, and its secret's own value."""

    ways: tuple[dict[str, Any], ...]
    secret: Node
    of: Callable[[str], str] = str
    """What of the secret's text is the secret."""


class ImportedSender(msgspec.Struct):
    """Who may send to a hook's endpoint, and the rest of its rule."""

    rest: Trigger | None
    proofs: dict[Trigger, Proof] = {}
    allow_from: list[str] = []
    methods: list[str] = []


def sender_of(hook: Hook, trigger: Trigger | None) -> ImportedSender:
    """Split what proves the sender from the rule."""
    sender = ImportedSender(trigger)
    if trigger is None:
        return sender
    sender.proofs = {leaf: _proof(hook, leaf) for leaf in _proofs_of(hook, trigger)}
    sender.rest = _without_places(hook, sender, trigger)
    for leaf in leaves(sender.rest) if sender.rest else ():
        if isinstance(leaf, FromRange):
            hook.refuse(
                leaf.node,
                "the sender's address is no part of a condition beside others",
                "make two hooks of it, each with its own `ip-whitelist`",
            )
    return sender


def _proofs_of(hook: Hook, trigger: Trigger) -> Sequence[Signed | Equals]:
    """The matches of which one must hold: signatures, else tokens."""
    matches = list(leaves(trigger))
    signatures = [leaf for leaf in matches if isinstance(leaf, Signed)]
    if not signatures:
        tokens = [leaf for leaf in matches if isinstance(leaf, Equals) and leaf.parameter.proves]
        choices = [tokens, *([token] for token in tokens)]
        fit = (c for c in choices if _always_one_of(trigger, c) and not _asks_two(trigger, c))
        return next(fit, [])
    first = signatures[0].node
    if not _always_one_of(trigger, signatures):
        hook.refuse(
            first,
            "without this signature the hook may run all the same; an endpoint of the router "
            "lets in all or only what is signed",
            "make two hooks of it: one that is signed and one that is not",
        )
    elif _asks_two(trigger, signatures):
        hook.refuse(
            first,
            "two signatures at once prove nothing more here: one is enough",
            "leave one of them, or write a provider with `together: true`",
        )
    elif len(signatures) > 1 and not hook.flag("trigger-signature-soft-failures"):
        hook.differs(
            first,
            "where this signature is wrong webhook looks at no other; here any of them is enough",
            "which `trigger-signature-soft-failures` says in webhook",
        )
    return signatures


def _asks_two(trigger: Trigger, proofs: Sequence[Any]) -> bool:
    """Whether two of these may be needed at once."""
    if not isinstance(trigger, All | AnyOf):
        return False
    with_one = [rule for rule in trigger.rules if any(leaf in proofs for leaf in leaves(rule))]
    at_once = isinstance(trigger, All) and len(with_one) > 1
    return at_once or any(_asks_two(rule, proofs) for rule in with_one)


def proved_by(
    sender: ImportedSender, names: dict[Trigger, str]
) -> Callable[[Trigger], Formula | None]:
    """The formula of matches that prove; `names`: of each one's secret."""
    several = len(set(names.values())) > 1

    def proved(trigger: Trigger) -> Formula | None:
        if isinstance(trigger, AnyOf):  # one of all secrets has been shown
            shown = {names.get(rule) for rule in trigger.rules if rule in names}
            return ALWAYS if shown and shown == set(names.values()) else None
        if trigger not in sender.proofs:
            return None
        return f"delivery.verified_by == '{names[trigger]}'" if several else ALWAYS

    return proved


def _always_one_of(trigger: Trigger, proofs: Sequence[Any]) -> bool:
    """Whether the rule cannot be true without one of these."""
    if isinstance(trigger, All):
        return any(_always_one_of(rule, proofs) for rule in trigger.rules)
    if isinstance(trigger, AnyOf):
        return all(_always_one_of(rule, proofs) for rule in trigger.rules)
    return trigger in proofs


def _without_places(hook: Hook, sender: ImportedSender, trigger: Trigger) -> Trigger | None:
    """The rule without what all of it needs of addresses and methods."""
    if isinstance(trigger, All):
        rules = [_without_places(hook, sender, rule) for rule in trigger.rules]
        return All(tuple(rule for rule in rules if rule is not None))
    ranges = trigger.rules if isinstance(trigger, AnyOf) else (trigger,)
    if ranges and all(isinstance(rule, FromRange) for rule in ranges):
        if sender.allow_from:
            hook.refuse(
                hook.get("trigger-rule") or hook.node, "the address is to be in several ranges"
            )
        for rule in ranges:
            sender.allow_from += _ranges(hook, rule)
        return None
    if isinstance(trigger, Equals) and trigger.parameter.is_method:
        sender.methods.append(hook.text(trigger.value))
        return None
    return trigger


def _ranges(hook: Hook, rule: Any) -> list[str]:
    found = []
    for text in rule.ranges:
        address = text if "/" in text else f"{text}/32"
        try:
            found.append(str(ipaddress.ip_network(address, strict=False)))
        except ValueError:
            hook.refuse(rule.node, f"'{text}' is no range of addresses")
            continue
        if ":" in text and "/" not in text:
            hook.differs(rule.node, f"for webhook '{text}' means all of {found[-1]}", f"{text}/128")
    return found


def _proof(hook: Hook, leaf: Signed | Equals) -> Proof:
    if (key := _TOKEN.get(leaf.parameter.source)) is None:
        hook.refuse(leaf.node, f"a signature cannot stand in '{leaf.parameter.source}'")
        key = "header"
    place = {key: leaf.parameter.name}
    if isinstance(leaf, Equals):
        return _token(hook, leaf, place)
    way = {"scheme": "hmac", **place, "algorithm": leaf.algorithm}
    if leaf.scalr:
        stamp = {"message": "{body}{timestamp}", "timestamp": "Date", "time": "utc_date"}
        return Proof(({**way, **stamp, "tolerance": "300s"},), leaf.secret)
    listed = {**way, "prefix": f"{leaf.algorithm}=", "separator": ","}
    return Proof((listed, way), leaf.secret)


def _token(hook: Hook, leaf: Equals, place: dict[str, str]) -> Proof:
    if "field" in place:
        hook.differs(
            leaf.node,
            "the router looks for a token in JSON of at most 64 KiB; what is larger is refused",
            "let the sender sign, or send the token in a header",
        )
    way = {"scheme": "token", **place}
    if not _REMOVED_FROM.fullmatch(leaf.parameter.name) or "header" not in place:
        return Proof((way,), leaf.value)
    word, blank, rest = hook.text(leaf.value).partition(" ")
    if word.lower() == "basic" and ":" in _basic(rest):
        return Proof(({"scheme": "basic"},), leaf.value, lambda text: _basic(text[6:]))
    if not blank:
        hook.refuse(leaf.node, "a token in Authorization stands behind a word, like 'Bearer'")
    return Proof(({**way, "prefix": f"{word} "},), leaf.value, lambda text: text.partition(" ")[2])


def _basic(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
