"""
What of a trigger rule says who may send: signatures, tokens, addresses, the method.

These are no conditions of rules here but keys of the endpoint and its provider, so that what is not
genuine is refused and never stored.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable, Container, Sequence
from typing import Any, TypeVar

import msgspec

from router.cli.importing.formulas import ALWAYS, Formula
from router.cli.importing.hooks_file import Hook, HookParameter
from router.cli.importing.trigger_rule import (
    All,
    AnyOf,
    Equals,
    Fits,
    FromRange,
    Signed,
    Trigger,
    leaves,
)
from router.secrets import WEAK_BYTES
from router.yaml_source import Node

_REMOVED_FROM = re.compile(r"authorization", re.IGNORECASE)
Leaf = TypeVar("Leaf", Signed, Equals)
_TOKEN = {"header": "header", "url": "query", "payload": "field"}


class Proof(msgspec.Struct, frozen=True):
    """One match that proves: the ways in which it may be shown, and its secret's own value."""

    ways: tuple[dict[str, Any], ...]
    secret: Node
    of: Callable[[str], str] = str
    """What of the secret's text is the secret."""


class ImportedSender(msgspec.Struct):
    """
    Who may send to a hook's endpoint, and the rest of its rule. `hidden` are comparisons in the
    rest that may be secret: rules hold their hashes. Of each of `methods` one must be the method.
    """

    rest: Trigger | None
    proofs: dict[Trigger, Proof] = {}
    hidden: list[Equals | Fits] = []
    allow_from: list[str] = []
    methods: list[list[str]] = []


def sender_of(hook: Hook, trigger: Trigger | None) -> ImportedSender:
    """Split what proves the sender from the rule."""
    sender = ImportedSender(trigger)
    if trigger is None:
        return sender
    proofs = _signatures(hook, trigger) or _tokens(hook, trigger)
    sender.proofs = {leaf: _proof(hook, leaf) for leaf in proofs}
    compared = [one for one in leaves(trigger) if isinstance(one, Equals | Fits)]
    others = [leaf for leaf in compared if leaf not in proofs]
    sender.hidden = [leaf for leaf in others if _may_be_secret(hook, leaf, proofs)]
    _refuse_readers(hook, proofs, [leaf.parameter for leaf in others])
    sender.rest = _without_places(hook, sender, trigger)
    for leaf in leaves(sender.rest) if sender.rest else ():
        if isinstance(leaf, FromRange):
            hook.refuse(
                leaf.node,
                "the sender's address is no part of a condition beside others",
                "make two hooks of it, each with its own `ip-whitelist`",
            )
    return sender


def _signatures(hook: Hook, trigger: Trigger) -> Sequence[Signed]:
    """The signatures of which one must hold."""
    found = [leaf for leaf in leaves(trigger) if isinstance(leaf, Signed)]
    needed = _needed(trigger, found)
    if not needed and found:
        hook.refuse(
            found[0].node,
            "without this signature the hook may run all the same; an endpoint of the router "
            "lets in all or only what is signed",
            "make two hooks of it: one that is signed and one that is not",
        )
    elif len(needed) < len(found):
        hook.refuse(
            found[0].node,
            "two signatures at once prove nothing more here: one is enough",
            "leave one of them, or write a provider with `together: true`",
        )
    elif len(needed) > 1 and not hook.flag("trigger-signature-soft-failures"):
        hook.differs(
            found[0].node,
            "where this signature is wrong webhook looks at no other; here any of them is enough",
            "which `trigger-signature-soft-failures` says in webhook",
        )
    return found


def _tokens(hook: Hook, trigger: Trigger) -> Sequence[Equals]:
    """The fixed values of which one must be shown; of those that all must be, the likeliest."""
    likeliest = sorted(
        (leaf for leaf in leaves(trigger) if isinstance(leaf, Equals) and _may_prove(hook, leaf)),
        key=lambda leaf: (leaf.parameter.named, len(_text(hook, leaf))),
        reverse=True,
    )
    return _needed(trigger, likeliest)


def _needed(trigger: Trigger, proofs: Sequence[Leaf]) -> list[Leaf]:
    """Of these, the first ones of which the rule needs one to be true; none: it needs none."""
    if isinstance(trigger, AnyOf):
        each = [_needed(rule, proofs) for rule in trigger.rules]
        return [one for found in each for one in found] if all(each) else []
    if isinstance(trigger, All):
        each = [found for rule in trigger.rules if (found := _needed(rule, proofs))]
        return min(each, key=lambda one: max(map(proofs.index, one)), default=[])
    return [proof for proof in proofs if proof == trigger]


