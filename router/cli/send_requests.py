"""What `send` sends: requests built as the sender builds them, `--set` and all; the answers."""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
import msgspec

from router import __version__
from router.cli.files import read_named
from router.cli.last_request import SentRequest
from router.cli.options import Options, whole_url
from router.cli.output import note
from router.clock import SystemClock
from router.errors import UsageError
from router.expressions import NotJson, decode_json
from router.model.settings import Endpoint
from router.providers import Provider
from router.providers.changes import put, steps
from router.providers.questions import asked, questions_of
from router.rules.ruleset import Ruleset
from router.suggest import did_you_mean

if TYPE_CHECKING:
    import httpx


def parse_assignment(text: str) -> tuple[str, Any]:
    """
    `a.b=v` as path text and value: JSON if it reads as JSON, else the text itself.

    Raises:
        UsageError: it has no `=`, or no path before it.
    """
    path, sign, value = text.partition("=")
    if not sign or not path.strip():
        raise UsageError(f"--set takes PATH=VALUE, like total_price=12.50, not {text!r}")
    try:
        steps(path)
    except ValueError as reason:
        raise UsageError(f"--set: {reason}") from None
    try:
        return path, decode_json(value.encode())
    except NotJson:
        return path, value


def set_value(payload: Any, path: str, value: Any) -> Any:
    """
    The payload with `value` at `path`; see `router.providers.changes.put`.

    Raises:
        UsageError: the path leads through a value that has no such part.
    """
    try:
        return put(payload, path, value)
    except ValueError as reason:
        raise UsageError(f"--set {path}: {reason}") from None


_TIMEOUT_S = 60.0
_EVENT_BYTES_MAX = 256


class SendResult(msgspec.Struct, frozen=True):
    """One request's answer. `took_ms` runs from the first byte out to the last byte in."""

    status: int
    answer: str
    delivery: str | None
    took_ms: float


class SendOptions(msgspec.Struct, frozen=True):
    """What the command line says of the request."""

    endpoint: str
    event: str | None
    assignments: tuple[tuple[str, Any], ...]
    payload: str | None
    to: str | None
    count: int
    again: bool
    tamper: str | None
    key: Path | None
    force: bool
    handshake: bool = False


class Signer:
    """Makes requests to one endpoint, really signed (or really forged) with one key."""

    def __init__(self, place: Options, ruleset: Ruleset, options: SendOptions) -> None:
        self.endpoint = ruleset.endpoints[options.endpoint]
        self.provider = ruleset.providers[self.endpoint.provider]
        self._options = options
        self._key = _key(place, ruleset, self.endpoint, options)

    def request(self, event: str, body: bytes) -> SentRequest:
        """
        One request with this body and a new id.

        Raises:
            UsageError: the key cannot sign.
        """
        address = self.endpoint.address_of(event)
        try:
            made = self.provider.prove(
                event=event,
                body=body,
                key=self._key,
                delivery_id=_new_id(self.provider),
                now_ms=SystemClock().now(),
                address=address,
                public_url=self.endpoint.public_url,
            )
        except ValueError as error:
            raise UsageError(f"cannot sign: {error}") from None
        sent = made.body + b" " if self._options.tamper == "body" else made.body
        method = self.provider.definition.methods[0]
        return SentRequest(
            method, f"{address}?{made.query}" if made.query else address, made.headers, sent
        )

    def questions(self) -> Iterator[SentRequest]:
        """
        What the sender asks before it sends; not what would have the router call others.

        Raises:
            UsageError: the key cannot sign.
        """
        definition, address = self.provider.definition, self.endpoint.address_of("")
        for one in questions_of(definition):
            echo, now_ms = secrets.token_hex(8), SystemClock().now()
            try:
                made = asked(definition, one, key=self._key, echo=echo, now_ms=now_ms)
            except ValueError as error:
                raise UsageError(f"cannot sign: {error}") from None
            path = f"{address}?{made.query}" if made.query else address
            yield SentRequest(made.method, path, made.headers, made.body)


def fresh(signer: Signer, options: SendOptions) -> Iterator[SentRequest]:
    """
    The requests that the options describe, each with new ids.

    Raises:
        UsageError: the event's name is impossible, or unknown and not forced.
    """
    event = options.event or ""
    printable = event.isascii() and event.isprintable() and event.strip() == event
    if not printable or not 0 < len(event) <= _EVENT_BYTES_MAX:
        raise UsageError(f"{event!r} cannot be an event's name in a header")
    wrong = (
        None if options.force else unknown(signer.provider, event, signer.endpoint.shown_provider)
    )
    if wrong is not None:
        raise UsageError(f"{wrong} (--force sends it anyway)")
    body = _bodies(signer.provider, event, options)
    return (signer.request(event, body()) for _ in range(options.count))


