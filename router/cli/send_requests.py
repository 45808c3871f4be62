"""What `send` sends: requests built as the sender builds them, and each one's answer."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import msgspec

from router import __version__
from router.cli.admin import loopback
from router.cli.last_request import SentRequest
from router.cli.option_file import read_named
from router.cli.options import Options
from router.cli.output import note
from router.cli.set_values import set_value
from router.clock import SystemClock
from router.errors import UsageError
from router.model.settings import Endpoint
from router.providers import Provider
from router.rules.ruleset import Ruleset
from router.suggest import did_you_mean

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 60.0
_EVENT_BYTES_MAX = 256

Bodies = Callable[[], bytes]
"""Makes the body of one more request, its ids new."""


class SendResult(msgspec.Struct, frozen=True):
    """One request's answer. `took_ms` runs from the first byte out to the last byte in."""

    status: int
    answer: str
    delivery: str | None
    took_ms: float


class SendOptions(msgspec.Struct, frozen=True):
    """What the command line asks of the request."""

    endpoint: str
    event: str | None
    assignments: tuple[tuple[str, Any], ...]
    payload: str | None
    to: str | None
    count: int
    batch: int | None
    all: bool
    again: bool
    tamper: str | None
    key: Path | None
    force: bool


class Signer:
    """Makes requests to one endpoint, really signed (or really forged) with one key."""

    def __init__(self, place: Options, ruleset: Ruleset, wish: SendOptions) -> None:
        self._endpoint = ruleset.endpoints[wish.endpoint]
        self.provider = ruleset.providers[self._endpoint.provider]
        self._wish = wish
        self._key = _key(place, ruleset, self._endpoint, wish)

    def request(self, event: str, body: bytes) -> SentRequest:
        """
        One request with this body and a new id.

        Raises:
            UsageError: the key cannot sign.
        """
        try:
            headers = self.provider.sign(
                event=event,
                body=body,
                key=self._key,
                delivery_id=_new_id(self.provider),
                now_ms=SystemClock().now(),
            )
        except ValueError as error:
            raise UsageError(f"cannot sign: {error}") from None
        sent = body + b" " if self._wish.tamper == "body" else body
        address, query = _address(self._endpoint, event), self.provider.query(self._key)
        method = self.provider.definition.methods[0]
        return SentRequest(method, f"{address}?{query}" if query else address, headers, sent)

    def sample(self, event: str) -> bytes:
        """The body of a sample of this event, with what `--set` says, in new ids."""
        return _composed(self.provider, self.provider.sample(event), self._wish)


def fresh(signer: Signer, wish: SendOptions) -> Callable[[], SentRequest]:
    """Makes the request that is wished for, new each time."""
    event = wish.event or ""
    _judge_event(signer.provider, event, force=wish.force)
    bodies = _bodies(signer.provider, event, wish)
    return lambda: signer.request(event, bodies())


def _judge_event(provider: Provider, event: str, *, force: bool) -> None:
    """
    An impossible name never goes out, an unknown one only by force.

    Raises:
        UsageError: it is one of these.
    """
    printable = event.isascii() and event.isprintable() and event.strip() == event
    if not printable or not 0 < len(event) <= _EVENT_BYTES_MAX:
        raise UsageError(f"{event!r} cannot stand in a header as an event's name")
    wrong = None if force else unknown(provider, event)
    if wrong is not None:
        raise UsageError(f"{wrong} (--force sends it anyway)")


def unknown(provider: Provider, event: str) -> str | None:
    """What is wrong with an event that its sender's catalogue does not have; None: it has it."""
    name, action = provider.split_name(event)
    known = {info.name: info.actions for info in provider.events}
    if known and name not in known:
        hint = did_you_mean(name, known) or f"`router providers {provider.name}` lists them"
        return f"{provider.label} has no event {event!r} that we know of; {hint}"
    actions = known.get(name, ())
    if action is not None and action not in actions:
        meant = did_you_mean(action, actions)
        if meant is not None:  # else it may well be one that we do not know
            return f"{provider.label} has no {name} with the action {action!r}; {meant}"
    return None


def _key(place: Options, ruleset: Ruleset, endpoint: Endpoint, wish: SendOptions) -> bytes:
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


def _bodies(provider: Provider, event: str, wish: SendOptions) -> Bodies:
    from router.expressions import encode_json

    if wish.payload is not None:
        given = read_named(wish.payload)
        if not wish.assignments:
            return lambda: given
        changed = _changed(_json(given, wish.payload), wish)
        return lambda: encode_json(changed)
    sample = provider.sample(event)
    if sample is None:
        note("there is no sample of this event: an empty object goes; give one with --payload")
        sample = {}
    changed = _changed(sample, wish)
    return lambda: _composed(provider, changed, wish)


def _composed(provider: Provider, payload: Any, wish: SendOptions) -> bytes:
    """The body in new ids; what `--set` says stands over these, too."""
    ids = [_new_id(provider) for _ in range(wish.batch or 1)]
    return provider.body([_changed(provider.numbered(payload, one), wish) for one in ids])


def _json(data: bytes, name: str) -> Any:
    from router.expressions import NotJson, decode_json

    try:
        return decode_json(data)
    except NotJson as error:
        raise UsageError(f"{name} is not JSON, so --set has no place in it: {error}") from None


def _changed(payload: Any, wish: SendOptions) -> Any:
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


def url_of(to: str | None, ruleset: Ruleset, path: str) -> str:
    if to is None:
        url = loopback(ruleset.server.listen) + path
        return url if ruleset.server.tls is None else url.replace("http:", "https:", 1)
    parts = urlsplit(to)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"--to takes a URL like http://127.0.0.1:8000, not {to!r}")
    return to if parts.path not in ("", "/") else f"{parts.scheme}://{parts.netloc}{path}"


def send_each(
    requests: Iterable[SentRequest], wish: SendOptions, ruleset: Ruleset
) -> Iterator[SendResult]:
    """
    Send them one after the other.

    Raises:
        click.ClickException: nothing answers.
    """
    import httpx

    # What goes to our own door goes there and not through a proxy; its certificate is for the name
    # that senders know and not for loopback.
    headers, away = {"user-agent": f"router-send/{__version__}"}, wish.to is not None
    with httpx.Client(timeout=_TIMEOUT_S, headers=headers, trust_env=away, verify=away) as client:
        for request in requests:
            yield _send(client, url_of(wish.to, ruleset, request.path), request)


def _send(client: "httpx.Client", url: str, request: SentRequest) -> SendResult:
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
    return SendResult(response.status_code, response.text, _delivery(response), took)


def _delivery(response: "httpx.Response") -> str | None:
    try:
        answer = response.json()
    except ValueError:
        return None
    found = answer.get("delivery") if isinstance(answer, dict) else None
    return found if isinstance(found, str) else None


def as_hoped(result: SendResult, wish: SendOptions) -> bool:
    """A 2xx; for a forgery, its refusal."""
    if wish.tamper is not None:
        return result.status in (401, 403)
    return 200 <= result.status < 300
