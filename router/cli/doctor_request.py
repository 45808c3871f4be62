"""`router doctor --refused` and `--request`: one request, and why it is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from router.cli.admin import AdminClient
from router.cli.captured_request import read_captured, request_of
from router.cli.new_provider import given_secret
from router.cli.options import Options, addressed
from router.cli.output import print_json, timestamp
from router.clock import SystemClock
from router.diagnosis.causes import DiagnosisFinding
from router.diagnosis.diagnose import DiagnosisInput, OtherEndpoint, diagnose
from router.errors import NotFound, SecretMissing, UsageError
from router.legible import visible
from router.model.delivery import InboundRequest, LiveSecret
from router.model.fetched import Fetched
from router.model.settings import Endpoint
from router.operator.times import dates
from router.rules.ruleset import Ruleset
from router.wiring.dev import DevFile
from router.wiring.secret_values import secret_value


class ExaminedRequest(msgspec.Struct, frozen=True):
    """A request to look into: whose it is, and what the router said of it, if it did."""

    endpoint: str
    request: InboundRequest
    reason: str | None = None
    cut: bool = False
    hint: str | None = None


def has_cause(place: Options, endpoint: str | None, given: dict[str, Any]) -> bool:
    """Examine the request that the options name, print the causes; True: it should be refused."""
    place, ruleset = place.beside()
    if endpoint is not None:
        addressed(ruleset, endpoint)
    secret = given_secret(given["secret_env"], given["secret_file"])
    examined = (
        _from_file(given["file"], ruleset, endpoint)
        if given["file"]
        else _from_server(place, ruleset, given["refused"], endpoint)
    )
    findings = _findings(examined, place, ruleset, secret)
    if place.as_json:
        at = examined.request.received_at or None
        answer = {"endpoint": examined.endpoint, "at": at, "reason": examined.reason}
        answer |= {"hint": examined.hint} if examined.hint else {}
        print_json(dates(answer) | {"findings": findings})
    else:
        _print_findings(examined, findings)
    return any(finding.code not in ("genuine", "unsigned") for finding in findings)


def _from_file(file: Path, ruleset: Ruleset, endpoint: str | None) -> ExaminedRequest:
    """
    The request in a file; its endpoint by name, by its address, or the only one there is.

    Raises:
        UsageError: there is none, or nothing says which endpoint it is for.
    """
    request = read_captured(file)
    path = request.raw_path.decode("latin-1")
    named = [e.name for e in ruleset.addressed.values() if path in e.addresses]
    fitting = named or list(ruleset.addressed)
    if endpoint is None and len(fitting) != 1:
        raise UsageError(
            f"name the endpoint that the request is for: {', '.join(ruleset.addressed)}"
        )
    return ExaminedRequest(endpoint or fitting[0], request)


def _from_server(
    place: Options, ruleset: Ruleset, wanted: str, endpoint: str | None
) -> ExaminedRequest:
    """
    The refused request that the running server keeps.

    Raises:
        click.ClickException: none runs, or it keeps none; the text says how to have it keep them.
    """
    with AdminClient.of(place, ruleset) as client:
        try:
            found = client.refusal(wanted, endpoint)
        except (click.ClickException, NotFound) as error:
            # The reason and hint of the newest refusal: what is known of it at least.
            hints = (
                f"; the newest refusal was {one['reason']}: {one['hint']}"
                for one in client.refusals(500).refusals
                if endpoint in (None, one.get("endpoint")) and one.get("hint")
            )
            raise click.ClickException(str(error) + next(hints, "")) from None
        said = (
            one.get("hint") for one in client.refusals(500).refusals if one.get("kept") == found.id
        )
        hint = next(said, None)
    request = request_of(msgspec.to_builtins(found), Path("the server's answer"))
    return ExaminedRequest(found.endpoint, request, found.reason, found.cut, hint)


def _findings(
    examined: ExaminedRequest, place: Options, ruleset: Ruleset, given: bytes | None
) -> tuple[DiagnosisFinding, ...]:
    endpoint = ruleset.addressed.get(examined.endpoint)
    if endpoint is None:
        raise UsageError(f"the rules file has no endpoint {examined.endpoint!r}")
    if examined.cut:
        return (_CUT,)
    request = msgspec.structs.replace(examined.request, public_url=endpoint.public_url)
    case = _case(request, place, ruleset, endpoint, given)
    fetched = _fetched(place, ruleset) if case.provider.proved_elsewhere else {}
    return diagnose(request, msgspec.structs.replace(case, reason=examined.reason, fetched=fetched))


def _fetched(place: Options, ruleset: Ruleset) -> Mapping[str, Fetched]:
    """How the running server's fetches go; nothing if none answers."""
    try:
        with AdminClient.of(place, ruleset) as client:
            return client.status().fetched
    except click.ClickException:
        return {}


