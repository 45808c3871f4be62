"""What management calls need of the rules: whose API, where, with which token."""

import random
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import NamedTuple

from router import log as logs
from router.clock import Clock
from router.errors import SecretMissing
from router.intake.awaiting import Asks
from router.metrics import Metrics
from router.model.settings import PUBLISHED, Endpoint
from router.provider_calls.answers import Sends
from router.provider_calls.fetches import Fetches
from router.provider_calls.introspection import TIMEOUT_S as ASKED_WITHIN_S
from router.provider_calls.introspection import Introspector
from router.provider_calls.keys import KeySource, PublishedKeys, PublishedRanges, Ranges
from router.provider_calls.visits import TIMEOUT_S, Visits
from router.providers.management import Access
from router.providers.published_ranges import RangesSource
from router.rules.live import LiveRef, LiveRuleset
from router.rules.ruleset import Ruleset
from router.store.protocol import FactStore
from router.store.values import Claimed
from router.wiring.secret_values import secret_value


def base_of(ruleset: Ruleset, endpoint: Endpoint) -> str | None:
    """Where the API of an endpoint's sender is, None if nobody says."""
    provider = ruleset.providers.get(endpoint.provider)  # a reload may have taken it away
    rule = provider.definition.api if provider else None
    return endpoint.api.base or (rule.base if rule else None)


def ranges_at(ruleset: Ruleset, endpoint: Endpoint) -> str | None:
    """Where an endpoint's sender publishes its addresses, None if nobody says."""
    provider = ruleset.providers.get(endpoint.provider)
    rule = provider.definition.ranges if provider else None
    return base_of(ruleset, endpoint) if rule is None else rule.url


def access_of(ruleset: Ruleset, endpoint: Endpoint, token: str | None) -> Access | None:
    """The API of an endpoint's sender; None: it has none, or nobody says where."""
    rule, base = ruleset.providers[endpoint.provider].definition.api, base_of(ruleset, endpoint)
    if rule is None or base is None:
        return None
    version = endpoint.api_version or rule.version
    as_app = endpoint.api.app is not None
    return Access(rule, base, token, endpoint.api.spelling, version, as_app)


def token_of(ruleset: Ruleset, secret: str, environ: Mapping[str, str]) -> str:
    """
    The value of a secret that is a token.

    Raises:
        SecretMissing: it is not set, or no text.
    """
    value = secret_value(ruleset.secrets[secret], environ)
    try:
        return value.decode("ascii").strip()
    except UnicodeDecodeError:
        raise SecretMissing("a token has ASCII characters only") from None


def fetches_of(metrics: Metrics) -> Fetches:
    """What all who fetch write in, and metrics are read from."""
    made = Fetches()
    metrics.watch_each(
        "published_keys", "Key sets and certificates that are known", "kind", made.known
    )
    for name, kind in (("ranges", "address ranges"), ("keys", "key set")):
        metrics.watch_each(
            f"published_{name}_timestamp_seconds",
            f"When a sender's {kind} was last fetched",
            "base",
            partial(made.good_at, kind),
        )
    metrics.watch_each(
        "fetch_failures_total",
        "Fetches that failed of what proves deliveries",
        "kind",
        lambda: dict(made.failures),
    )
    return made


def handshake_visits(live: LiveRef, *, clock: Clock, metrics: Metrics) -> Visits:
    """What fetches the addresses that proved handshakes name."""

    def client() -> AbstractAsyncContextManager[Sends]:
        from router.provider_calls.client import ProviderClient  # noqa: PLC0415

        egress = live.current.ruleset.server.egress_allow
        return ProviderClient((), egress=egress, timeout_s=TIMEOUT_S)

    log = logs.get("handshakes")
    return Visits(open_client=client, clock=clock, log=log, on_end=metrics.visited)


def api_client(
    ruleset: Ruleset, base: str, timeout_s: float = 30.0
) -> AbstractAsyncContextManager[Sends]:
    """What calls the API at that address, as far as the egress rules let it."""
    # Only a router that calls an API pays for the client's import.
    from router.provider_calls.client import ProviderClient, hosts_of  # noqa: PLC0415

    egress = ruleset.server.egress_allow
    return ProviderClient(hosts_of(base), egress=egress, timeout_s=timeout_s)


class Fetching(NamedTuple):
    """What everything that senders publish is fetched and kept with."""

    facts: FactStore
    clock: Clock
    rng: random.Random
    claimed: Claimed
    fetches: Fetches


class EndpointRanges:
    """The address ranges that the endpoints in force need, for intake and for status pages."""

    def __init__(self, live: LiveRef, given: Fetching) -> None:
        self._live = live
        self.ranges = PublishedRanges(
            sources=self._needed,
            open_client=partial(_client, live),
            log=logs.get("ranges"),
            **given._asdict(),
        )

    def of(self, endpoint: Endpoint) -> Ranges | None:
        """The ranges that an endpoint's sender publishes; None: not known yet."""
        base = ranges_at(self._live.current.ruleset, endpoint)
        return self.ranges.of(base) if base else None

    def _needed(self) -> list[RangesSource]:
        live = self._live.current
        wanting = (e for e in live.ruleset.endpoints.values() if PUBLISHED in e.allow_from)
        found = (_ranges_source(live, e) for e in wanting)
        return [source for source in found if source is not None]


def _ranges_source(live: LiveRuleset, endpoint: Endpoint) -> RangesSource | None:
    rule = live.ruleset.providers[endpoint.provider].definition.ranges
    if rule is not None:
        return RangesSource.of_url(rule)
    access = access_of(live.ruleset, endpoint, _token_here(live, endpoint))
    return None if access is None else RangesSource.of_api(access)


def published_keys(live: LiveRef, given: Fetching) -> PublishedKeys:
    """The keys that the senders of the endpoints in force publish."""

    def needed() -> list[KeySource]:
        """Those at addresses that definitions name; the others are named by requests."""
        ruleset = live.current.ruleset
        used = {e.provider for e in ruleset.endpoints.values() if not e.unsigned}
        return [KeySource(url) for name in used for url in ruleset.providers[name].publishes]

    return PublishedKeys(
        sources=needed,
        open_client=partial(_client, live),
        log=logs.get("keys"),
        **given._asdict(),
    )


def _token_here(live: LiveRuleset, endpoint: Endpoint) -> str | None:
    """The token as it was read; a private key is none."""
    name = endpoint.api.token if endpoint.api.app is None else None
    return live.secrets.texts.get(name or "")


def questions(live: LiveRef, clock: Clock, fetches: Fetches) -> Asks:
    """What asks the issuer of a token about it."""

    def client(base: str) -> AbstractAsyncContextManager[Sends]:
        return api_client(live.current.ruleset, base, ASKED_WITHIN_S)

    return Introspector(open_client=client, clock=clock, log=logs.get("tokens"), fetches=fetches)


def _client(live: LiveRef, base: str) -> AbstractAsyncContextManager[Sends]:
    return api_client(live.current.ruleset, base)
