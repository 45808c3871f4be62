"""
Who may send to a hook's endpoint: what of its trigger rule proves the sender, by signatures or else
by tokens, the addresses and methods; and what rules are left.

Proofs are no conditions of rules here but keys of the endpoint and its provider, so that what is
not genuine is refused and never stored.
"""

import base64
import binascii
import ipaddress
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from router.cli.importing.hooks_file import Hook, HookParameter, HookText
from router.cli.importing.request_values import RequestValues
from router.cli.importing.trigger_rule import Trigger
from router.secrets import WEAK_BYTES

_EVERY_METHOD = "POST,GET,PUT,PATCH,DELETE"
_KINDS = ("text", "json", "form", "multipart", "xml")
"""A body of another type is a text: it has no fields, and prevents nothing."""
_BY_TYPE = {"json": "json", "x-www-form-urlencoded": "form", "xml": "xml", "multipart": "multipart"}
_PLACES = {"header": "header", "query": "query", "payload": "field"}
_SCALR = {"message": "{body}{timestamp}", "timestamp": "Date", "time": "utc_date"}
_SCALR |= {"algorithm": "sha1", "tolerance": "300s"}
_KNOWN = {
    "X-Hub-Signature": ("X-GitHub-Event", "github"),
    "X-Hub-Signature-256": ("X-GitHub-Event", "github"),
    "X-Gitlab-Token": ("X-Gitlab-Event", "gitlab"),
    "X-Gitea-Signature": ("X-Gitea-Event", "gitea"),
}
"""Headers of proofs by which a sender is known: where it names its events, and its provider."""
_PROVES = re.compile(
    r"token|secret|passw|signature|api-?key|(?:^|[-_])auth(?!ors?\b)", re.IGNORECASE
)
"""Names of parameters that show who sends."""
_TELLS = re.compile(
    r"event|topic|(?:^|[-_])(?:action|agent|branch|host|kind|method|ref|type)(?:$|[-_])",
    re.IGNORECASE,
)
"""Names of parameters that tell what happened."""
_PLACE = re.compile(r"[\w-]+", re.ASCII)


def named(parameter: HookParameter) -> bool:
    """Whether its name says that it shows who sends."""
    return bool(_PROVES.search(parameter.name))


def proves(parameter: HookParameter) -> bool:
    """Whether a fixed value of it is a token: by its place, in the payload by its name."""
    if parameter.place == "payload":
        return named(parameter) and "." not in parameter.name
    told = not named(parameter) and _TELLS.search(parameter.name)
    return parameter.is_text and bool(_PLACE.fullmatch(parameter.name)) and not told


class Proof(msgspec.Struct, frozen=True):
    """One match that proves: the ways in which it may be shown, and its secret."""

    ways: tuple[dict[str, Any], ...]
    secret: HookText