_CUT = DiagnosisFinding(
    "not_kept",
    False,
    "its body is over 256 KiB and was not kept",
    "capture the request and give it with --request FILE",
)


def _case(
    request: InboundRequest,
    place: Options,
    ruleset: Ruleset,
    endpoint: Endpoint,
    given: bytes | None,
) -> DiagnosisInput:
    now = SystemClock().now()
    came = request.received_at or None
    dev_file = DevFile.load(DevFile.path_for(place.rules)) if place.dev else None
    values = _values(ruleset, place.environ, dev_file)
    live, ended = _split(ruleset, endpoint, values, came or now)
    return DiagnosisInput(
        endpoint.name,
        ruleset.providers[endpoint.provider],
        live,
        now,
        ended=ended,
        others=tuple(
            OtherEndpoint(
                e.name, ruleset.providers[e.provider], _split(ruleset, e, values, came or now)[0]
            )
            for e in ruleset.addressed.values()
            if e.name != endpoint.name and e.secrets
        ),
        known=ruleset.providers,
        came_ms=came,
        tolerance_s=endpoint.tolerance_s,
        unsigned=endpoint.unsigned,
        given=() if given is None else (LiveSecret("the secret given", given),),
    )


def _values(
    ruleset: Ruleset, environ: Mapping[str, str], dev_file: DevFile | None
) -> dict[str, bytes]:
    """Every secret that has a value here."""
    found = {}
    for name, ref in ruleset.secrets.items():
        try:
            found[name] = secret_value(ref, environ)
        except SecretMissing:
            if dev_file is not None and name in dev_file.verify:
                found[name] = dev_file.verify[name]
    return found


def _split(
    ruleset: Ruleset, endpoint: Endpoint, values: Mapping[str, bytes], at_ms: int
) -> tuple[tuple[LiveSecret, ...], tuple[LiveSecret, ...]]:
    """The endpoint's secrets that were valid then, and those that had ended (`until`)."""
    known = [ruleset.secrets[name] for name in endpoint.secrets if name in values]
    live = [ref for ref in known if ref.until is None or ref.until > at_ms]
    both = live, [ref for ref in known if ref not in live]
    first, second = (tuple(LiveSecret(ref.name, values[ref.name]) for ref in one) for one in both)
    return first, second


def _print_findings(examined: ExaminedRequest, findings: tuple[DiagnosisFinding, ...]) -> None:
    """Words for people: what it is, then each cause and its fix."""
    request = examined.request
    when = f" of {timestamp(request.received_at)}" if request.received_at else ""
    refused = f", refused as {examined.reason}" if examined.reason else ""
    if examined.hint and any(finding.code == "hidden" for finding in findings):
        # What was removed can tell no more than it did when it came.
        refused += f": {visible(examined.hint)}"
    path = visible(request.raw_path.decode("latin-1"))
    size = f"{len(request.body)} bytes of body"
    click.echo(f"request{when} to endpoint {examined.endpoint} ({path}, {size}){refused}")
    for finding in findings:
        sure = "found" if finding.sure else "perhaps"
        click.echo(f"  {sure:<8} {finding.code}: {visible(finding.says)}")
        click.echo(f"  {'':<8} → {visible(finding.fix)}")
