"""An endpoint's side of its sender's API: `api`, `api_version`, and who may deliver."""

from collections.abc import Collection, Mapping

from router.config.context import LoadContext
from router.config.environment import setting
from router.config.schema import ApiEntry, EndpointEntry
from router.config.settings import plain_url, ranges
from router.model.settings import PUBLISHED, Api, Endpoint
from router.providers import Provider
from router.providers.api import ApiRule
from router.yaml_source import SourceText


def api(context: LoadContext, entry: EndpointEntry, provider: Provider | None) -> Api:
    """`api:`, checked against what the provider's definition knows of its API."""
    spelling = entry.provider.value if entry.provider else ""
    given, rule = entry.api, provider.definition.api if provider else None
    if given is None:
        return Api(spelling=spelling)
    if rule is None:
        if provider is not None:
            _foreign(context, f"{provider.label} has no API that the router calls", entry, "api")
        return Api(spelling=spelling)
    _graphql(context, given, rule)
    base, app = setting(context, given.base), setting(context, given.app)
    if app is not None and rule.app_prefix is None:
        context.error("not-for-provider", "this provider knows no 'app'", given.key_at("app"))
    return Api(
        base=None if base is None else checked_base(context, base),
        token=context.secret(given.token) if given.token else None,
        app=None if app is None else app.value,
        graphql=bool(given.graphql) or given.graphql_path is not None,
        graphql_path=given.graphql_path.value if given.graphql_path else None,
        spelling=spelling,
    )


def api_version(
    context: LoadContext, entry: EndpointEntry, provider: Provider | None
) -> str | None:
    """`api_version:`, for senders whose deliveries name theirs."""
    if entry.api_version is not None and provider is not None and not provider.has_versions:
        _foreign(
            context, f"deliveries of {provider.label} name no API version", entry, "api_version"
        )
    return entry.api_version


def allow_from(
    context: LoadContext, entry: EndpointEntry, provider: Provider | None
) -> tuple[str, ...]:
    """CIDRs, and PUBLISHED where the ranges that the provider publishes are let in too."""
    texts = entry.allow_from or []
    published = [text for text in texts if text.value == PUBLISHED]
    if published and provider is not None and not provider.publishes_ranges:
        context.error(
            "not-for-provider",
            f"{provider.label} publishes no address ranges",
            published[0],
            "list them: [192.0.2.0/24, …]",
        )
    others = ranges(
        context,
        [text for text in texts if text.value != PUBLISHED],
        f"for the addresses that the sender publishes write {PUBLISHED}",
    )
    return (*others, PUBLISHED) if published else others


def _graphql(context: LoadContext, given: ApiEntry, rule: ApiRule) -> None:
    for key, value in (("graphql", given.graphql), ("graphql_path", given.graphql_path)):
        if value and rule.graphql is None:
            context.error("not-for-provider", f"this provider knows no '{key}'", given.key_at(key))
    if (path := given.graphql_path) is not None and not path.value.startswith("/"):
        context.error(
            "bad-path",
            f"'{path.shown}' is not a path like '/admin/api/{{api_version}}/graphql.json'",
            path,
        )
    if path is not None and given.graphql is False:
        context.error(
            "bad-value",
            "'graphql_path' says where GraphQL is, 'graphql: false' that it is not used",
            path,
        )


def dispatching(
    endpoints: Mapping[str, Endpoint], providers: Mapping[str, Provider]
) -> dict[str, Api]:
    """`api:` of every endpoint whose sender takes events of one's own."""
    rules = {name: provider.definition.api for name, provider in providers.items()}
    takes = {name for name, rule in rules.items() if rule is not None and rule.dispatch}
    return {
        name: endpoint.api for name, endpoint in endpoints.items() if endpoint.provider in takes
    }


def bases_of(
    token: str, sources: Collection[str], apis: Mapping[str, Api], usual: str
) -> list[str]:
    """
    Where a token belongs when nobody says: at the API of the endpoints that name it, else of those
    among `sources`, else of all. Several addresses: it cannot be known.
    """
    named = [api for api in apis.values() if api.token == token]
    near = named or [apis[name] for name in sources if name in apis] or apis.values()
    return sorted({api.base or usual for api in near}) or [usual]


def checked_base(context: LoadContext, text: SourceText) -> str:
    """The address of an API, without the slash at its end."""
    return plain_url(context, text, "example-shop.test", braces=False).rstrip("/")


def _foreign(context: LoadContext, message: str, entry: EndpointEntry, key: str) -> None:
    context.error("not-for-provider", message, entry.key_at(key), f"leave '{key}' out")
