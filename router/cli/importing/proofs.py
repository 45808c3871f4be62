"""
What of a trigger rule proves the sender: its signatures, or else its tokens.

They are no conditions of rules here but keys of the endpoint and its provider, so that what is not
genuine is refused and never stored.
"""

import base64
import binascii
import re
from collections.abc import Collection, Container, Sequence
from typing import Any

import msgspec

from router.cli.importing.hooks_file import Hook, is_yes
from router.cli.importing.trigger_rule import Trigger, leaves
from router.secrets import WEAK_BYTES
from router.yaml_source import Node

_PLACES = {"header": "header", "url": "query", "payload": "field"}
_READERS = ("pass-arguments-to-command", "pass-environment-to-command", "pass-file-to-command")


class Proof(msgspec.Struct, frozen=True):
    """
    One match that proves: the ways in which it may be shown, and its secret, as `Hook.reference`.
    """

    ways: tuple[dict[str, Any], ...]
    node: Node
    place: str
    secret: tuple[str, str]


def proofs_of(hook: Hook, trigger: Trigger) -> dict[Trigger, Proof]:
    """The matches of which the sender must show one."""
    found = _signatures(hook, trigger) or _tokens(hook, trigger)
    return {leaf: _proof(hook, leaf) for leaf in found}


def hidden_of(hook: Hook, trigger: Trigger, proofs: Collection[Trigger]) -> list[Trigger]:
    """The comparisons beside the proofs that may be of a secret too."""
    others = [leaf for leaf in leaves(trigger) if leaf.compares and leaf not in proofs]
    shown = [leaf.parameter for leaf in proofs if leaf.kind == "value"]
    tokens = {(one.source, one.name.lower()) for one in shown}
    for one in (*(leaf.parameter for leaf in others), *hook.parameters(*_READERS)):
        if (one.source, one.name.lower()) in tokens:
            message = f"'{one.name}' holds the token: rules and commands never see it"
            hook.refuse(one.node, message, "its text is always the same: leave it out here")
    return [leaf for leaf in others if leaf.kind == "value" and _may_be_secret(hook, leaf, proofs)]


def _signatures(hook: Hook, trigger: Trigger) -> Sequence[Trigger]:
    found = [leaf for leaf in leaves(trigger) if leaf.kind == "signed"]
    needed = _needed(trigger, found)
    if found and not needed:
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
    elif len(needed) > 1 and not is_yes(hook.get("trigger-signature-soft-failures")):
        hook.differs(
            found[0].node,
            "where this signature is wrong webhook looks at no other; here any of them is enough",
            "which `trigger-signature-soft-failures` says in webhook",
        )
    return found


def _tokens(hook: Hook, trigger: Trigger) -> Sequence[Trigger]:
    """The fixed values of which one must be shown; of those that all must be, the likeliest."""
    likeliest = sorted(
        (leaf for leaf in leaves(trigger) if _may_prove(hook, leaf)),
        key=lambda leaf: (leaf.parameter.named, len(_text(hook, leaf))),
        reverse=True,
    )
    return _needed(trigger, likeliest)


def _needed(trigger: Trigger, proofs: Sequence[Trigger]) -> list[Trigger]:
    """Of these, the first ones of which the rule needs one to be true; none: it needs none."""
    each = [_needed(rule, proofs) for rule in trigger.rules]
    if trigger.kind == "or":
        return [one for found in each for one in found] if all(each) else []
    if trigger.kind == "and":
        return min(filter(None, each), key=lambda one: max(map(proofs.index, one)), default=[])
    return [trigger] if trigger in proofs else []


def _may_prove(hook: Hook, leaf: Trigger) -> bool:
    return leaf.kind == "value" and leaf.parameter.proves and bool(_text(hook, leaf).strip())


def _text(hook: Hook, leaf: Trigger) -> str:
    return hook.reference(leaf.given)[1]


def _may_be_secret(hook: Hook, leaf: Trigger, proofs: Collection[Trigger]) -> bool:
    """Beside a signature only what is named so may be; beside a token, no short text."""
    signed = any(proof.kind == "signed" for proof in proofs)
    short = proofs and len(_text(hook, leaf)) < WEAK_BYTES
    return leaf.parameter.named or (_may_prove(hook, leaf) and not signed and not short)


def _proof(hook: Hook, leaf: Trigger) -> Proof:
    if (key := _PLACES.get(leaf.parameter.source)) is None:
        hook.refuse(leaf.node, f"a signature cannot stand in '{leaf.parameter.source}'")
        key = "header"
    place = {key: leaf.parameter.name}
    if leaf.kind == "value":
        return _token(hook, leaf, place)
    way = {"scheme": "hmac", **place, "algorithm": leaf.algorithm}
    listed = {**way, "prefix": f"{leaf.algorithm}=", "separator": ","}
    if leaf.algorithm == "scalr":
        stamp = {"message": "{body}{timestamp}", "timestamp": "Date", "time": "utc_date"}
        listed = way = {**way, "algorithm": "sha1", **stamp, "tolerance": "300s"}
    return Proof((listed, way), leaf.given, hook.place_of(leaf.given), hook.reference(leaf.given))


def _token(hook: Hook, leaf: Trigger, place: dict[str, str]) -> Proof:
    kind, text = hook.reference(leaf.given)
    forced = hook.text(hook.get("incoming-payload-content-type"))
    if "field" in place and "x-www-form" not in forced:
        tell = hook.refuse if "xml" in forced or "multipart" in forced else hook.differs
        tell(
            leaf.node,
            "the router looks for a token in JSON of at most 64 KiB and in forms, nowhere else",
            "let the sender sign, or send the token in a header",
        )
    if not leaf.parameter.named and len(text) < WEAK_BYTES:
        hook.differs(
            leaf.node,
            f"'{leaf.parameter.name}' is taken for a token, which is short enough to be guessed",
            "make a longer one; if it is no secret, write it as a condition into the rules",
        )
    way = {"scheme": "token", **place}
    if place.get("header", "").lower() == "authorization":
        word, blank, text = hook.text(leaf.given).partition(" ")
        way["prefix"] = f"{word} "
        if word.lower() == "basic" and ":" in (pair := _basic(text)):
            way, text = {"scheme": "basic"}, pair
        elif not blank:
            hook.refuse(leaf.node, "a token in Authorization stands behind a word, like 'Bearer'")
    return Proof((way,), leaf.given, hook.place_of(leaf.given), (kind, text))


def _basic(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


class HookSecrets(dict[tuple[str, str], tuple[str, str]]):
    """The name and the place of each secret, by its kind and text."""

    def name_of(self, proof: Proof, base: str) -> str:
        """The name of this secret, kept under one like `base`; equal secrets share a name."""
        stem = re.sub(r"\W", "_", base if base[0].isalpha() else f"hook_{base}")
        fresh = free(stem, [name for name, _ in self.values()])
        return self.setdefault(proof.secret, (fresh, proof.place))[0]

    def variables(self) -> dict[str, str]:
        """The values of those of no kind, by the variables that `rows` name."""
        return {_variable(name): text for (kind, text), (name, _) in self.items() if not kind}

    def rows(self) -> dict[str, tuple[dict[str, str], str]]:
        """The section of the rules file."""
        return {
            name: ({kind or "env": text if kind else _variable(name)}, place)
            for (kind, text), (name, place) in self.items()
        }


def _variable(name: str) -> str:
    return f"{name.upper()}_SECRET"


def free(base: str, taken: Container[Any]) -> str:
    """The name, or the first one with a number behind it that is free."""
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name
