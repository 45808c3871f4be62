"""The ruleset: one rules file, compiled and immutable, swapped as one reference."""

from collections.abc import Mapping
from typing import Any

import msgspec

from router.expressions import Expression
from router.model.delivery import Delivery
from router.model.settings import OWN, Endpoint, SecretRef, ServerSettings, Target
from router.providers import Provider
from router.rules.answers import MadeAnswer
from router.rules.scope import delivery_roots
from router.rules.specs import CompiledRule


class Ruleset(msgspec.Struct, frozen=True):
    """
    Everything one generation of the rules file says.

    `generation` is its content hash (SHA-256, 16 hex characters shown); `text` and `context`
    (resolved non-secret values) are what that hash covers. `folder` is where the file lies.
    """

    generation: str
    text: str
    context: dict[str, Any]
    folder: str
    server: ServerSettings
    secrets: Mapping[str, SecretRef]
    variables: Mapping[str, Any]
    targets: Mapping[str, Target]
    endpoints: Mapping[str, Endpoint]
    providers: Mapping[str, Provider]
    defines: Mapping[str, Expression]
    dedupe_keys: Mapping[str, Expression]
    rules: tuple[CompiledRule, ...]
    answers: Mapping[str, MadeAnswer] = {}

    def provider_name(self, endpoint: str, provider: str) -> str:
        """
        A sender as its endpoint calls it (`github`); its canonical name (`code-host`) where that
        endpoint is gone, or has another sender today.
        """
        found = self.endpoints.get(endpoint)
        return found.shown_provider if found and found.provider == provider else provider

    def provider_shown_as(self, endpoint: str, name: str) -> Provider | None:
        """A sender by the name that `provider_name` gives, perhaps by other rules."""
        found = self.endpoints.get(endpoint)
        if found and found.shown_provider == name:
            return self.providers.get(found.provider)
        return next((p for p in self.providers.values() if name in p.definition.names), None)

    def roots(self, delivery: Delivery) -> dict[str, Any]:
        """The roots that all events of a delivery share."""
        provider = self.provider_name(delivery.endpoint, delivery.provider)
        return delivery_roots(delivery, self.variables, provider)

    def expired(self, now: int) -> set[str]:
        """The secrets that verify nothing at this Unix millisecond, as their `until` is past."""
        return {one.name for one in self.secrets.values() if one.until and one.until <= now}

    def unverifiable(self, now: int) -> list[Endpoint]:
        """The endpoints that refuse every delivery then: all of their secrets have expired."""
        expired = self.expired(now)
        return [e for e in self.endpoints.values() if e.secrets and expired.issuperset(e.secrets)]

    @property
    def addressed(self) -> dict[str, Endpoint]:
        """The endpoints that senders reach: all but the router's own."""
        return {name: endpoint for name, endpoint in self.endpoints.items() if name != OWN}
