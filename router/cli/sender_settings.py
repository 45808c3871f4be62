"""What to enter at a sender for an endpoint: the address, the secret, the events."""

from typing import TYPE_CHECKING

import msgspec

from router.cli.wanted_events import WantedEvents, wanted

if TYPE_CHECKING:
    from router.model.settings import Endpoint, SecretRef
    from router.providers import Provider
    from router.rules.ruleset import Ruleset

_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "multipart": "multipart/form-data",
    "xml": "application/xml",
    "text": "any",
}
_SAME_TEXT = "a long random text: the same here and at the sender"
_WHOSE = {
    "hmac": _SAME_TEXT,
    "token": _SAME_TEXT,
    "basic": "user:password, as the sender is given them",
    "python": _SAME_TEXT,
    "introspection": "what the token endpoint knows this router by",
}
_PUBLIC = "the public key that the sender shows"


class SenderSettings(msgspec.Struct, frozen=True):
    """
    What to enter there. `secret` says where it is from, `secret_in` where it goes here; both None
    where nothing is verified. `events` are in the words of the sender's settings screen; `remarks`
    say more of them.
    """

    url: tuple[str, ...]
    content_type: tuple[str, ...]
    secret: str | None
    secret_in: tuple[str, ...]
    events: tuple[str, ...]
    remarks: tuple[str, ...]

    def rows(self) -> list[tuple[str, str]]:
        """Name and value, for people."""
        rows = [("url", url) for url in self.url]
        rows.append(("content type", " or ".join(self.content_type)))
        rows.append(("secret", self.secret or "none: everybody is let in"))
        rows += [("put it into", place) for place in self.secret_in]
        rows += [("events", event) for event in self.events]
        return rows + [("", remark) for remark in self.remarks]


def settings_of(ruleset: "Ruleset", endpoint: "Endpoint", urls: tuple[str, ...]) -> SenderSettings:
    """For one endpoint, by the rules that want something of it."""
    provider = ruleset.providers[endpoint.provider]
    found = wanted(ruleset, endpoint)
    return SenderSettings(
        url=urls,
        content_type=tuple(_TYPES[kind] for kind in provider.definition.reads),
        secret=None if endpoint.unsigned else _secret(provider),
        secret_in=tuple(_place(ruleset.secrets[name]) for name in endpoint.secrets),
        events=tuple(provider.setting(name) for name in found.names),
        remarks=tuple(_remarks(endpoint, provider, found)),
    )


def _secret(provider: "Provider") -> str:
    """As the definition says it, else by the way of proof."""
    notes = (note for note in provider.definition.notes if note.startswith("the secret"))
    said = next(notes, None)
    if said is not None:
        return said.removeprefix("the secret is ").removeprefix("the secrets are ")
    return _WHOSE.get(provider.definition.verify.scheme, _PUBLIC)


def _place(secret: "SecretRef") -> str:
    if secret.env is not None:
        return f"the variable {secret.env} (secrets.{secret.name})"
    if secret.file is not None:
        return f"the file {secret.file} (secrets.{secret.name})"
    return f"the credential {secret.credential} (secrets.{secret.name})"


def _remarks(endpoint: "Endpoint", provider: "Provider", found: WantedEvents) -> list[str]:
    remarks = []
    if found.every:
        remarks.append(f"all events: rule {', '.join(found.every)} names none")
    elif not found.names:
        remarks.append("no rule wants any event of it yet")
    if provider.definition.api is not None and provider.definition.api.subscribe is not None:
        call = f"router subscriptions create {endpoint.name} --from-rules"
        remarks.append(f"`{call}` subscribes to them by the sender's API")
    return remarks
