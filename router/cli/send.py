"""`router send`: a delivery as the sender would make it, signature and all."""

import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import msgspec

from router import __version__
from router.cli.admin import loopback
from router.cli.last_request import Request, last_of, remember
from router.cli.output import note, print_json, visible
from router.cli.place import Place, place_options
from router.cli.set_values import parse_assignment, set_value
from router.clock import SystemClock
from router.errors import UsageError
from router.model.settings import Endpoint
from router.providers import Provider
from router.rules.ruleset import Ruleset

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 60.0
_LINES_MAX = 10
_EVENT_BYTES_MAX = 256

Bodies = Callable[[], bytes]
"""Makes the body of one more request, its ids new."""


class Result(msgspec.Struct, frozen=True):
    """One request's answer. `took_ms` runs from the first byte out to the last byte in."""

    status: int
    answer: str
    delivery: str | None
    took_ms: float


class Wish(msgspec.Struct, frozen=True):
    """What the command line asks of the request."""

    endpoint: str
    event: str | None
    assignments: tuple[tuple[str, Any], ...]
    payload: str | None
    to: str | None
    count: int
    again: bool
    tamper: str | None
    key: Path | None


@click.command()
@click.argument("endpoint")
@click.argument("event", required=False)
@place_options("dev", "store", "listen")
@click.option(
    "--set", "assignments", metavar="A.B=V", multiple=True, help="Change the sample: JSON or text."
)
@click.option("--payload", metavar="FILE", help="Send these bytes, not the sample (- is stdin).")
@click.option("--to", metavar="URL", help="Another router (or a whole address) than `listen` here.")
@click.option("--count", type=click.IntRange(1, 1_000_000), default=1, help="So many requests.")
@click.option("--again", is_flag=True, help="The last request to this endpoint, byte for byte.")
@click.option("--tamper", type=click.Choice(("signature", "body")), help="Send a forgery.")
@click.option("--key", type=click.Path(path_type=Path), help="The private key to sign with (PEM).")
@click.pass_context
def send(
    ctx: click.Context, /, *, place: Place, assignments: tuple[str, ...], **given: Any
) -> None:
    """
    Send EVENT to ENDPOINT, really signed, with new ids each time.

    The payload is a believable sample. Exit code 0 for a 2xx answer, else 1; with --tamper a
    refusal is what should be, and gives 0.
    """
    wish = Wish(assignments=tuple(map(parse_assignment, assignments)), **given)
    place, ruleset = place.working()
    _refuse_contradictions(wish, ruleset)
    endpoint = ruleset.endpoints[wish.endpoint]
    build = _repeat(ruleset, wish) if wish.again else _fresh(place, ruleset, endpoint, wish)
    results = _send_all(build, wish, ruleset, keep=wish.tamper is None)
    if place.as_json:
        print_json(results)
    else:
        _print(results, wish)
    if not all(_as_hoped(r, wish) for r in results):
        ctx.exit(1)


def _refuse_contradictions(wish: Wish, ruleset: Ruleset) -> None:
    if wish.endpoint not in ruleset.endpoints:
        from router.yaml_source.suggest import Suggester

        hint = Suggester().hint(wish.endpoint, ruleset.endpoints)
        known = ", ".join(ruleset.endpoints) or "none"
        raise UsageError(f"no endpoint {wish.endpoint!r}; {hint or f'the file has: {known}'}")
    if wish.again and (wish.assignments or wish.payload or wish.tamper or wish.key):
        raise UsageError("--again repeats the last bytes; leave --set --payload --tamper --key out")
    if not wish.again and wish.event is None:
        raise UsageError(f"name an event: `router send {wish.endpoint} EVENT`, or use --again")
    endpoint = ruleset.endpoints[wish.endpoint]
    if wish.tamper and (endpoint.unsigned or not ruleset.providers[endpoint.provider].signed):
        raise UsageError(f"endpoint {endpoint.name} is unsigned: no forgery can be told apart")


def _repeat(ruleset: Ruleset, wish: Wish) -> Callable[[], Request]:
    last = last_of(ruleset.server.store, wish.endpoint)
    if last is None:
        raise UsageError(f"nothing was sent to {wish.endpoint} yet; send once without --again")
    return lambda: last


def _fresh(place: Place, ruleset: Ruleset, endpoint: Endpoint, wish: Wish) -> Callable[[], Request]:
    provider = ruleset.providers[endpoint.provider]
    event = wish.event or ""
    _judge_event(provider, event)
    key = _key(place, ruleset, endpoint, wish)
    bodies = _bodies(provider, event, wish)

    def build() -> Request:
        body = bodies()
        try:
            headers = provider.sign(
                event=event,
                body=body,
                key=key,
                delivery_id=_new_id(provider),
                now_ms=SystemClock().now(),
            )
        except ValueError as error:
            raise UsageError(f"cannot sign: {error}") from None
        sent = body + b" " if wish.tamper == "body" else body
        return Request("POST", _address(endpoint, event), headers, sent)

    return build