def unknown(provider: Provider, event: str, spelling: str) -> str | None:
    """
    What is wrong with an event that its sender's catalogue does not have; None: it has it.
    `spelling` is the sender's name as its endpoint writes it.
    """
    name, action = provider.split_name(event)
    known = {info.name: info.actions for info in provider.events}
    if known and name not in known and not provider.may_be_named(event):
        hint = did_you_mean(name, known) or f"`router providers {spelling}` lists them"
        return f"{provider.label} has no event {event!r} in its list; {hint}"
    actions = known.get(name, ())
    if action is not None and action not in actions:
        meant = did_you_mean(action, actions)
        if meant is not None:  # else it may be an action that the catalogue does not list
            return f"{provider.label} has no {name} with the action {action!r}; {meant}"
    return None


def _key(place: Options, ruleset: Ruleset, endpoint: Endpoint, options: SendOptions) -> bytes:
    provider = ruleset.providers[endpoint.provider]
    if options.tamper == "signature" or endpoint.unsigned:
        # An invented key; where nothing is verified the headers must only look right.
        return provider.invent_secret(secrets.token_bytes).sign
    from router.wiring.dev import DevFile
    from router.wiring.secret_values import signing_key

    return signing_key(
        ruleset,
        endpoint.name,
        environ=place.environ,
        dev_file=DevFile.load(DevFile.path_for(place.rules)),
        key_file=options.key,
    )


def _bodies(provider: Provider, event: str, options: SendOptions) -> Callable[[], bytes]:
    """Makes the body of one more request, its ids new."""
    from router.expressions import NotJson, decode_json, encode_json

    if options.payload is not None:
        given = read_named(options.payload)
        if not options.assignments:
            return lambda: given
        try:
            changed = _changed(decode_json(given), options)
        except NotJson as error:
            raise UsageError(
                f"{options.payload} is not JSON, so --set cannot change it: {error}"
            ) from None
        return lambda: encode_json(changed)
    sample = provider.sample(event)
    if sample is None:
        note("there is no sample of this event: sending an empty object; --payload sends another")
        sample = {}
    changed = _changed(sample, options)
    return lambda: _composed(provider, changed, options)


def _composed(provider: Provider, payload: Any, options: SendOptions) -> bytes:
    """The body with new ids; `--set` may change these, too."""
    return provider.body([_changed(provider.numbered(payload, _new_id(provider)), options)])


def _changed(payload: Any, options: SendOptions) -> Any:
    for path, value in options.assignments:
        payload = set_value(payload, path, value)
    return payload


def _new_id(provider: Provider) -> str:
    """In the shape that such ids have: a UUID in a header, plain text in an event."""
    if provider.splits:
        return secrets.token_urlsafe(16)
    h = secrets.token_hex(16)
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def url_of(to: str | None, ruleset: Ruleset, path: str) -> str:
    if to is None:
        return ruleset.server.local_url + path
    parts = urlsplit(url := whole_url(to))
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"--to takes a URL like http://127.0.0.1:8000, or a port, not {to!r}")
    return url if parts.path not in ("", "/") else f"{parts.scheme}://{parts.netloc}{path}"


def send_each(
    requests: Iterable[SentRequest], options: SendOptions, ruleset: Ruleset
) -> Iterator[SendResult]:
    """
    Send them one after the other.

    Raises:
        click.ClickException: nothing answers.
    """
    import httpx

    # To this machine's own listener: never through a proxy, and its certificate is for the public
    # name and not for loopback.
    headers, away = {"user-agent": f"router-send/{__version__}"}, options.to is not None
    with httpx.Client(timeout=_TIMEOUT_S, headers=headers, trust_env=away, verify=away) as client:
        for request in requests:
            yield _send(client, url_of(options.to, ruleset, request.path), request)


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
    found = None
    with suppress(ValueError, AttributeError):  # no JSON, or no object
        found = response.json().get("delivery")
    delivery = found if isinstance(found, str) else None
    return SendResult(response.status_code, response.text, delivery, took)


def is_expected(result: SendResult, options: SendOptions) -> bool:
    """A 2xx; for a forgery, its refusal."""
    if options.tamper is not None:
        return result.status in (401, 403)
    return 200 <= result.status < 300
