"""Recovery as the rules in force want it."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from urllib.parse import urlsplit

from router.clock import Clock
from router.errors import UsageError
from router.intake import Intake
from router.metrics import Metrics
from router.model.delivery import InboundRequest
from router.model.recovery import Recovery
from router.model.settings import Endpoint
from router.provider_calls.answers import Sends
from router.provider_calls.recovery import RecoverySource
from router.providers import recovering
from router.providers.bearer import app_token
from router.providers.keys import UnusableKeyError
from router.rules.live import LiveEndpoint, LiveRef, LiveRuleset
from router.store.values import Accepted
from router.suggest import did_you_mean
from router.wiring.management import access_of, api_client


class RecoverableEndpoints:
    """The senders of the endpoints in force, for `Recoveries`."""

    def __init__(self, live: LiveRef, intake: Intake, *, metrics: Metrics, clock: Clock) -> None:
        self._live, self._intake = live, intake
        self._metrics, self._clock = metrics, clock

    def every(self) -> Mapping[str, int]:
        """How often each endpoint's missed deliveries are asked for."""
        endpoints = self._live.current.ruleset.endpoints.values()
        return {e.name: e.recover.every_ms for e in endpoints if e.recover.every_ms is not None}

    def source(self, endpoint: str) -> RecoverySource:
        """Where they are asked for. Raises UsageError."""
        return source_of(self._live.current, endpoint, self._clock.now())

    def client(self, base: str) -> AbstractAsyncContextManager[Sends]:
        """What calls the API at that address."""
        return api_client(self._live.current.ruleset, base)

    async def take(self, endpoint: str, body: bytes, secret: str) -> bool | None:
        """As if it had been delivered, by the rules in force now."""
        found = self._endpoint(endpoint)
        if found is None or len(body) > found.body_max:
            return None
        request = InboundRequest(
            method="POST",
            raw_path=found.settings.addresses[0].encode("latin-1"),
            query_string=b"",
            headers=((b"content-type", b"application/json"),),
            body=body,
            peer="",
            received_at=self._clock.now(),
        )
        receipt = await self._intake.take(found, request, secret)
        return None if receipt is None else isinstance(receipt, Accepted)

    def ended(self, run: Recovery) -> None:
        """A run has ended."""
        for result in ("requested", "stored", "known", "failed"):
            self._metrics.recovered(getattr(run, result), run.endpoint, result)
        if run.state == "done":
            self._metrics.recovery_done(run.endpoint, run.at)

    def _endpoint(self, name: str) -> LiveEndpoint | None:
        live = self._live.current
        found = live.ruleset.endpoints.get(name)
        return live.by_path.get(found.addresses[0].encode("latin-1")) if found else None


def source_of(live: LiveRuleset, name: str, now_ms: int) -> RecoverySource:
    """
    Where an endpoint's missed deliveries are asked for; the token of an app is made now.

    Raises:
        UsageError: nowhere, or something is missing for it; the text says how to give it.
    """
    ruleset = live.ruleset
    endpoint = ruleset.endpoints.get(name)
    if endpoint is None or not endpoint.addresses:
        hint = did_you_mean(name, ruleset.endpoints)
        raise UsageError(f"there is no endpoint {name[:80]!r}{hint and f'; {hint}'}")
    provider = ruleset.providers[endpoint.provider]
    rule = provider.definition.api.recover if provider.definition.api else None
    if rule is None:
        raise UsageError(
            f"{provider.label} has no API that lists what it could not deliver; "
            f"{' and '.join(recovering())} have one"
        )
    if endpoint.api.token is None:
        raise UsageError(
            f"endpoint {name} names no token: add `api: {{token: SECRET}}`; needed: {rule.needs}"
        )
    if rule.hooks and not endpoint.recover.hook:
        forms = " or ".join(form.removesuffix("/{id}").lstrip("/") for form in rule.hooks)
        raise UsageError(f"endpoint {name} names no webhook: add `recover: {{hook: {forms}}}`")
    access = access_of(ruleset, endpoint, _proof(live, endpoint, now_ms))
    if access is None:
        raise UsageError(f"the API's address is unknown: add `api: {{base: …}}` to {name}")
    base = urlsplit(ruleset.server.base_url)
    addresses = tuple(f"{base.scheme}://{base.netloc}{one}" for one in endpoint.addresses)
    return RecoverySource(access, endpoint.recover.hook, addresses, endpoint.api.token)


def _proof(live: LiveRuleset, endpoint: Endpoint, now_ms: int) -> str:
    """The token of an endpoint. Raises UsageError."""
    secret = endpoint.api.token or ""
    value = live.secrets.texts.get(secret, "").strip()
    if endpoint.api.app is None:
        return value
    try:
        return app_token(endpoint.api.app, value.encode(), now_ms)
    except UnusableKeyError as error:
        raise UsageError(f"secrets.{secret} is no private key of an app: {error}") from None
