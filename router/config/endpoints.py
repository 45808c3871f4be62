"""`endpoints:`: addresses, providers, secrets, dedupe."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from router.config import api as apis
from router.config.context import LoadContext
from router.config.environment import setting
from router.config.language import ExpressionSite, Language
from router.config.providers import is_open, provider_of, reworked, with_methods
from router.config.recovery import recovering
from router.config.schema import DedupeEntry, EndpointEntry
from router.config.settings import kept, plain_url, shape
from router.config.spelling import ENDPOINT_ID, ENDPOINTS_TAKEN, ID, PATH
from router.expressions import Expression
from router.model.settings import (
    MIB,
    OWN,
    Dedupe,
    Endpoint,
    FixedAnswer,
    KeepFor,
    ServerSettings,
)
from router.providers import Provider
from router.providers import own as router_itself
from router.rules.scope import ROOTS
from router.yaml_source import SourceText

_ID_MIN = 16


def endpoints(context: LoadContext, server: ServerSettings) -> dict[str, Endpoint]:
    """Every endpoint; addresses include the path of the server's `base_url`."""
    keep = server.retention
    usual = KeepFor(keep.succeeded, keep.unmatched, keep.dead)
    try:
        prefix = urlsplit(server.base_url).path.rstrip("/")
    except ValueError:
        prefix = ""
    found: dict[str, Endpoint] = {}
    taken: dict[str, str] = {}
    for name, entry in context.file.endpoints or ():
        shape(context, name, ID, "an endpoint")
        if name.value in ENDPOINTS_TAKEN:
            context.error("bad-name", f"the endpoint name '{name.value}' is reserved", name)
        for rework in (reworked, with_methods):
            if (own := rework(context, name.value, entry)) is not None:
                context.reworked[entry.node.start] = own
        _known_provider(context, entry)
        _secrets_or_unsigned(context, entry)
        context.above_zero(entry)
        found[name.value] = msgspec.structs.replace(
            _endpoint(context, name.value, entry),
            addresses=_addresses(context, entry, prefix),
            public_url=_public_url(context, entry, server.base_url),
            retention=None if entry.retention is None else kept(usual, entry.retention),
        )
        _shared(context, name, entry, (found[name.value].addresses, taken))
    return found


def dedupe_keys(context: LoadContext, language: Language) -> dict[str, Expression]:
    """The `dedupe.key` expressions by endpoint."""
    found = {}
    for name, entry in context.file.endpoints or ():
        if entry.dedupe is None or entry.dedupe.key is None:
            continue
        provider = provider_of(context, entry)
        own = provider.root_fields if provider else frozenset()
        place = ExpressionSite(
            "a dedupe key", (ROOTS - {"delivery"}) | own, null="its copies are then not known"
        )
        if (expression := language.expression(entry.dedupe.key, place)) is not None:
            found[name.value] = expression
    return found


def used(context: LoadContext, found: Mapping[str, Endpoint]) -> dict[str, Provider]:
    """The providers of the endpoints, by the names that the endpoints give them."""
    own = {provider.name: provider for provider in context.reworked.values()}
    if OWN in found:
        own[OWN] = router_itself()
    names = {endpoint.provider for endpoint in found.values()}
    # One node may stand for two endpoints (an alias); then there is a fault, and one provider.
    each = ((name, own.get(name) or context.providers.get(name)) for name in sorted(names))
    return {name: provider for name, provider in each if provider is not None}


def _known_provider(context: LoadContext, entry: EndpointEntry) -> None:
    own = context.file.providers
    if entry.provider is None or (own is not None and entry.provider.value in own):
        return  # what is wrong with the file's own definition has been reported there
    if entry.provider.value == OWN:
        context.error(
            "unknown-provider",
            "no sender is the router itself",
            entry.provider,
            f"a rule `from: {OWN}` gets its events, without an endpoint",
        )
    elif entry.provider.value not in context.providers:
        context.unknown("unknown-provider", "provider", entry.provider, context.providers)


def _secrets_or_unsigned(context: LoadContext, entry: EndpointEntry) -> None:
    for secret in entry.secrets or ():
        context.secret(secret)
    if entry.broken & {"secrets", "verify"}:
        return
    if is_open(entry) and entry.secrets:
        context.error(
            "verify-conflict",
            "'verify: none' and 'secrets' contradict each other",
            entry.key_at("verify"),
        )
    provider = provider_of(context, entry)
    if not is_open(entry) and provider is not None and not provider.signed:
        named = entry.provider.value if entry.provider else provider.name
        context.error(
            "nothing-verified",
            f"the provider '{named}' verifies nothing",
            entry.at("provider"),
            "write 'verify: none' to accept everybody",
        )
    elif not is_open(entry) and provider is not None and (missing := provider.missing):
        context.error(
            "missing-key",
            f"this endpoint's 'verify' must say '{missing}'",
            entry.at("verify") if entry.verify else entry.node,
            "without it requests meant for others would be accepted",
        )
    elif not is_open(entry) and not entry.secrets and not (provider and provider.keyless):
        context.error(
            "nothing-verified",
            "this endpoint has no 'secrets', so nothing could be verified",
            entry.node,
            "name a secret, or write 'verify: none' to accept everybody",
        )


