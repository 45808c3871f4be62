"""`router doctor --refused` and `--request`: one request, and why it is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import msgspec

from router.cli.admin import AdminClient
from router.cli.captured_request import read_captured, request_of
from router.cli.options import Options
from router.cli.output import moment, visible
from router.clock import SystemClock
from router.diagnosis.causes import DiagnosisFinding
from router.diagnosis.diagnose import Case, Other, diagnose
from router.errors import NotFound, SecretMissing, UsageError
from router.model.delivery import InboundRequest, LiveSecret
from router.model.settings import Endpoint
from router.rules.ruleset import Ruleset
from router.wiring.dev import DevFile
from router.wiring.secret_values import secret_value


class ExaminedRequest(msgspec.Struct, frozen=True):
    """A request to look into: whose it is, and what the router said of it, if it did."""

    endpoint: str
    request: InboundRequest
    reason: str | None = None
    cut: bool = False


def from_file(file: Path, ruleset: Ruleset, endpoint: str | None) -> ExaminedRequest:
    """
    The request in a file; its endpoint by name, by its address, or the only one there is.

    Raises:
        UsageError: there is none, or nothing says which endpoint it is for.
    """
    request = read_captured(file)
    path = request.raw_path.decode("latin-1")
    fitting = [e.name for e in ruleset.addressed.values() if path in e.addresses]
    name = endpoint or next(iter(fitting or _only(ruleset)), None)
    if name is None:
        known = ", ".join(ruleset.addressed)
        raise UsageError(f"name the endpoint that the request is for: {known}")
    return ExaminedRequest(name, request)


def _only(ruleset: Ruleset) -> list[str]:
    return list(ruleset.addressed) if len(ruleset.addressed) == 1 else []


def from_server(
    place: Options, ruleset: Ruleset, wanted: str, endpoint: str | None
) -> ExaminedRequest:
    """
    The refused request that the running server keeps.

    Raises:
        click.ClickException: none runs, or it keeps none; the text says how to have it keep them.
    """
    with AdminClient.of(place, ruleset) as door:
        try:
            found = door.refusal(wanted, endpoint)
        except (click.ClickException, NotFound) as error:
            raise click.ClickException(str(error) + _hinted(door, endpoint)) from None
    request = request_of(msgspec.to_builtins(found), Path("the server's answer"))
    return ExaminedRequest(found.endpoint, request, found.reason, found.cut)


def _hinted(door: AdminClient, endpoint: str | None) -> str:
    """What the ring says at least: the reason and hint of the newest refusal."""
    for one in door.refusals(500).refusals:
        if endpoint in (None, one.get("endpoint")) and one.get("hint"):
            return f"; the newest refusal was {one['reason']}: {one['hint']}"
    return ""


def findings_of(
    asked: ExaminedRequest,
    place: Options,
    ruleset: Ruleset,
    given: bytes | None,
) -> tuple[DiagnosisFinding, ...]:
    """
    The causes.

    Raises:
        UsageError: the file has no such endpoint.
    """
    endpoint = ruleset.addressed.get(asked.endpoint)
    if endpoint is None:
        raise UsageError(f"the rules file has no endpoint {asked.endpoint!r}")
    if asked.cut:
        return (_CUT,)
    return diagnose(asked.request, _case(asked.request, place, ruleset, endpoint, given))


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
) -> Case:
    now = SystemClock().now()
    came = request.received_at or None
    judged_at = came or now
    dev_file = DevFile.load(DevFile.path_for(place.rules)) if place.dev else None
    values = _values(ruleset, place.environ, dev_file)
    live, ended = _split(ruleset, endpoint, values, judged_at)
    return Case(
        endpoint.name,
        ruleset.providers[endpoint.provider],
        live,
        now,
        ended=ended,
        others=tuple(
            Other(e.name, ruleset.providers[e.provider], _split(ruleset, e, values, judged_at)[0])
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
    """The endpoint's secrets that verified then, and those whose day had passed."""
    live: list[LiveSecret] = []
    ended: list[LiveSecret] = []
    for name in endpoint.secrets:
        until = ruleset.secrets[name].until
        if name in values:
            side = ended if until is not None and until <= at_ms else live
            side.append(LiveSecret(name, values[name]))
    return tuple(live), tuple(ended)


def print_findings(asked: ExaminedRequest, findings: tuple[DiagnosisFinding, ...]) -> None:
    """Words for people: what it is, then each cause and its fix."""
    request = asked.request
    when = f" of {moment(request.received_at)}" if request.received_at else ""
    said = f", refused as {asked.reason}" if asked.reason else ""
    size = f"{len(request.body)} bytes of body"
    path = visible(request.raw_path.decode("latin-1"))
    click.echo(f"request{when} to endpoint {asked.endpoint} ({path}, {size}){said}")
    for finding in findings:
        sure = "found" if finding.sure else "perhaps"
        click.echo(f"  {sure:<8} {finding.code}: {visible(finding.says)}")
        click.echo(f"  {'':<8} → {visible(finding.fix)}")


def as_json(asked: ExaminedRequest, findings: tuple[DiagnosisFinding, ...]) -> dict[str, Any]:
    """For `--json`."""
    return {
        "endpoint": asked.endpoint,
        "at": asked.request.received_at or None,
        "reason": asked.reason,
        "findings": msgspec.to_builtins(list(findings)),
    }
