"""The senders of a trial: requests built and signed as the real ones build and sign them."""

import gzip
import ipaddress
import random
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping

import msgspec

from router.errors import UsageError
from router.expressions import encode_json
from router.model.delivery import JSON, InboundRequest
from router.model.headers import BLANKS
from router.model.settings import PUBLISHED, Endpoint
from router.model.trial import HandshakeStep, RepeatStep, Sending
from router.providers import Provider, questions
from router.providers.changes import put
from router.providers.signing import SignedRequest
from router.providers.waiting import Introspection, PublishedKey
from router.rehearsal.virtual_time import VirtualClock
from router.rules.live import LiveRuleset, SecretValues, url_secrets
from router.rules.ruleset import Ruleset

RandomBytes = Callable[[int], bytes]
URL = "https://secret.invalid/"
"""A secret that is a whole URL is this and its name; what is sent to targets `secret-NAME`."""


class TrialKeys(msgspec.Struct, frozen=True):
    """
    What verifies, and by the name of each secret what its sender signs with. `published` is what
    senders publish, and tokens that hold; `claims` are what their issuers say of them: nobody is
    asked in a trial.
    """

    secrets: SecretValues
    sign: Mapping[str, bytes]
    published: Mapping[str, bytes]
    claims: Mapping[str, Mapping[str, JSON]]

    def known(self, key: PublishedKey) -> bytes | None:
        """What stands at its address."""
        return self.published.get(key.address)

    def want(self, key: PublishedKey, peer: str) -> None:
        """There is nothing more to fetch."""

    def remembered(self, ask: Introspection) -> bytes | None:
        """None: each token is asked about."""

    async def ask(
        self,
        live: LiveRuleset,  # noqa: ARG002 - as the protocol names it
        ask: Introspection,
    ) -> bytes:
        """Whether the token is the one that the trial's sender has."""
        holds = ask.token == self.published.get(ask.url)
        return encode_json({"active": holds, **self.claims.get(ask.url, {})})


def invented(ruleset: Ruleset, random_bytes: RandomBytes) -> TrialKeys:
    """A value for every secret of the ruleset, of the kind that its users need."""
    verify: dict[str, bytes] = {}
    sign: dict[str, bytes] = {}
    published: dict[str, bytes] = {}
    claims: dict[str, Mapping[str, JSON]] = {}
    for endpoint in ruleset.endpoints.values():
        provider = ruleset.providers[endpoint.provider]
        for name in _names(endpoint, provider):
            if name not in sign:
                made = provider.invent_secret(random_bytes)
                verify[name], sign[name] = made.verify, made.sign
                published |= provider.published(made)
        claims |= provider.claims
    urls = frozenset(url_secrets(ruleset))
    for name in ruleset.secrets:
        verify.setdefault(name, (f"{URL}{name}" if name in urls else f"secret-{name}").encode())
    until = {name: ref.until for name, ref in ruleset.secrets.items()}
    return TrialKeys(SecretValues(verify, until), sign, published, claims)


def _names(endpoint: Endpoint, provider: Provider) -> tuple[str, ...]:
    """What the keys of an endpoint's sender are called: its secrets, if it needs any."""
    return endpoint.secrets or ((f"provider:{provider.name}",) if provider.keyless else ())


ELSEWHERE = "192.0.2.1"
"""Where a trial's sender is: an address of the range that is kept for examples."""


