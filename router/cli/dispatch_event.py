"""`router dispatch-event`: trigger a repository dispatch event at GitHub."""

import asyncio
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.completion_values import endpoint_names
from router.cli.files import read_named
from router.cli.options import Options, place_options
from router.cli.output import note, print_json
from router.errors import UsageError
from router.legible import visible

if TYPE_CHECKING:
    from router.model.settings import Endpoint
    from router.provider_calls.answers import ApiAnswer
    from router.providers.management import Access
    from router.rules.ruleset import Ruleset

PROVIDER = "code-host"
TIMEOUT_S = 30.0


@click.command(name="dispatch-event")
@click.argument("repository", metavar="OWNER/REPO")
@click.argument("event_type", metavar="TYPE")
@place_options("dev")
@click.option("--payload", metavar="FILE", help="JSON for the event's client_payload (- is stdin).")
@click.option(
    "--endpoint", shell_complete=endpoint_names, help="The endpoint whose `api:` says how."
)
@click.option("--token", metavar="SECRET", help="A secret of the rules file: the access token.")
@click.option("--token-env", metavar="NAME", help="The variable that holds the access token.")
@click.option("--api-base", metavar="URL", help="Where the API is, if not where it usually is.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(0, 600, min_open=True),
    default=TIMEOUT_S,
    help="The longest wait for the answer (30).",
)
@click.pass_context
def dispatch_event(
    ctx: click.Context,
    /,
    *,
    place: Options,
    repository: str,
    event_type: str,
    payload: str | None,
    timeout: float,
    **given: Any,
) -> None:
    """
    Send OWNER/REPO a repository dispatch event of TYPE.

    The token is that of --token-env, --token, or of the endpoint's `api:`. With --token-env no
    rules file is needed.
    """
    from router.provider_calls.answers import refused
    from router.provider_calls.client import ProviderClient, hosts_of
    from router.providers.management import dispatch, is_repository

    if not is_repository(repository):
        raise UsageError(f"name a repository as OWNER/REPO, not {repository[:80]!r}")
    access, egress = _access(place, given)
    request = dispatch(access, repository, event_type, _payload(payload))

    async def send() -> "ApiAnswer":
        async with ProviderClient(
            hosts_of(access.base), egress=egress, timeout_s=timeout
        ) as client:
            return await client.send(request)

    answer = asyncio.run(send())
    words = None if answer.ok else refused(answer, access.token)
    if place.as_json:
        print_json({"repository": repository, "event_type": event_type, "words": words})
    elif words is None:
        click.echo(f"{visible(event_type)} dispatched to {repository}")
    else:
        note(f"router: {repository} refused: {visible(words)}")
    if words is not None:
        ctx.exit(1)


def _access(place: Options, given: dict[str, Any]) -> "tuple[Access, tuple[str, ...]]":
    """How the API is reached, and the ranges that names may resolve to beside public ones."""
    from router.cli.subscription_plan import (
        ApiOptions,
        checked_address,
        token_for,
        token_from_variable,
    )
    from router.providers import builtin
    from router.providers.management import Access

    rule = builtin()[PROVIDER].definition.api
    assert rule is not None  # noqa: S101 - our own definition
    usual = rule.base or ""
    base = checked_address(given["api_base"]) if given["api_base"] else None
    variable = given["token_env"]
    if variable is not None and given["endpoint"] is None and given["token"] is None:
        token = token_from_variable(place.environ, variable)
        return Access(rule, base or usual, token, PROVIDER), ()
    ruleset = place.ruleset()
    endpoint = _endpoint(ruleset, given["endpoint"], needed=given["token"] is None)
    options = ApiOptions(endpoint.name if endpoint else "", base, None, given["token"], variable)
    token = token_for(place, ruleset, options, endpoint, usual)
    base = base or _base(ruleset, endpoint, given["token"], usual)
    return Access(rule, base, token, PROVIDER), ruleset.server.egress_allow


def _base(ruleset: "Ruleset", endpoint: "Endpoint | None", token: str | None, usual: str) -> str:
    """
    Where a token belongs: at the endpoint whose own it is, else where the rules file has it.

    Raises:
        UsageError: that is several places, or none of them is the endpoint's.
    """
    from router.config.api import bases_of, dispatching

    own = (endpoint.api.base or usual) if endpoint else None
    if token is None:
        return own or usual
    apis = dispatching(ruleset.endpoints, ruleset.providers)
    bases = bases_of(token, [endpoint.name] if endpoint else [], apis, usual)
    if len(bases) == 1 and own in (None, bases[0]):
        return bases[0]
    raise UsageError(
        f"the secret {token!r} belongs to {', '.join(bases)}: name one with --api-base"
    )


def _endpoint(ruleset: "Ruleset", name: str | None, *, needed: bool) -> "Endpoint | None":
    """The endpoint named, else the only one of the code host whose `api:` has a token."""
    if name is not None:
        found = ruleset.endpoints.get(name)
        if found is None or found.provider != PROVIDER:
            raise UsageError(f"there is no endpoint {name!r} of provider github")
        return found
    fitting = [
        e for e in ruleset.endpoints.values() if e.provider == PROVIDER and e.api.token is not None
    ]
    if len(fitting) == 1:
        return fitting[0]
    if not needed:
        return None
    if not fitting:
        raise UsageError(
            "no access token is named: add --token-env VARIABLE, --token SECRET, or "
            "`api: {token: SECRET}` to an endpoint of provider github"
        )
    names = ", ".join(e.name for e in fitting)
    raise UsageError(f"several endpoints have a token; name one of {names} with --endpoint")


def _payload(file: str | None) -> Any:
    if file is None:
        return None
    data = read_named(file)
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"--payload {file} is not JSON: {error}") from None