class ImportedSender:
    """
    `rest` is the rule without what proves the sender's place, `hidden` the comparisons in it of
    which rules hold hashes. `provider` are the keys of the endpoint's provider; of a well-known
    sender, `known` is where it names its events, and its provider.
    """

    def __init__(self, hook: Hook, rule: Trigger, values: RequestValues, methods: str) -> None:
        """`methods` are those of webhook's command line."""
        self._hook, self.allow_from = hook, list[str]()
        found = self._signatures(rule) or self._tokens(rule)
        self.proofs = {leaf: self._proof(leaf) for leaf in found}
        self.hidden = self._hidden(rule)
        given = hook.http_methods or (methods or _EVERY_METHOD).split(",")
        self._methods = [method.strip().upper() for method in given]
        self.rest = self._without_places(rule)
        for leaf in self.rest.leaves():
            if leaf.kind == "ip-whitelist":
                hook.note(leaf.node, "address-beside")
        if not self._methods:
            hook.note(hook.node, "no-method")
        self.provider = self._provider("text" if values.whole_body else self._kinds())

    def _signatures(self, rule: Trigger) -> Sequence[Trigger]:
        found = [leaf for leaf in rule.leaves() if leaf.kind == "signed"]
        needed = _needed(rule, found)
        if found and not needed:
            self._hook.note(found[0].node, "signed-or-not")
        elif len(needed) < len(found):
            self._hook.note(found[0].node, "signed-twice")
        elif len(needed) > 1 and not self._hook.trigger_signature_soft_failures.is_yes:
            self._hook.note(found[0].node, "soft-failures")
        return found

    def _tokens(self, rule: Trigger) -> Sequence[Trigger]:
        """The fixed values of which one must be shown; of those that all must be, the likeliest."""
        found = [leaf for leaf in rule.leaves() if _may_prove(leaf)]
        found.sort(key=lambda leaf: (named(leaf.parameter), len(leaf.given)), reverse=True)
        return _needed(rule, found)

    def _hidden(self, rule: Trigger) -> list[Trigger]:
        """The comparisons beside the proofs that may be of a secret too."""
        hook = self._hook
        others = [leaf for leaf in rule.leaves() if leaf.compares and leaf not in self.proofs]
        tokens = {leaf.parameter.key for leaf in self.proofs if leaf.kind == "value"}
        read = [*hook.pass_arguments_to_command, *hook.pass_environment_to_command]
        for one in (*(leaf.parameter for leaf in others), *read, *hook.pass_file_to_command):
            if one.key in tokens:
                hook.note(one.node, "holds-token", name=one.name)
        return [leaf for leaf in others if leaf.kind == "value" and self._may_be_secret(leaf)]

    def _may_be_secret(self, leaf: Trigger) -> bool:
        """Beside a signature only what is named so may be; beside a token, no short text."""
        signed = any(proof.kind == "signed" for proof in self.proofs)
        short = self.proofs and len(leaf.given) < WEAK_BYTES
        return named(leaf.parameter) or (_may_prove(leaf) and not signed and not short)

    def _proof(self, leaf: Trigger) -> Proof:
        if (key := _PLACES.get(leaf.parameter.place)) is None:
            self._hook.note(leaf.node, "signed-elsewhere", place=leaf.parameter.place)
            key = "header"
        place = {key: leaf.parameter.name}
        if leaf.kind == "value":
            return self._token(leaf, place)
        way = {"scheme": "hmac", **place, "algorithm": leaf.algorithm}
        if leaf.algorithm == "scalr":
            return Proof((way | _SCALR,), leaf.given)
        return Proof(({**way, "prefix": f"{leaf.algorithm}=", "separator": ","}, way), leaf.given)

    def _token(self, leaf: Trigger, place: dict[str, HookText]) -> Proof:
        hook, secret = self._hook, leaf.given
        forced = hook.incoming_payload_content_type
        if "field" in place and "x-www-form" not in forced:
            lost = "xml" in forced or "multipart" in forced
            hook.note(leaf.node, "lost-token" if lost else "token-in-body")
        if not named(leaf.parameter) and len(secret) < WEAK_BYTES:
            hook.note(leaf.node, "short-token", name=leaf.parameter.name)
        way: dict[str, str] = {"scheme": "token", **place}
        if place.get("header", "").lower() == "authorization":
            if secret.kind:
                hook.note(secret.node, "call")
            word, blank, text = secret.partition(" ")
            way["prefix"] = f"{word} "
            if word.lower() == "basic" and ":" in (pair := _basic(text)):
                way, text = {"scheme": "basic"}, pair
            elif not blank:
                hook.note(leaf.node, "bare-token")
            secret = HookText(text, secret.node, secret.kind)
        return Proof((way,), secret)

    def _provider(self, kinds: str | list[str]) -> dict[str, Any]:
        proofs = [*self.proofs.values()]
        ways = [way for proof in proofs for way in proof.ways]
        if any(proof.ways != proofs[0].ways for proof in proofs):
            self._hook.note(proofs[-1].secret.node, "several-ways")
        ways = [way for at, way in enumerate(ways) if way not in ways[:at]]
        first, *others = ways or [{"scheme": "none"}]
        self.known = _KNOWN.get(first.get("header", "").title())
        # The first method is that of test deliveries.
        ordered = sorted(dict.fromkeys(self._methods), key=lambda method: method != "POST")
        return (
            {"verify": first}
            | ({"also": others} if others else {})
            | {"methods": ordered, "read": kinds}
            | ({"event": {"header": self.known[0]}} if self.known else {})
        )

    def _kinds(self) -> str | list[str]:
        if not (forced := self._hook.incoming_payload_content_type):
            return list(_KINDS)
        return next((kind for word, kind in _BY_TYPE.items() if word in forced), "text")

    def _without_places(self, rule: Trigger) -> Trigger:
        """The rule without what all of it needs of addresses, and of methods."""
        if rule.kind == "and":
            rules = tuple(map(self._without_places, rule.rules))
            return msgspec.structs.replace(rule, rules=rules)
        choice = rule.rules if rule.kind == "or" else (rule,)
        if choice and all(one.kind == "ip-whitelist" for one in choice):
            if self.allow_from:
                self._hook.note(self._hook.trigger_rule or self._hook.node, "two-addresses")
            for one in choice:
                self.allow_from += self._ranges(one)
        elif choice and all(map(_is_of_method, choice)):
            given = [one.given for one in choice]
            self._methods = [method for method in self._methods if method in given]
        else:
            return rule
        return msgspec.structs.replace(rule, kind="and", rules=())

    def _ranges(self, rule: Trigger) -> list[str]:
        found = []
        for text in rule.given.split():
            address = text if "/" in text else f"{text}/32"
            try:
                found.append(str(ipaddress.ip_network(address, strict=False)))
            except ValueError:
                self._hook.note(rule.node, "no-range", text=text)
                continue
            if ":" in text and "/" not in text:
                self._hook.note(rule.node, "wide-range", text=text, range=found[-1])
        return found


def _needed(rule: Trigger, proofs: Sequence[Trigger]) -> list[Trigger]:
    """Of these, the first ones of which the rule needs one to be true; none: it needs none."""
    each = [_needed(one, proofs) for one in rule.rules]
    if rule.kind == "or":
        return [one for found in each for one in found] if all(each) else []
    if rule.kind == "and":
        return min(filter(None, each), key=lambda one: max(map(proofs.index, one)), default=[])
    return [rule] if rule in proofs else []


def _may_prove(leaf: Trigger) -> bool:
    return leaf.kind == "value" and proves(leaf.parameter) and bool(leaf.given.strip())


def _is_of_method(rule: Trigger) -> bool:
    return rule.kind == "value" and rule.parameter.key == ("request", "method")


def _basic(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