class Senders:
    """Makes the requests of one trial; ids come from `rng`, forgers' keys from `random_bytes`."""

    def __init__(
        self,
        ruleset: Ruleset,
        keys: TrialKeys,
        *,
        clock: VirtualClock,
        rng: random.Random,
        random_bytes: RandomBytes,
    ) -> None:
        self._ruleset = ruleset
        self._keys = keys
        self._clock = clock
        self._rng = rng
        self._random_bytes = random_bytes
        self._last: InboundRequest | None = None

    def requests(self, step: Sending | RepeatStep) -> Iterator[InboundRequest]:
        """The next delivery of a step, with new ids and the signature of now, or the last again."""
        if isinstance(step, Sending):
            self._last = _changed(self._request(step), step.headers)
        last = self._last
        if last is None:
            return
        yield msgspec.structs.replace(last, received_at=self._clock.now())
        if isinstance(step, Sending) and step.redeliver:
            yield last

    def questions(self, step: HandshakeStep) -> Iterator[InboundRequest]:
        """
        What the sender asks before it sends.

        Raises:
            UsageError: the endpoint's secret is also that of a sender who signs otherwise.
        """
        endpoint = self._ruleset.endpoints[step.endpoint]
        provider = self._ruleset.providers[endpoint.provider]
        key = self._key(endpoint, provider, forged=False)
        for one in questions.questions_of(provider.definition):
            now, echo = self._clock.now(), self._id()
            try:
                made = questions.asked(provider.definition, one, key=key, echo=echo, now_ms=now)
            except ValueError as error:
                raise UsageError(f"endpoint {endpoint.name}: cannot sign: {error}") from None
            address = endpoint.address_of("")
            yield _inbound(made.method, address, made, made.body, endpoint, now)

    def _request(self, sending: Sending) -> InboundRequest:
        """
        One request with new ids.

        Raises:
            UsageError: the endpoint's secret is also that of a sender who signs otherwise.
        """
        endpoint = self._ruleset.endpoints[sending.endpoint]
        provider = self._ruleset.providers[endpoint.provider]
        address = sending.path or endpoint.address_of(sending.event)
        body = _packed(self._body(provider, sending), sending.headers)
        forged = sending.tamper == "signature"
        key = self._key(endpoint, provider, forged=forged)
        try:
            made = provider.prove(
                event=sending.event,
                body=body,
                key=key,
                delivery_id=self._id(),
                now_ms=self._clock.now(),
                address=address,
                public_url=endpoint.public_url,
            )
        except ValueError as error:
            raise UsageError(f"endpoint {endpoint.name}: cannot sign: {error}") from None
        sent = made.body + b" " if sending.tamper == "body" else made.body
        method = provider.definition.methods[0]
        return _inbound(method, address, made, sent, endpoint, self._clock.now())

    def _body(self, provider: Provider, sending: Sending) -> bytes:
        """Each event in an id of its own, unless the test sets that."""
        payload = sending.payload
        batch = provider.splits and isinstance(payload, list)
        events = payload if isinstance(payload, list) and batch else [payload]
        ids = [None if sending.exact else self._id() for _ in events]
        numbered: JSON = [
            event if id_ is None else provider.numbered(event, id_)
            for event, id_ in zip(events, ids, strict=True)
        ]
        numbered = numbered if batch else numbered[0]
        for path, value in sending.set:
            numbered = put(numbered, path, value)
        return provider.body(numbered if batch else [numbered])

    def _key(self, endpoint: Endpoint, provider: Provider, *, forged: bool) -> bytes:
        """The first secret that verifies at this time; another one for a forgery."""
        if forged or endpoint.unsigned:
            return provider.invent_secret(self._random_bytes).sign
        live = self._keys.secrets.verifying(endpoint.secrets, self._clock.now())
        return self._keys.sign[live[0].name if live else _names(endpoint, provider)[0]]

    def _id(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128)))


def _inbound(
    method: str,
    address: str,
    made: SignedRequest | questions.Question,
    body: bytes,
    endpoint: Endpoint,
    now_ms: int,
) -> InboundRequest:
    return InboundRequest(
        method=method,
        raw_path=address.encode("latin-1"),
        query_string=made.query.encode("ascii"),
        headers=tuple((n.lower().encode(), v.encode("latin-1")) for n, v in made.headers),
        body=body,
        peer=_peer(endpoint),
        received_at=now_ms,
    )


def _packed(body: bytes, headers: Mapping[str, str | None]) -> bytes:
    """The body as a test's own `Content-Encoding` has it."""
    coding = headers.get("content-encoding")
    if coding == "gzip":
        return gzip.compress(body, mtime=0)
    return zlib.compress(body) if coding == "deflate" else body


def _changed(request: InboundRequest, headers: Mapping[str, str | None]) -> InboundRequest:
    """With these headers in place of the sender's own; None leaves one out."""
    if not headers:
        return request
    kept = [(name, value) for name, value in request.headers if name.decode() not in headers]
    added = [
        (name.encode(), value.encode("latin-1").strip(BLANKS))
        for name, value in headers.items()
        if value is not None
    ]
    return msgspec.structs.replace(request, headers=(*kept, *added))


def _peer(endpoint: Endpoint) -> str:
    """An address that the endpoint lets in; what the sender publishes is not looked up."""
    if not endpoint.allow_from or PUBLISHED in endpoint.allow_from:
        return ELSEWHERE
    return str(ipaddress.ip_network(endpoint.allow_from[0], strict=False).network_address)
