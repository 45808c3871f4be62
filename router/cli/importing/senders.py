"""Who may send to a hook's endpoint: its provider, and the addresses; and what rules are left."""

import ipaddress
from collections.abc import Sequence
from typing import Any

import msgspec

from router.cli.importing.hooks_file import Hook
from router.cli.importing.proofs import Proof, hidden_of, proofs_of
from router.cli.importing.request_values import RequestValues
from router.cli.importing.trigger_rule import Trigger, leaves

_EVERY_METHOD = "POST,GET,PUT,PATCH,DELETE"
_KINDS = ("text", "json", "form", "multipart", "xml")
"""A body of another type is a text: it has no fields, and prevents nothing."""
_BY_TYPE = {"json": "json", "x-www-form-urlencoded": "form", "xml": "xml", "multipart": "multipart"}
_KNOWN = {
    "X-Hub-Signature": ("X-GitHub-Event", "github"),
    "X-Hub-Signature-256": ("X-GitHub-Event", "github"),
    "X-Gitlab-Token": ("X-Gitlab-Event", "gitlab"),
    "X-Gitea-Signature": ("X-Gitea-Event", "gitea"),
}
"""Headers of proofs by which a sender is known: where it names its events, and its provider."""


class ImportedSender(msgspec.Struct):
    """
    `rest` is the rule without what proves the sender's place, `hidden` the comparisons in it of
    which rules hold hashes. `provider` are the keys of the endpoint's provider.
    """

    rest: Trigger
    proofs: dict[Trigger, Proof]
    hidden: list[Trigger]
    allow_from: list[str] = []
    provider: dict[str, Any] = {}

    @property
    def known(self) -> tuple[str, str] | None:
        """Where a well-known sender names its events, and its provider."""
        return _KNOWN.get(self.provider["verify"].get("header", "").title())


def sender_of(hook: Hook, trigger: Trigger, values: RequestValues, methods: str) -> ImportedSender:
    """Split what proves the sender from the rule; `methods` are those of webhook's command line."""
    proofs = proofs_of(hook, trigger)
    sender = ImportedSender(trigger, proofs, hidden_of(hook, trigger, proofs))
    given = [hook.text(item) for item in hook.items(hook.get("http-methods"))]
    given = given or (methods or _EVERY_METHOD).split(",")
    allowed = [method.strip().upper() for method in given]
    sender.rest = _without_places(hook, sender, allowed, trigger)
    for leaf in leaves(sender.rest):
        if leaf.kind == "ip-whitelist":
            hook.refuse(
                leaf.node,
                "the sender's address is no part of a condition beside others",
                "make two hooks of it, each with its own `ip-whitelist`",
            )
    if not allowed:
        hook.refuse(hook.node, "no method is allowed and fits the rule: this hook never runs")
    first, *others = _ways(hook, [*proofs.values()]) or [{"scheme": "none"}]
    sender.provider = {"verify": first} | ({"also": others} if others else {})
    # The first method is that of test deliveries.
    ordered = sorted(dict.fromkeys(allowed), key=lambda method: method != "POST")
    sender.provider |= {"methods": ordered, "read": "text" if values.whole_body else _read(hook)}
    sender.provider |= {"event": {"header": sender.known[0]}} if sender.known else {}
    return sender


def _ways(hook: Hook, proofs: Sequence[Proof]) -> list[dict[str, Any]]:
    ways = [way for proof in proofs for way in proof.ways]
    if len({str(proof.ways) for proof in proofs}) > 1:
        hook.differs(
            proofs[-1].node,
            "each of the hook's secrets may be shown in each of these ways",
            "make two hooks of it if that is too much",
        )
    return [way for at, way in enumerate(ways) if way not in ways[:at]]


def _read(hook: Hook) -> str | list[str]:
    forced = hook.text(hook.get("incoming-payload-content-type"))
    if not forced:
        return list(_KINDS)
    return next((kind for word, kind in _BY_TYPE.items() if word in forced), "text")


def _without_places(
    hook: Hook, sender: ImportedSender, allowed: list[str], trigger: Trigger
) -> Trigger:
    """The rule without what all of it needs of addresses, and of methods, which are `allowed`."""
    always = msgspec.structs.replace(trigger, kind="and", rules=())
    if trigger.kind == "and":
        rules = (_without_places(hook, sender, allowed, rule) for rule in trigger.rules)
        return msgspec.structs.replace(trigger, rules=tuple(rules))
    choice = trigger.rules if trigger.kind == "or" else (trigger,)
    if choice and all(rule.kind == "ip-whitelist" for rule in choice):
        if sender.allow_from:
            hook.refuse(hook.at("trigger-rule"), "the address is to be in several ranges")
        for rule in choice:
            sender.allow_from += _ranges(hook, rule)
        return always
    if choice and all(map(_is_of_method, choice)):
        given = [hook.text(rule.given) for rule in choice]
        allowed[:] = [method for method in allowed if method in given]
        return always
    return trigger


def _is_of_method(rule: Trigger) -> bool:
    source, name = rule.parameter.source, rule.parameter.name.lower()
    return (rule.kind, source, name) == ("value", "request", "method")


def _ranges(hook: Hook, rule: Trigger) -> list[str]:
    found = []
    for text in hook.text(rule.given).split():
        address = text if "/" in text else f"{text}/32"
        try:
            found.append(str(ipaddress.ip_network(address, strict=False)))
        except ValueError:
            hook.refuse(rule.node, f"'{text}' is no range of addresses")
            continue
        if ":" in text and "/" not in text:
            hook.differs(rule.node, f"for webhook '{text}' means all of {found[-1]}", f"{text}/128")
    return found
