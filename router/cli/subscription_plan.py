"""What `router subscriptions` works with: the endpoint, its sender's API, the plan, the store."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from router.cli.generations import read_store
from router.cli.operator_access import acting
from router.cli.options import Options, addressed
from router.cli.remote import RemoteOperator
from router.cli.wanted_events import rules_of
from router.config.settings import parsed_url
from router.egress import is_local_name
from router.errors import SecretMissing, UsageError
from router.model.patterns import wildcard
from router.model.settings import Endpoint
from router.model.store_address import StoreAddress
from router.model.subscription import (
    FACTS,
    SCOPES,
    Subscription,
    fact_name,
    granted_at,
    subscriptions,
)
from router.operator.requests import RememberRequest
from router.provider_calls.subscriptions import SubscriptionApi
from router.providers import Provider
from router.providers.api import VERSION
from router.providers.management import Access, is_topic, topic_table
from router.rules.ruleset import Ruleset
from router.web.client_address import is_loopback

_PORTS = {"http": 80, "https": 443}


class ApiOptions(msgspec.Struct, frozen=True):
    """What the command line says in place of the endpoint's `api:`."""

    endpoint: str
    shop_base: str | None = None
    api_version: str | None = None
    token: str | None = None
    token_env: str | None = None
    spelling: str | None = None


class PlannedTopic(msgspec.Struct, frozen=True):
    """
    One topic of a plan. `record` is what is known of it, None for nothing; `needs` are the scopes
    of which the token has none, though it needs one.
    """

    topic: str
    address: str
    do: Literal["create", "keep", "unsure", "forbidden"]
    record: Subscription | None = None
    needs: tuple[str, ...] = ()


class SubscriptionPlan(msgspec.Struct, frozen=True):
    """What would be requested, where; `known` are all records, by the names of their facts."""

    endpoint: str
    access: Access
    way: SubscriptionApi
    rows: tuple[PlannedTopic, ...]
    known: Mapping[str, Subscription]

    @property
    def wanted(self) -> list[tuple[str, str]]:
        """(topic, address) of each subscription to make."""
        return [(row.topic, row.address) for row in self.rows if row.do == "create"]


def endpoint_of(ruleset: Ruleset, name: str) -> Endpoint:
    """
    The endpoint of this name, if its sender takes subscriptions by calls.

    Raises:
        UsageError: there is none, or it does not.
    """
    endpoint = addressed(ruleset, name)
    provider = ruleset.providers[endpoint.provider]
    rule = provider.definition.api
    if rule is None or rule.subscribe is None:
        raise UsageError(
            f"{provider.label} is subscribed to in its settings screen, not by a call; "
            f"`router addresses` shows what to enter there"
        )
    return endpoint


def access_for(place: Options, ruleset: Ruleset, endpoint: Endpoint, options: ApiOptions) -> Access:
    """
    Whose API is called, where and as whom: flags first, then `api:`, then the definition.

    Raises:
        UsageError: something is missing or malformed; the text says how to give it.
    """
    rule = ruleset.providers[endpoint.provider].definition.api
    assert rule is not None  # noqa: S101 - `endpoint_of` has seen to it
    base = (
        checked_address(options.shop_base) if options.shop_base else endpoint.api.base or rule.base
    )
    if base is None:
        raise UsageError(
            f"the API's address is unknown: add --shop-base https://…, or "
            f"`api: {{base: …}}` to endpoint {endpoint.name}"
        )
    version = options.api_version or endpoint.api_version or rule.version
    if version is not None and not VERSION.fullmatch(version):
        raise UsageError(f"--api-version is written YYYY-MM, like 2024-01, not {version!r}")
    token = token_for(place, ruleset, options, endpoint, rule.base)
    return Access(rule, base, token, options.spelling or endpoint.api.spelling, version)


def token_for(
    place: Options,
    ruleset: Ruleset,
    options: ApiOptions,
    endpoint: Endpoint | None,
    usual: str | None,
) -> str:
    """
    The access token: of `--token-env`, `--token`, or the endpoint's, which goes to the endpoint's
    own API alone (at `usual` if it does not say).

    Raises:
        UsageError: none is named, or what is named does not exist or is not set, or it belongs
            elsewhere.
    """
    from router.wiring.management import token_of

    if options.token is not None and options.token_env is not None:
        raise UsageError("--token and --token-env both name a token; give one")
    if options.token_env is not None:
        return token_from_variable(place.environ, options.token_env)
    name = options.token or (endpoint.api.token if endpoint else None)
    if name is None:
        raise UsageError(
            "no access token is named: add --token-env VARIABLE, --token SECRET, or "
            f"`api: {{token: SECRET}}` to endpoint {options.endpoint}"
        )
    if endpoint is not None and endpoint.api.app is not None and options.token is None:
        raise UsageError(
            f"the secret of endpoint {endpoint.name} is an app's private key, no token: name one "
            "with --token-env VARIABLE or --token SECRET"
        )
    own = (endpoint.api.base if endpoint else None) or usual
    if (
        options.token is None
        and own
        and options.shop_base
        and _origin(own) != _origin(options.shop_base)
    ):
        raise UsageError(
            f"the token of endpoint {options.endpoint} is for {own}: name the one for "
            f"{options.shop_base} with --token-env VARIABLE or --token SECRET"
        )
    if name not in ruleset.secrets:
        known = ", ".join(ruleset.secrets) or "none"
        raise UsageError(f"--token names a secret of the rules file, which has: {known}")
    try:
        return token_of(ruleset, name, place.environ)
    except SecretMissing as error:
        raise UsageError(f"no access token: secrets.{name}: {error}") from None


