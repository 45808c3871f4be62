"""The provider of a hook: how its requests prove themselves, and how their bodies are read."""

from collections.abc import Sequence
from typing import Any

from router.cli.importing.hooks_file import Hook
from router.cli.importing.proofs import ImportedSender, Proof

_EVERY_METHOD = ("POST", "GET", "PUT", "PATCH", "DELETE")
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


def definition_of(
    hook: Hook, sender: ImportedSender, methods: Sequence[str], *, whole_body: bool
) -> dict[str, Any]:
    """The keys of the provider; `methods` are those of webhook's command line."""
    proofs = list(sender.proofs.values())
    ways = _ways(hook, proofs)
    found: dict[str, Any] = {"verify": ways[0] if ways else {"scheme": "none"}}
    if ways[1:]:
        found["also"] = ways[1:]
    found["methods"] = _methods(hook, sender, methods)
    found["read"] = "text" if whole_body else _read(hook)
    if (known := _known(found)) is not None:
        found["event"] = {"header": known[0]}
    return found


def remark_of(definition: dict[str, Any]) -> str:
    """What is built in for this sender."""
    known = _known(definition)
    return f"`provider: {known[1]}` knows its events too, and what it sends twice" if known else ""


def _known(definition: dict[str, Any]) -> tuple[str, str] | None:
    return _KNOWN.get(definition["verify"].get("header", "").title())


def _ways(hook: Hook, proofs: Sequence[Proof]) -> list[dict[str, Any]]:
    ways: list[dict[str, Any]] = []
    for proof in proofs:
        ways += [way for way in proof.ways if way not in ways]
    if len({str(proof.ways) for proof in proofs}) > 1:
        hook.differs(
            proofs[-1].secret,
            "each of the hook's secrets may be shown in each of these ways",
            "make two hooks of it if that is too much",
        )
    return ways


def _methods(hook: Hook, sender: ImportedSender, usual: Sequence[str]) -> list[str]:
    given = [hook.text(item).strip().upper() for item in hook.items(hook.get("http-methods"))]
    allowed = given or list(usual) or list(_EVERY_METHOD)
    for only in sender.methods:
        allowed = [method for method in allowed if method in only]
    if not allowed:
        hook.refuse(hook.node, "no method is allowed and fits the rule: this hook never runs")
        return ["POST"]
    # The first is that of test deliveries.
    return sorted(dict.fromkeys(allowed), key=lambda method: method != "POST")


def _read(hook: Hook) -> str | list[str]:
    forced = hook.text(hook.get("incoming-payload-content-type"))
    if not forced:
        return list(_KINDS)
    return next((kind for word, kind in _BY_TYPE.items() if word in forced), "text")