def _judge_event(provider: Provider, event: str) -> None:
    """Unknown events go out, as they would from the sender; impossible ones do not."""
    printable = event.isascii() and event.isprintable() and event.strip() == event
    if not printable or not 0 < len(event) <= _EVENT_BYTES_MAX:
        raise UsageError(f"{event!r} cannot stand in a header as an event's name")
    name, _ = provider.split_name(event)
    known = [info.name for info in provider.events]
    if name not in known:
        from router.yaml_source.suggest import Suggester

        hint = Suggester().hint(name, known)
        label = provider.label
        note(f"{label} has no event {event!r} that we know of{f'; {hint}' if hint else ''}")


def _key(place: Place, ruleset: Ruleset, endpoint: Endpoint, wish: Wish) -> bytes:
    provider = ruleset.providers[endpoint.provider]
    if wish.tamper == "signature" or endpoint.unsigned:
        # A stranger's key; where nothing is verified the headers must only look right.
        return provider.invent_secret(secrets.token_bytes).sign
    from router.wiring.dev import DevFile
    from router.wiring.secret_values import signing_key

    return signing_key(
        ruleset,
        endpoint.name,
        environ=place.environ,
        dev_file=DevFile.load(DevFile.path_for(place.rules)),
        key_file=wish.key,
    )


def _bodies(provider: Provider, event: str, wish: Wish) -> Bodies:
    from router.expressions import encode_json

    if wish.payload is not None:
        given = _read(wish.payload)
        if not wish.assignments:
            return lambda: given
        changed = _changed(_json(given, wish.payload), wish)
        return lambda: encode_json(changed)
    sample = provider.sample(event)
    if sample is None:
        note("there is no sample of this event: an empty object goes; give one with --payload")
        sample = {}
    changed = _changed(sample, wish)
    return lambda: provider.compose(changed, _new_id(provider))


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None


def _json(data: bytes, name: str) -> Any:
    from router.expressions import NotJson, decode_json

    try:
        return decode_json(data)
    except NotJson as error:
        raise UsageError(f"{name} is not JSON, so --set has no place in it: {error}") from None


def _changed(payload: Any, wish: Wish) -> Any:
    for path, value in wish.assignments:
        payload = set_value(payload, path, value)
    return payload


def _new_id(provider: Provider) -> str:
    """In the shape that such ids have: a UUID in a header, plain text in an event."""
    if provider.splits:
        return secrets.token_urlsafe(16)
    h = secrets.token_hex(16)
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def _address(endpoint: Endpoint, event: str) -> str:
    """Of several paths the one that is named after the event."""
    fitting = (a for a in endpoint.addresses if a.endswith("/" + event))
    return next(fitting, endpoint.addresses[0])


def _url(to: str | None, ruleset: Ruleset, path: str) -> str:
    if to is None:
        return loopback(ruleset.server.listen) + path
    parts = urlsplit(to)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"--to takes a URL like http://127.0.0.1:8000, not {to!r}")
    return to if parts.path not in ("", "/") else f"{parts.scheme}://{parts.netloc}{path}"


def _send_all(
    build: Callable[[], Request], wish: Wish, ruleset: Ruleset, *, keep: bool
) -> list[Result]:
    import httpx

    results = []
    # trust_env off: what goes to our own door goes there and not through a proxy.
    headers = {"user-agent": f"router-send/{__version__}"}
    with httpx.Client(timeout=_TIMEOUT_S, headers=headers, trust_env=wish.to is not None) as client:
        for number in range(wish.count):
            request = build()
            if keep and not wish.again and number == wish.count - 1:
                remember(ruleset.server.store, wish.endpoint, request)
            results.append(_send(client, _url(wish.to, ruleset, request.path), request))
    return results


def _send(client: "httpx.Client", url: str, request: Request) -> Result:
    import httpx

    clock = SystemClock()
    began = clock.monotonic()
    try:
        response = client.request(
            request.method, url, content=request.body, headers=list(request.headers)
        )
    except httpx.ConnectError:
        raise click.ClickException(
            f"nothing listens at {url}; start it with `router serve`, or name it with --to"
        ) from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise click.ClickException(f"{url}: {type(error).__name__}: {error}") from None
    took = round((clock.monotonic() - began) * 1000, 1)
    return Result(response.status_code, response.text, _delivery(response), took)


def _delivery(response: "httpx.Response") -> str | None:
    try:
        answer = response.json()
    except ValueError:
        return None
    found = answer.get("delivery") if isinstance(answer, dict) else None
    return found if isinstance(found, str) else None


def _as_hoped(result: Result, wish: Wish) -> bool:
    if wish.tamper is not None:
        return result.status in (401, 403)
    return 200 <= result.status < 300


def _print(results: list[Result], wish: Wish) -> None:
    for result in results[:_LINES_MAX]:
        click.echo(_line(result, wish))
    if len(results) > _LINES_MAX:
        click.echo(f"… {len(results)} requests in all: {_tally(results)}")


def _line(result: Result, wish: Wish) -> str:
    word = f"{result.status} {visible(result.answer[:500])}  {result.took_ms} ms"
    if wish.tamper is None:
        return word
    if _as_hoped(result, wish):
        return f"{word}  refused, as it should be"
    return f"{word}  NOT refused: a forgery must get 401 or 403"


def _tally(results: list[Result]) -> str:
    counts: dict[int, int] = {}
    for result in results:
        counts[result.status] = counts.get(result.status, 0) + 1
    slowest = max(r.took_ms for r in results)
    each = ", ".join(f"{n} × {status}" for status, n in sorted(counts.items()))
    return f"{each}; the slowest took {slowest} ms"