def _addresses(context: LoadContext, entry: EndpointEntry, prefix: str) -> tuple[str, ...]:
    found = []
    if (text := setting(context, entry.id)) is not None:
        _endpoint_id(context, text)
        found.append(f"{prefix}/wh_{text.value}")
    for path in entry.paths or ():
        if (text := setting(context, path)) is not None:
            if not PATH.fullmatch(text.value):
                message = f"'{text.shown}' is not a path like '/webhooks/shop'"
                context.error("bad-path", message, text)
            found.append(prefix + text.value)
    if entry.id is None and not entry.paths and not entry.broken & {"id", "paths"}:
        context.error(
            "no-address", "this endpoint has no address", entry.node, "give it an 'id' or 'paths'"
        )
    return tuple(found)


def _public_url(context: LoadContext, entry: EndpointEntry, base_url: str) -> str:
    """What the sender was told: the endpoint's own, else the beginning of `base_url`."""
    if (text := setting(context, entry.public_url)) is not None:
        return plain_url(context, text, "hooks.example.com/shop")
    provider, given = provider_of(context, entry), context.file.server
    if provider is None or not provider.signs_url or is_open(entry):
        return ""
    if given is None or given.base_url is None:
        context.error(
            "address-unknown",
            f"the provider '{provider.name}' signs the address that it was told, which is not here",
            entry.at("provider"),
            "set `server.base_url`, or `public_url` of this endpoint",
        )
    url = urlsplit(base_url)
    return f"{url.scheme}://{url.netloc}"


def _endpoint_id(context: LoadContext, text: SourceText) -> None:
    if not ENDPOINT_ID.fullmatch(text.value):
        context.error(
            "bad-endpoint-id",
            f"'{text.shown}' cannot be an endpoint id: use 16 to 128 of A-Z a-z 0-9 _ -",
            text,
        )
    elif len(text.value) < _ID_MIN:
        context.warning(
            "short-endpoint-id",
            f"the endpoint id is shorter than {_ID_MIN} characters, so it can be guessed",
            text,
            "`router new endpoint` makes a good one",
        )


def _shared(
    context: LoadContext,
    name: SourceText,
    entry: EndpointEntry,
    addresses: tuple[tuple[str, ...], dict[str, str]],
) -> None:
    own, taken = addresses
    for at, address in enumerate(own):
        first = taken.setdefault(address, name.value)
        if first != name.value or address in own[:at]:
            node = entry.at("id") if address.endswith(f"/wh_{_id(entry)}") else entry.at("paths")
            whose = f"endpoint '{first}'" if first != name.value else "this endpoint twice"
            context.error(
                "shared-address", f"the address '{address[:80]}' belongs to {whose} already", node
            )
            return


def _id(entry: EndpointEntry) -> str:
    return entry.id.text.value if entry.id is not None and entry.id.text is not None else ""


def _endpoint(context: LoadContext, name: str, entry: EndpointEntry) -> Endpoint:
    provider = provider_of(context, entry)
    return Endpoint(
        name=name,
        provider=provider.name if provider else "",
        addresses=(),
        secrets=tuple(secret.value for secret in entry.secrets or ()),
        unsigned=is_open(entry),
        body_max=entry.body_max or (provider.body_max if provider else MIB),
        dedupe=_dedupe(context, entry.dedupe),
        tolerance_s=None if entry.tolerance is None else max(1, entry.tolerance // 1_000),
        allow_from=apis.allow_from(context, entry, provider),
        replay_guard=bool(entry.replay_guard),
        on_redelivery=entry.on_redelivery or "ignore",
        answer=_usual_answer(provider),
        api=apis.api(context, entry, provider),
        api_version=apis.api_version(context, entry, provider),
        expect_every=entry.expect_every,
        recover=recovering(context, entry, provider),
    )


def _usual_answer(provider: Provider | None) -> FixedAnswer | None:
    usual = None if provider is None else provider.definition.answer
    return None if usual is None else FixedAnswer(usual.status, usual.type, (usual.body,))


def _dedupe(context: LoadContext, entry: DedupeEntry | None) -> Dedupe:
    if entry is None:
        return Dedupe()
    context.above_zero(entry)
    key = entry.key.value if entry.key and entry.mode is None else None
    mode = entry.mode or ("id" if entry.key is None else "key")
    return Dedupe(mode, key, entry.window or Dedupe().window_ms)
