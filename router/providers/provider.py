"""A provider: one definition, compiled, and everything that other rooms ask of it."""

from collections.abc import Callable, Sequence

import msgspec

from router.model.delivery import JSON, InboundRequest, LiveSecret, Refused, Verified
from router.providers import keys
from router.providers.definition import Definition, duration_s, size_bytes
from router.providers.read import Reader, Reading
from router.providers.send import Invented, Sender, Signed
from router.providers.verify import Verifier

WEAK_BYTES = 16


class EventInfo(msgspec.Struct, frozen=True):
    """
    An event of the catalogue. `actions` are all that are known, `assumed_actions` those of them
    that the interface does not show; `assumed` says so of the event itself.
    """

    name: str
    group: str
    actions: tuple[str, ...]
    assumed: bool
    assumed_actions: tuple[str, ...] = ()


class SecretVerdict(msgspec.Struct, frozen=True):
    """Is a secret usable here? `error` says why not, `warning` what should be better."""

    ok: bool
    warning: str | None = None
    error: str | None = None


class Provider:
    """
    A kind of sender: how it signs, names, numbers and batches. Immutable.

    Sizes in bytes, times in seconds. `signed` is False for a definition that verifies nothing:
    its endpoints must say `verify: none`.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.name = definition.names[0]
        self.aliases = definition.names[1:]
        self.label = definition.label
        self.signed = definition.verify.scheme != "none"
        self.splits = definition.split is not None
        self.has_ids = definition.id is not None
        self.body_max = size_bytes(definition.body_max)
        self.refuse_with: int = definition.refuse_with
        self.methods = frozenset(definition.methods)
        within = definition.ack_within
        self.ack_within_s = None if within is None else duration_s(within)
        self.root_fields = frozenset(definition.fields)
        self.events = _catalogue(definition)
        self._verifier = Verifier(definition)
        self._reader = Reader(definition)
        self._sender = Sender(definition)

    def __repr__(self) -> str:
        return f"Provider({self.name!r})"

    def verify(
        self,
        request: InboundRequest,
        secrets: Sequence[LiveSecret],
        *,
        now_ms: int,
        tolerance_s: int | None = None,
    ) -> Verified | Refused:
        """
        Judge one request; never raises, whatever the bytes.

        Without a usable secret, and for a provider that signs nothing, the answer is Refused:
        unsigned requests are let in by `accept_unsigned`, and only where an endpoint says so.
        `tolerance_s` overrides the definition's (None) for timestamps that are signed.
        """
        usable = tuple(s for s in secrets if s.value)
        return self._verifier.verify(request, usable, now_ms=now_ms, tolerance_s=tolerance_s)

    def accept_unsigned(self, request: InboundRequest) -> Verified | Refused:
        """For endpoints with `verify: none`: refused only for an ambiguous event or id header."""
        return self._verifier.unambiguous(request) or Verified(None)

    def read(self, request: InboundRequest) -> Reading:
        """The events of a verified request; never raises."""
        return self._reader.read(request)

    def check_secret(self, value: bytes) -> SecretVerdict:
        """Could this value verify anything here?"""
        if not value.strip():
            return SecretVerdict(False, error="the secret is empty")
        if self.definition.verify.scheme == "ecdsa":
            return _check_key(value)
        return SecretVerdict(True, _shared_secret_warning(value))

    def sign(self, *, event: str, body: bytes, key: bytes, delivery_id: str, now_ms: int) -> Signed:
        """
        Every header that the sender would send; for ecdsa `key` is a private PEM.

        Raises:
            ValueError: the key cannot sign.
        """
        return self._sender.sign(
            event=event, body=body, key=key, delivery_id=delivery_id, now_ms=now_ms
        )

    def sample(self, event: str) -> JSON | None:
        """A believable payload of one event (`name` or `name.action`), None for an unknown one."""
        return self._sender.sample(event)

    def sample_assumed(self, event: str) -> bool:
        """Is the shape of this event's sample known from elsewhere, not from the interface?"""
        return self._sender.sample_assumed(event)

    def compose(self, payload: JSON, *provider_ids: str) -> bytes:
        """
        The body that carries one event; an id goes into it where ids stand there. Several ids
        make a batch, where the sender sends batches.
        """
        return self._sender.compose(payload, provider_ids)

    def split_name(self, event: str) -> tuple[str, str | None]:
        """`workflow_run.completed` as name and action; other names as they are, with None."""
        return self._sender.split_name(event)

    def invent_secret(self, rng_bytes: Callable[[int], bytes]) -> Invented:
        """A new secret for `--dev` and tests; the randomness is the caller's."""
        return self._sender.invent(rng_bytes)


def _catalogue(definition: Definition) -> tuple[EventInfo, ...]:
    return tuple(
        EventInfo(name, g.group, (*g.actions, *g.assumed_actions), g.assumed, g.assumed_actions)
        for g in definition.events
        for name in g.names
    )


def _check_key(value: bytes) -> SecretVerdict:
    try:
        keys.load_public(value)
    except keys.UnusableKeyError as e:
        return SecretVerdict(False, error=str(e))
    return SecretVerdict(True, keys.mend(value).warning)


def _shared_secret_warning(value: bytes) -> str | None:
    if value != value.strip():
        return "the secret has white space around it, which counts"
    if len(value) < WEAK_BYTES:
        return f"the secret is shorter than {WEAK_BYTES} bytes"
    return None
