"""`router send`: a delivery as the sender would make it, signature and all."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from router.cli.completion_values import endpoint_names, event_names
from router.cli.last_request import SentRequest, forget, last_of, remember
from router.cli.options import Options, addressed, place_options
from router.cli.output import print_json
from router.cli.send_requests import (
    SendOptions,
    SendResult,
    Signer,
    fresh,
    is_expected,
    parse_assignment,
    send_each,
)
from router.errors import UsageError
from router.legible import visible
from router.model.settings import OWN, Endpoint
from router.providers import Provider
from router.rules.ruleset import Ruleset

_LINES_MAX = 10


@click.command()
@click.argument("endpoint", shell_complete=endpoint_names)
@click.argument("event", required=False, shell_complete=event_names)
@place_options("dev", "store", "listen")
@click.option(
    "--set",
    "assignments",
    metavar="A.B=V",
    multiple=True,
    help="Change the sample: JSON or text (a number stays text where the sender sends text).",
)
@click.option("--payload", metavar="FILE", help="The bytes to send (- is stdin).")
@click.option("--to", metavar="URL", help="Another router (8010), or a whole address.")
@click.option("--count", type=click.IntRange(1, 1_000_000), default=1, help="How many requests.")
@click.option("--handshake", is_flag=True, help="Ask what this sender asks before it sends.")
@click.option("--again", is_flag=True, help="Send the last request again, byte for byte.")
@click.option("--tamper", type=click.Choice(("signature", "body")), help="Send a forgery.")
@click.option("--force", is_flag=True, help="Send an event that is not in this sender's list.")
@click.option("--key", type=click.Path(path_type=Path), help="The private key to sign with (PEM).")
@click.pass_context
def send(
    ctx: click.Context, /, *, place: Options, assignments: tuple[str, ...], **given: Any
) -> None:
    """
    Send EVENT to ENDPOINT, really signed, with new ids each time.

    The payload is a believable sample. Exit code 0 for a 2xx answer, else 1; with --tamper 0 for a
    refusal, else 1.
    """
    options = SendOptions(assignments=tuple(map(parse_assignment, assignments)), **given)
    place, ruleset = place.working()
    _refuse_contradictions(options, ruleset)
    results = _send(place, ruleset, options)
    if not all(is_expected(r, options) for r in results):
        ctx.exit(1)


def _send(place: Options, ruleset: Ruleset, options: SendOptions) -> list[SendResult]:
    folder = ruleset.server.state.parent
    requests = _requests(place, ruleset, options)
    lasting = not (options.tamper or options.again or options.handshake)
    if _redacts(ruleset, options):
        lasting = False
        forget(folder, options.endpoint)

    def kept() -> Iterator[SentRequest]:
        for number, request in enumerate(requests, start=1):
            if number == options.count and lasting:
                remember(folder, options.endpoint, request)
            yield request

    results = list(send_each(kept(), options, ruleset))
    if place.as_json:
        print_json(results)
        return results
    for result in results[:_LINES_MAX]:
        click.echo(_line(result, options))
    if len(results) > _LINES_MAX:
        counts = Counter(result.status for result in results)
        each = ", ".join(f"{n} × {status}" for status, n in sorted(counts.items()))
        slowest = max(r.took_ms for r in results)
        click.echo(f"… {len(results)} requests in all: {each}; the slowest took {slowest} ms")
    return results


def _requests(place: Options, ruleset: Ruleset, options: SendOptions) -> Iterator[SentRequest]:
    if options.handshake:
        return Signer(place, ruleset, options).questions()
    if not options.again:
        return fresh(Signer(place, ruleset, options), options)
    if _redacts(ruleset, options):
        raise UsageError(f"requests to {options.endpoint} are not kept, as it redacts: send anew")
    last = last_of(ruleset.server.state.parent, options.endpoint)
    if last is None:
        raise UsageError(f"nothing was sent to {options.endpoint} yet; send once without --again")
    return iter([last] * options.count)


def _redacts(ruleset: Ruleset, options: SendOptions) -> bool:
    """Whether what is taken out of the store must not stay in a file beside it."""
    endpoint = ruleset.endpoints.get(options.endpoint)
    return endpoint is not None and endpoint.redact is not None


def _line(result: SendResult, options: SendOptions) -> str:
    line = f"{result.status} {visible(result.answer[:500])}  {result.took_ms} ms"
    if options.tamper is None:
        return line
    if is_expected(result, options):
        return f"{line}  refused, as expected"
    return f"{line}  NOT refused: a forgery must get 401 or 403"


def _refuse_contradictions(options: SendOptions, ruleset: Ruleset) -> None:
    if options.endpoint == OWN:
        raise UsageError(
            "nobody sends the router's own events; try one by a test: "
            "`send: {endpoint: router, event: job.dead}`"
        )
    endpoint = addressed(ruleset, options.endpoint)
    provider = ruleset.providers[endpoint.provider]
    for wrong, words in _contradictions(options, endpoint, provider):
        if wrong:
            raise UsageError(words)


def _contradictions(
    options: SendOptions, endpoint: Endpoint, provider: Provider
) -> tuple[tuple[object, str], ...]:
    """What contradicts itself if it is truthy, and the words for it."""
    changed = options.assignments or options.payload or options.tamper or options.key
    return (
        (
            options.again and changed,
            "--again repeats the last bytes; leave other options out",
        ),
        (
            options.handshake and (options.event or options.again or options.count > 1 or changed),
            "--handshake asks what the sender asks; leave other options out",
        ),
        (
            options.handshake and not any(one.visit is None for one in provider.definition.respond),
            f"{provider.label} asks nothing before it sends",
        ),
        (
            not (options.again or options.handshake or options.event is not None),
            f"name an event: `router send {options.endpoint} EVENT`, or use --again",
        ),
        (
            options.tamper and (endpoint.unsigned or not provider.signed),
            f"endpoint {endpoint.name} is unsigned: a forgery cannot be detected",
        ),
        (
            options.tamper == "body" and not provider.definition.verify.signs_body,
            f"{provider.label} does not sign the body; use --tamper signature",
        ),
    )
