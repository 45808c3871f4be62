"""Recovery as the rules in force want it: for a server, and for a command without one."""

import random
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from router import log as logs
from router.clock import Clock, SystemClock
from router.errors import SecretMissing, UsageError
from router.intake import Intake
from router.metrics import Metrics
from router.model.delivery import InboundRequest
from router.model.ids import Ids
from router.model.job import Work
from router.model.recovery import Recovery
from router.model.settings import Endpoint
from router.operator.audit import AuditTrail
from router.provider_calls.answers import Sends
from router.provider_calls.recovery import Recoveries, RecoverySource
from router.providers import recovering
from router.providers.app_token import app_token
from router.providers.keys import UnusableKeyError
from router.rules.live import LiveEndpoint, LiveRef, LiveRuleset, SecretValues
from router.rules.ruleset import Ruleset
from router.store.protocol import Store
from router.store.values import Accepted, Claimed, alone
from router.wiring.live import generation_of
from router.wiring.management import access_of, api_client, token_of
from router.wiring.offline import operator_here
from router.wiring.stores import open_store

Token = Callable[[Ruleset, str], str]
"""The value of a secret. Raises RouterError: it has none here."""


class RecoverableEndpoints:
    """The senders of the endpoints in force, for `Recoveries`."""

    def __init__(
        self, live: LiveRef, intake: Intake, token: Token, *, metrics: Metrics, clock: Clock
    ) -> None:
        self._live, self._intake, self._token = live, intake, token
        self._metrics, self._clock = metrics, clock

    def every(self) -> Mapping[str, int]:
        """How often each endpoint's missed deliveries are asked for."""
        endpoints = self._live.current.ruleset.endpoints.values()
        return {e.name: e.recover.every_ms for e in endpoints if e.recover.every_ms is not None}

    def source(self, endpoint: str) -> RecoverySource:
        """Where they are asked for. Raises UsageError."""
        return source_of(self._live.current.ruleset, endpoint, self._token, self._clock.now())

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


def source_of(ruleset: Ruleset, name: str, token: Token, now_ms: int) -> RecoverySource:
    """
    Where an endpoint's missed deliveries are asked for; the token of an app is made now.

    Raises:
        UsageError: nowhere, or something is missing for it; the text says how to give it.
    """
    endpoint = ruleset.endpoints.get(name)
    if endpoint is None or not endpoint.addresses:
        raise UsageError(f"there is no endpoint {name[:80]!r}")
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
    access = access_of(ruleset, endpoint, _proof(ruleset, endpoint, token, now_ms))
    if access is None:
        raise UsageError(f"the API's address is unknown: add `api: {{base: …}}` to {name}")
    base = urlsplit(ruleset.server.base_url)
    addresses = tuple(f"{base.scheme}://{base.netloc}{one}" for one in endpoint.addresses)
    return RecoverySource(access, endpoint.recover.hook, addresses, endpoint.api.token)


def _proof(ruleset: Ruleset, endpoint: Endpoint, token: Token, now_ms: int) -> str:
    """The token of an endpoint. Raises UsageError."""
    secret = endpoint.api.token or ""
    value = token(ruleset, secret)
    if endpoint.api.app is None:
        return value
    try:
        return app_token(endpoint.api.app, value.encode(), now_ms)
    except UnusableKeyError as error:
        raise UsageError(f"secrets.{secret} is no private key of an app: {error}") from None


def live_token(live: LiveRef) -> Token:
    """Tokens of the rules in force, as their secrets were read."""

    def token(_ruleset: Ruleset, name: str) -> str:
        return live.current.secrets.texts.get(name, "").strip()

    return token


def recoveries_of(
    senders: RecoverableEndpoints,
    store: Store,
    *,
    audit: AuditTrail,
    clock: Clock,
    claimed: Claimed = alone,
) -> Recoveries:
    """The runs of one process."""
    return Recoveries(
        senders,
        store=store,
        audit=audit,
        clock=clock,
        log=logs.get("recovery"),
        claimed=claimed,
    )


@asynccontextmanager
async def open_recoveries(
    ruleset: Ruleset, environ: Mapping[str, str]
) -> AsyncIterator[Recoveries]:
    """
    Runs on the store of these rules, under its lock, without a server: jobs of what is fetched
    run at the next `serve`.

    Raises:
        StoreRefused: a server holds the store, or it cannot be opened.
    """
    clock = SystemClock()
    ids = Ids(random.Random(secrets.randbits(128)))  # noqa: S311 - ids, not secrets
    store = await open_store(ruleset.server.store, clock=clock)
    try:
        live = LiveRef(LiveRuleset(ruleset, SecretValues({}, {})))
        await store.keep_generation(generation_of(ruleset, clock))
        intake = Intake(live=live, store=store, dispatch=_NoDispatch(), clock=clock, ids=ids)
        senders = RecoverableEndpoints(
            live, intake, partial(_token_here, environ), metrics=Metrics(), clock=clock
        )
        yield recoveries_of(
            senders, store, audit=AuditTrail(store, clock, ids, operator_here()), clock=clock
        )
    finally:
        await store.close()


def _token_here(environ: Mapping[str, str], ruleset: Ruleset, name: str) -> str:
    try:
        return token_of(ruleset, name, environ)
    except SecretMissing as error:
        raise UsageError(f"no access token: secrets.{name}: {error}") from None


class _NoDispatch:
    """Nothing runs here: jobs wait for the next `serve`."""

    def reserve(self, target: str, kind: Any) -> None:
        """No job starts at once."""

    def release(self, lease: str, *, unsure: bool = False) -> None:
        """There is none."""

    def hand_over(self, works: Sequence[Work]) -> None:
        """There are none."""

    def wake(
        self, target: str, due_at: int, kind: Any = None, fresh: tuple[str, str] | None = None
    ) -> None:
        """The next `serve` finds what is due."""