def _may_prove(hook: Hook, leaf: Equals) -> bool:
    return leaf.parameter.proves and bool(_text(hook, leaf).strip())


def _text(hook: Hook, leaf: Equals) -> str:
    return hook.reference(leaf.value)[1]


def _may_be_secret(hook: Hook, leaf: Equals | Fits, proofs: Sequence[Signed | Equals]) -> bool:
    """Beside a signature only what is named so may be; beside a token, no short text."""
    if isinstance(leaf, Fits):
        return False
    signed = any(isinstance(proof, Signed) for proof in proofs)
    short = proofs and len(_text(hook, leaf)) < WEAK_BYTES
    return leaf.parameter.named or (_may_prove(hook, leaf) and not signed and not short)


def _refuse_readers(
    hook: Hook, proofs: Sequence[Signed | Equals], read: Sequence[HookParameter]
) -> None:
    """The router hides tokens from conditions and commands."""
    keys = ("pass-arguments-to-command", "pass-environment-to-command", "pass-file-to-command")
    given = [one for key in keys for one in hook.parameters(key)]
    shown = [leaf.parameter for leaf in proofs if isinstance(leaf, Equals)]
    tokens = {(one.source, one.name.lower()) for one in shown}
    for one in (*read, *given):
        if (one.source, one.name.lower()) in tokens:
            message = f"'{one.name}' holds the token: rules and commands never see it"
            hook.refuse(one.node, message, "its text is always the same: leave it out here")


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


def _without_places(hook: Hook, sender: ImportedSender, trigger: Trigger) -> Trigger | None:
    """The rule without what all of it needs of addresses and methods."""
    if isinstance(trigger, All):
        rules = [_without_places(hook, sender, rule) for rule in trigger.rules]
        return All(tuple(rule for rule in rules if rule is not None))
    choice = trigger.rules if isinstance(trigger, AnyOf) else (trigger,)
    if choice and all(isinstance(rule, FromRange) for rule in choice):
        if sender.allow_from:
            hook.refuse(
                hook.get("trigger-rule") or hook.node, "the address is to be in several ranges"
            )
        for rule in choice:
            sender.allow_from += _ranges(hook, rule)
        return None
    methods = [
        rule.value for rule in choice if isinstance(rule, Equals) and rule.parameter.is_method
    ]
    if methods and len(methods) == len(choice):
        sender.methods.append([hook.text(value) for value in methods])
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
    forced = hook.text(hook.get("incoming-payload-content-type"))
    if "field" in place and "x-www-form" not in forced:
        tell = hook.refuse if "xml" in forced or "multipart" in forced else hook.differs
        tell(
            leaf.node,
            "the router looks for a token in JSON of at most 64 KiB and in forms, nowhere else",
            "let the sender sign, or send the token in a header",
        )
    if not leaf.parameter.named and len(_text(hook, leaf)) < WEAK_BYTES:
        hook.differs(
            leaf.node,
            f"'{leaf.parameter.name}' is taken for a token, which is short enough to be guessed",
            "make a longer one; if it is no secret, write it as a condition into the rules",
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


class SecretTable:
    """`rows` by name, each with its comment; `values` by the variables that `rows` name."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[dict[str, str], str]] = {}
        self.values: dict[str, str] = {}

    def name_of(self, hook: Hook, proof: Proof, base: str) -> str:
        """The name of this secret, kept under one like `base`; equal secrets share a name."""
        kind, text = hook.reference(proof.secret)
        stem = re.sub(r"\W", "_", base if base[0].isalpha() else f"hook_{base}")
        fresh = free(stem, self.rows)
        if not kind:
            value = proof.of(text)
            known = (name for name, other in self.values.items() if other == value)
            kind, text = "env", next(known, f"{fresh.upper()}_SECRET")
            self.values[text] = value
        named = (name for name, (row, _) in self.rows.items() if row == {kind: text})
        name = next(named, fresh)
        self.rows.setdefault(name, ({kind: text}, hook.place_of(proof.secret)))
        return name


def free(base: str, taken: Container[Any]) -> str:
    """The name, or the first one with a number behind it that is free."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name
