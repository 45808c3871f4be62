"""`router send`: a delivery as the sender would make it, signature and all."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from router.cli.completion_values import endpoint_names, event_names
from router.cli.last_request import SentRequest, last_of, remember
from router.cli.options import Options, place_options
from router.cli.output import print_json, print_table, visible
from router.cli.send_requests import SendOptions, SendResult, Signer, as_hoped, fresh, send_each
from router.cli.set_values import parse_assignment
from router.errors import UsageError
from router.model.settings import OWN
from router.providers import Provider
from router.providers.read import dug
from router.rules.ruleset import Ruleset
from router.suggest import did_you_mean

_LINES_MAX = 10


class SentEvent(msgspec.Struct, frozen=True):
    """One event of the catalogue, sent."""

    event: str
    action: str | None
    status: int
    answer: str
    delivery: str | None
    took_ms: float


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
@click.option("--payload", metavar="FILE", help="Send these bytes, not the sample (- is stdin).")
@click.option("--to", metavar="URL", help="Another router (or a whole address) than `listen` here.")
@click.option("--count", type=click.IntRange(1, 1_000_000), default=1, help="So many requests.")
@click.option("--batch", type=click.IntRange(1), help="So many events in each request.")
@click.option("--all", is_flag=True, help="One of every event that this sender knows.")
@click.option("--again", is_flag=True, help="The last request to this endpoint, byte for byte.")
@click.option("--tamper", type=click.Choice(("signature", "body")), help="Send a forgery.")
@click.option("--force", is_flag=True, help="Send an event that this sender is not known to have.")
@click.option("--key", type=click.Path(path_type=Path), help="The private key to sign with (PEM).")
@click.pass_context
def send(
    ctx: click.Context, /, *, place: Options, assignments: tuple[str, ...], **given: Any
) -> None:
    """
    Send EVENT to ENDPOINT, really signed, with new ids each time.

    The payload is a believable sample. Exit code 0 for a 2xx answer, else 1; with --tamper a
    refusal is what should be, and gives 0.
    """
    wish = SendOptions(assignments=tuple(map(parse_assignment, assignments)), **given)
    place, ruleset = place.working()
    _refuse_contradictions(wish, ruleset)
    results = _send_all(place, ruleset, wish) if wish.all else _send(place, ruleset, wish)
    if not all(as_hoped(r, wish) for r in results):
        ctx.exit(1)


def _send(place: Options, ruleset: Ruleset, wish: SendOptions) -> list[SendResult]:
    build = _repeat(ruleset, wish) if wish.again else fresh(Signer(place, ruleset, wish), wish)
    keep = wish.tamper is None and not wish.again

    def requests() -> Iterator[SentRequest]:
        for number in range(wish.count):
            request = build()
            if keep and number == wish.count - 1:
                remember(ruleset.server.store, wish.endpoint, request)
            yield request

    results = list(send_each(requests(), wish, ruleset))
    if place.as_json:
        print_json(results)
    else:
        _print(results, wish)
    return results


def _send_all(place: Options, ruleset: Ruleset, wish: SendOptions) -> list[SendResult]:
    signer = Signer(place, ruleset, wish)
    names = list(dict.fromkeys(info.name for info in signer.provider.events))
    requests = (signer.request(name, signer.sample(name)) for name in names)
    results = list(send_each(requests, wish, ruleset))
    tried = [
        SentEvent(name, _action(signer.provider, name), r.status, r.answer, r.delivery, r.took_ms)
        for name, r in zip(names, results, strict=True)
    ]
    if place.as_json:
        print_json(tried)
    else:
        print_table(("event", "status", "delivery"), [_cells(t) for t in tried])
        bad = sum(not as_hoped(r, wish) for r in results)
        click.echo(f"{len(results)} events sent, " + (f"{bad} not as hoped" if bad else "all well"))
    return results


def _action(provider: Provider, name: str) -> str | None:
    """The action that the sample of this event has."""
    source, payload = provider.definition.action, provider.sample(name)
    found = [dug(payload, path) for path in source.paths] if source is not None else []
    return next((action for action in found if isinstance(action, str)), None)


def _cells(tried: SentEvent) -> list[str]:
    event = f"{tried.event}.{tried.action}" if tried.action else tried.event
    return [event, str(tried.status), tried.delivery or tried.answer[:60] or "-"]


def _refuse_contradictions(wish: SendOptions, ruleset: Ruleset) -> None:
    if wish.endpoint == OWN:
        raise UsageError(
            "nobody sends the router's own events; try one by a test: "
            "`send: {endpoint: router, event: job.dead}`"
        )
    if wish.endpoint not in ruleset.addressed:
        hint = did_you_mean(wish.endpoint, ruleset.addressed)
        known = ", ".join(ruleset.addressed) or "none"
        raise UsageError(f"no endpoint {wish.endpoint!r}; {hint or f'the file has: {known}'}")
    if wish.all:
        _refuse_with_all(wish)
    elif wish.again and (wish.assignments or wish.payload or wish.tamper or wish.key or wish.batch):
        raise UsageError("--again repeats the last bytes; leave other options out")
    elif not wish.again and wish.event is None:
        raise UsageError(
            f"name an event: `router send {wish.endpoint} EVENT`, or use --again or --all"
        )
    endpoint = ruleset.endpoints[wish.endpoint]
    if wish.batch is not None:
        _refuse_batch(wish, ruleset.providers[endpoint.provider])
    if wish.tamper and (endpoint.unsigned or not ruleset.providers[endpoint.provider].signed):
        raise UsageError(f"endpoint {endpoint.name} is unsigned: no forgery can be told apart")


def _refuse_with_all(wish: SendOptions) -> None:
    single = {
        "an event": wish.event,
        "--again": wish.again,
        "--payload": wish.payload,
        "--batch": wish.batch,
        "--count": wish.count > 1,
    }
    given = [name for name, value in single.items() if value]
    if given:
        raise UsageError(f"--all sends one of every event; leave {' and '.join(given)} out")


def _refuse_batch(wish: SendOptions, provider: Provider) -> None:
    most = provider.definition.split
    if most is None:
        raise UsageError(f"{provider.label} sends one event a delivery; use --count, not --batch")
    if wish.payload is not None:
        raise UsageError("--payload is a whole body already; leave --batch out")
    if wish.batch is not None and wish.batch > most:
        raise UsageError(f"{provider.label} sends at most {most:,} events a delivery")


def _repeat(ruleset: Ruleset, wish: SendOptions) -> Callable[[], SentRequest]:
    last = last_of(ruleset.server.store, wish.endpoint)
    if last is None:
        raise UsageError(f"nothing was sent to {wish.endpoint} yet; send once without --again")
    return lambda: last


def _print(results: list[SendResult], wish: SendOptions) -> None:
    for result in results[:_LINES_MAX]:
        click.echo(_line(result, wish))
    if len(results) > _LINES_MAX:
        click.echo(f"… {len(results)} requests in all: {_tally(results)}")


def _line(result: SendResult, wish: SendOptions) -> str:
    word = f"{result.status} {visible(result.answer[:500])}  {result.took_ms} ms"
    if wish.tamper is None:
        return word
    if as_hoped(result, wish):
        return f"{word}  refused, as it should be"
    return f"{word}  NOT refused: a forgery must get 401 or 403"


def _tally(results: list[SendResult]) -> str:
    counts: dict[int, int] = {}
    for result in results:
        counts[result.status] = counts.get(result.status, 0) + 1
    slowest = max(r.took_ms for r in results)
    each = ", ".join(f"{n} × {status}" for status, n in sorted(counts.items()))
    return f"{each}; the slowest took {slowest} ms"