def _origin(address: str) -> tuple[str, str, int | None]:
    url = urlsplit(address)
    return url.scheme, (url.hostname or "").lower(), url.port or _PORTS.get(url.scheme)


def token_from_variable(environ: Mapping[str, str], name: str) -> str:
    """
    The token that a variable of the environment holds.

    Raises:
        UsageError: it is not set, or no text of ASCII characters.
    """
    token = environ.get(name, "").strip()
    if not token:
        raise UsageError(f"no access token: environment variable {name} is not set")
    if not token.isascii() or not token.isprintable():
        raise UsageError(f"environment variable {name}: a token has ASCII characters only")
    return token


def checked_address(text: str) -> str:
    """
    The address of an API, without the slash at its end.

    Raises:
        UsageError: it is none.
    """
    url = parsed_url(text)
    if url is None or url.query or url.fragment or url.username is not None:
        raise UsageError(f"{text[:80]!r} is not an address like 'https://example-shop.test'")
    return text.rstrip("/")


# -- topics


def topics_given(provider: Provider, texts: Iterable[str]) -> list[str]:
    """
    Topics as REST writes them, from either spelling.

    Raises:
        UsageError: one of them is no topic.
    """
    table = topic_table(info.name for info in provider.events)
    found = {text: table.get(text, text) for text in texts}
    for text, topic in found.items():
        if not is_topic(topic):
            raise UsageError(f"{text[:60]!r} is not a topic; write one like orders/create")
    return list(found.values())


def topics_of_rules(ruleset: Ruleset, endpoint: Endpoint) -> tuple[list[str], list[str]]:
    """
    The topics that the rules of an endpoint name, patterns filled in from the catalogue, and the
    ids of rules that name none: those want every event, which nobody should subscribe to by
    accident.
    """
    catalogue = [info.name for info in ruleset.providers[endpoint.provider].events]
    topics: dict[str, None] = {}
    rules = rules_of(ruleset, endpoint)
    for pattern in (pattern for rule in rules for pattern in rule.events or ()):
        fitting = [name for name in catalogue if wildcard(pattern, name)]
        topics |= dict.fromkeys(fitting or ([pattern] if is_topic(pattern) else []))
    return list(topics), [r.id for r in rules if r.events is None and not r.otherwise]


# -- the plan


def planned(
    ruleset: Ruleset,
    endpoint: Endpoint,
    topics: Iterable[str],
    access: Access,
    way: SubscriptionApi,
    known: Mapping[str, Subscription],
    *,
    granted: Collection[str] | None = None,
    again: bool,
) -> SubscriptionPlan:
    """
    What is to be made, and what was made before. `granted` are the scopes of the token, None if
    nobody knows.

    Raises:
        UsageError: senders could not reach the address, or the shop would have too many.
    """
    rows = []
    for topic in dict.fromkeys(topics):
        address = address_for(ruleset, endpoint, topic)
        record = known.get(fact_name(access.base, topic, address))
        rows.append(_row(topic, address, record, access, granted, again=again))
    local = [row.address for row in rows if _is_local(row.address)]
    if local and not _is_local(access.base):  # of use to a sender on this machine alone
        raise UsageError(
            f"the sender cannot reach {local[0]}: set `server.base_url` to the public address"
        )
    made = sum(record.base == access.base for record in known.values())
    new = sum(row.do == "create" and row.record is None for row in rows)
    if made + new > access.rule.subscriptions_max:
        raise UsageError(
            f"that would be {made + new:,} subscriptions at {access.base}, "
            f"more than the {access.rule.subscriptions_max:,} an app may have"
        )
    return SubscriptionPlan(endpoint.name, access, way, tuple(rows), known)


def _row(
    topic: str,
    address: str,
    record: Subscription | None,
    access: Access,
    granted: Collection[str] | None,
    *,
    again: bool,
) -> PlannedTopic:
    if record is not None and not again:
        return PlannedTopic(topic, address, "keep" if record.state == "made" else "unsure", record)
    rule = access.rule.scopes
    needs = rule.missing(topic, granted) if rule and granted is not None else ()
    return PlannedTopic(topic, address, "forbidden" if needs else "create", record, needs)


def address_for(ruleset: Ruleset, endpoint: Endpoint, topic: str) -> str:
    """Where a topic is to be sent: of several paths the one that is named after it."""
    base = urlsplit(ruleset.server.base_url)
    return f"{base.scheme}://{base.netloc}{endpoint.address_of(topic)}"


def _is_local(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return is_local_name(host) or is_loopback(host)


# -- the store


def read_records(address: StoreAddress) -> dict[str, Subscription]:
    """The subscriptions that the store has, by the names of their facts."""
    facts: Mapping[str, Any] = {}
    return subscriptions(read_store(address, lambda reader: reader.recall(FACTS), absent=facts))


def known_scopes(address: StoreAddress, base: str) -> tuple[str, ...] | None:
    """The scopes that the token for a shop had when they were last asked for."""
    facts: Mapping[str, Any] = {}
    found = granted_at(
        read_store(address, lambda reader: reader.recall(SCOPES), absent=facts), base
    )
    return found.scopes if found else None


async def remember(place: Options, ruleset: Ruleset, **known: Any) -> None:
    """
    Make `facts` durable, of which None as a value forgets one, or `scopes`. Raises: as `acting`.
    """
    request = msgspec.convert(known, RememberRequest)
    with acting(place, ruleset) as client:
        await RemoteOperator(client).remember(request)
