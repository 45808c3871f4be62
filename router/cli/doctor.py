"""`router doctor`: why deliveries do not come, or are refused."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from router.cli.completion_values import endpoint_names
from router.cli.options import Options, place_options
from router.cli.output import print_json
from router.errors import UsageError
from router.suggest import did_you_mean

if TYPE_CHECKING:
    from router.cli.doctor_check import Check
    from router.cli.doctor_online import EndpointHistory, ServerStatus
    from router.model.settings import Endpoint
    from router.rules.ruleset import Ruleset

RIGHT = frozenset({"genuine", "unsigned"})


@click.command()
@click.argument("endpoint", required=False, shell_complete=endpoint_names)
@place_options("dev", "store", "listen", "admin", "server")
@click.option("--refused", metavar="ID|last", help="A request that the running server refused.")
@click.option(
    "--request",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A captured request: its HTTP text, or JSON with headers and body.",
)
@click.option("--secret-env", metavar="NAME", help="A variable with another secret to try.")
@click.option(
    "--secret-file", type=click.Path(path_type=Path), help="A file with another secret to try."
)
@click.option("--offline", is_flag=True, help="Only the file and its secrets; ask nobody.")
@click.pass_context
def doctor(ctx: click.Context, /, *, place: Options, endpoint: str | None, **given: Any) -> None:
    """
    Look for the usual causes of deliveries that do not come to ENDPOINT (all), or are refused.

    With --refused or --request: why that one request is refused, by proof where there is one.
    Nothing is changed and no secret is shown. Exit code 0: no problem found; 1: problems.
    """
    _refuse_contradictions(given)
    if given["refused"] or given["file"]:
        bad = _one_request(place, endpoint, given)
    else:
        bad = _check_up(place, endpoint, offline=given["offline"])
    if bad:
        ctx.exit(1)


def _refuse_contradictions(given: dict[str, Any]) -> None:
    if given["refused"] and given["file"]:
        raise UsageError("--refused and --request both name a request; give one")
    one = given["refused"] or given["file"]
    if given["offline"] and one:
        raise UsageError("--offline is for the check-up; leave it out")
    if not one and (given["secret_env"] or given["secret_file"]):
        raise UsageError("a secret to try needs a request: --refused last, or --request FILE")


def _one_request(place: Options, endpoint: str | None, given: dict[str, Any]) -> bool:
    from router.cli import doctor_request
    from router.cli.new_provider import given_secret

    place, ruleset = place.beside()
    if endpoint is not None:
        _known(ruleset, endpoint)
    secret = given_secret(given["secret_env"], given["secret_file"])
    if given["file"]:
        asked = doctor_request.from_file(given["file"], ruleset, endpoint)
    else:
        asked = doctor_request.from_server(place, ruleset, given["refused"], endpoint)
    findings = doctor_request.findings_of(asked, place, ruleset, secret)
    if place.as_json:
        print_json(doctor_request.as_json(asked, findings))
    else:
        doctor_request.print_findings(asked, findings)
    return any(finding.code not in RIGHT for finding in findings)


def _check_up(place: Options, endpoint: str | None, *, offline: bool) -> bool:
    from router.cli import doctor_check, doctor_online
    from router.cli.doctor_offline import of_file

    loaded = place.loaded()
    checks = [of_file(loaded, str(place.rules))]
    if loaded.ruleset is not None:
        found, ruleset = place.beside()
        chosen = [_known(ruleset, endpoint)] if endpoint else list(ruleset.addressed.values())
        told = None if offline else doctor_online.ask_server(found, ruleset)
        if told is None or told.status is None:
            # What is left of a server of development says nothing of what `serve` would need.
            found = msgspec.structs.replace(found, dev=place.dev)
        checks += _checks(found, ruleset, chosen, told)
    if place.as_json:
        print_json(doctor_check.as_json(checks))
    else:
        doctor_check.print_checks(checks, str(place.rules))
    return doctor_check.problems(checks) > 0


def _known(ruleset: "Ruleset", name: str) -> "Endpoint":
    found = ruleset.addressed.get(name)
    if found is None:
        hint = did_you_mean(name, ruleset.addressed)
        known = ", ".join(ruleset.addressed) or "none"
        raise UsageError(f"no endpoint {name!r}; {hint or f'the file has: {known}'}")
    return found


def _checks(
    place: Options, ruleset: "Ruleset", endpoints: Sequence["Endpoint"], told: "ServerStatus | None"
) -> list["Check"]:
    """`told` is what the running server says, None if nobody is to be asked."""
    from router.cli import doctor_offline, doctor_online, doctor_refused
    from router.cli.doctor_check import unknown
    from router.wiring.management import base_of

    checks = [doctor_offline.of_base_url(ruleset.server.base_url, dev=place.dev)]
    if told is None:
        checks.append(unknown("server", "--offline asks nobody", "leave --offline out"))
        for endpoint in endpoints:
            checks += _offline(place, ruleset, endpoint)
        return checks
    checks += doctor_online.of_server(told, ruleset, here=place.server is None)
    kept, facts = _stored(place, ruleset, endpoints)
    ways = asyncio.run(doctor_online.of_addresses(ruleset, endpoints))
    running = told.status is not None
    for endpoint in endpoints:
        checks += _offline(place, ruleset, endpoint, running=running and not place.dev)
        checks += ways[endpoint.name]
        checks += doctor_online.of_ranges(told, endpoint, base_of(ruleset, endpoint))
        if place.server is None:
            checks += _stored_checks(ruleset, endpoint, kept[endpoint.name], facts)
        else:
            says = "the store of a server elsewhere is not read"
            checks.append(unknown("heard", says, "run this beside the server", endpoint.name))
        keeping = place.dev or ruleset.server.keep_refused
        checks += doctor_refused.of_refusals(told, endpoint, kept[endpoint.name], keeping=keeping)
    return checks


def _offline(
    place: Options, ruleset: "Ruleset", endpoint: "Endpoint", *, running: bool = False
) -> list["Check"]:
    from router.cli import doctor_offline as offline
    from router.clock import SystemClock
    from router.wiring.dev import DevFile

    dev_file = DevFile.load(DevFile.path_for(place.rules)) if place.dev else None
    now = SystemClock().now()
    return [
        *offline.of_secrets(ruleset, endpoint, place.environ, dev_file, now, running=running),
        *offline.of_senders(ruleset, endpoint),
        *offline.of_events(ruleset, endpoint),
        *offline.of_version(ruleset, endpoint),
    ]


def _stored_checks(
    ruleset: "Ruleset", endpoint: "Endpoint", kept: "EndpointHistory", facts: dict[str, Any]
) -> list["Check"]:
    from router.cli import doctor_online as online
    from router.clock import SystemClock

    provider = ruleset.providers[endpoint.provider]
    return [
        *online.of_subscriptions(ruleset, endpoint, facts),
        *online.of_deliveries(kept, endpoint, SystemClock().now()),
        *online.of_topics(kept, endpoint, provider),
    ]


def _stored(
    place: Options, ruleset: "Ruleset", endpoints: Sequence["Endpoint"]
) -> tuple[dict[str, "EndpointHistory"], dict[str, Any]]:
    """What the store knows of each endpoint, and the subscriptions made from here."""
    from router.cli.doctor_online import EndpointHistory, read_kept

    empty = {endpoint.name: EndpointHistory() for endpoint in endpoints}
    if place.server is not None or not Path(ruleset.server.store).exists():
        return empty, {}

    async def read() -> tuple[dict[str, EndpointHistory], dict[str, Any]]:
        from router.model.subscription import FACTS
        from router.store.sqlite.reader import open_reader

        reader = open_reader(ruleset.server.store)
        try:
            kept = {e.name: await read_kept(reader, ruleset, e) for e in endpoints}
            return kept, dict(await reader.recall(FACTS))
        finally:
            await reader.close()

    return asyncio.run(read())
