"""The steps of a test's `send`: deliveries, the last one again, and time that passes."""

from collections.abc import Mapping
from functools import partial

from router.config.context import LoadContext
from router.config.language import json_value
from router.config.payloads import PayloadNames, payload_of
from router.config.providers import is_open, provider_of
from router.config.senders import EndpointSenders, EventNames, SenderSet
from router.config.spelling import HEADER
from router.config.trial_schema import SendEntry
from router.model.delivery import JSON
from router.model.settings import OWN, Endpoint
from router.model.trial import Advance, HandshakeStep, RepeatStep, Sending, Step
from router.providers import Provider, changes, own
from router.providers.definition import spelled
from router.providers.questions import questions_of
from router.suggest import closest, meaning
from router.yaml_source import Node, Scalar, SourceText, described, means_nothing, shown

REPEAT_MAX = 1_000
ADVANCE_MAX_MS = 400 * 86_400_000
_EVENT_MAX = 256
_BESIDE = {"again": ("repeat", "every"), "advance": (), "handshake": ("endpoint",)}
"""What may stand beside the keys that make a step other than a delivery."""

Change = tuple[str, JSON]
"""A path and what a test sets there."""


class StepCompiler:
    """Compiles steps against the endpoints of one file."""

    def __init__(
        self,
        context: LoadContext,
        senders: EndpointSenders,
        endpoints: Mapping[str, Endpoint],
        *,
        own_events: bool = False,
    ) -> None:
        """`own_events`: some rule is `from: router`, so that such events can be sent."""
        self.context = context
        self._bad = partial(context.error, "bad-step")
        self._own_events = own_events
        self._events = EventNames(context)
        self._senders = senders
        self._endpoints = endpoints

    def compile(self, entries: list[SendEntry]) -> tuple[Step, ...]:
        """Every step, in order."""
        found: list[Step] = []
        for entry in entries:
            step = self._step(entry)
            if isinstance(step, RepeatStep) and not any(isinstance(s, Sending) for s in found):
                self._bad("nothing was sent before that could be sent again", entry.key_at("again"))
            found.append(step)
        return tuple(found)

    def _step(self, entry: SendEntry) -> Step:
        self._repeated(entry)
        if entry.has("advance"):
            self._alone(entry, "advance")
            return Advance(entry.advance or 0)
        if entry.has("again"):
            self._alone(entry, "again")
            if entry.again is False:
                self._bad("a step that sends nothing again is none", entry.key_at("again"))
            return RepeatStep(entry.repeat or 1, entry.every or 0)
        if entry.has("handshake"):
            self._alone(entry, "handshake")
            return self._handshake(entry)
        return self._sending(entry)

    def _handshake(self, entry: SendEntry) -> HandshakeStep:
        if not entry.has("endpoint"):
            message = f"{entry.called} needs the key 'endpoint'"
            self.context.error("missing-key", message, entry.node)
        provider = self._provider(entry)
        asks = 0 if provider is None else len(questions_of(provider.definition))
        if provider is not None and (entry.handshake is False or not asks):
            message = f"{provider.label} asks nothing before it sends"
            if entry.handshake is False:
                message = "a step that asks nothing is none"
            self._bad(message, entry.key_at("handshake"))
        return HandshakeStep(entry.endpoint.value if entry.endpoint else "", asks or 1)

    def _alone(self, entry: SendEntry, key: str) -> None:
        for other in SendEntry.__struct_fields__:
            if other not in ("node", "broken", key, *_BESIDE[key]) and entry.has(other):
                self._bad(
                    f"'{key}' is a step of its own: '{other}' cannot stand beside it",
                    entry.key_at(other),
                )

    def _repeated(self, entry: SendEntry) -> None:
        self.context.above_zero(entry)
        if entry.repeat is not None and entry.repeat > REPEAT_MAX:
            self.context.error(
                "bad-value", f"a step sends at most {REPEAT_MAX} deliveries", entry.at("repeat")
            )
        for key, time in (("every", entry.every), ("advance", entry.advance)):
            if time is not None and time > ADVANCE_MAX_MS:
                self.context.error("bad-value", f"'{key}' is at most 400d", entry.at(key))
        if entry.has("every") and not entry.has("repeat"):
            self._bad(
                "'every' is the time between deliveries: it goes with 'repeat'",
                entry.key_at("every"),
            )

    # -- deliveries -----------------------------------------------------------------------------

    def _sending(self, entry: SendEntry) -> Sending:
        for key in ("endpoint", "event"):
            if not entry.has(key):
                self.context.error(
                    "missing-key", f"{entry.called} needs the key '{key}'", entry.node
                )
        provider = self._provider(entry)
        if entry.event is not None and entry.endpoint is not None and provider is not None:
            self._event(entry.event, self._senders.behind((entry.endpoint.value,)))
        event = entry.event.value if entry.event else ""
        sample = provider.sample(event) if provider is not None and event else None
        payload: JSON = {} if sample is None else sample
        names = None
        if self.context.tested and provider is not None and event:
            names = PayloadNames(self.context, provider, event)
        file = None
        if entry.payload is not None:
            payload, file = payload_of(self.context, entry.payload)
            if names is not None and file is None:
                names.check_payload(entry.payload)
        changed, made = self._changed(entry, payload, names)
        return Sending(
            endpoint=entry.endpoint.value if entry.endpoint else "",
            event=event,
            path=self._path(entry),
            payload=changed,
            set=made,
            exact=file is not None,
            headers=self._headers(entry, provider),
            tamper=entry.tamper,
            redeliver=bool(entry.redeliver),
            repeat=entry.repeat or 1,
            every_ms=entry.every or 0,
        )

    def _provider(self, entry: SendEntry) -> Provider | None:
        name, known = entry.endpoint, self.context.file.endpoints
        if name is None:
            return None
        if name.value == OWN and self._own_events:
            if entry.tamper is not None:
                self._bad("nobody can forge the router's own events", entry.key_at("tamper"))
            return own()
        if known is None or name.value not in known:
            self.context.unknown("unknown-endpoint", "endpoint", name, known.items if known else ())
            return None
        if (endpoint := known.items[name.value][1]) is None:
            return None
        if is_open(endpoint) and entry.tamper is not None:
            self._bad(
                f"the endpoint '{name.value}' verifies nothing, so nothing can be forged",
                entry.key_at("tamper"),
            )
        return provider_of(self.context, endpoint)

    def _path(self, entry: SendEntry) -> str | None:
        endpoint = self._endpoints.get(entry.endpoint.value) if entry.endpoint else None
        if entry.path is None or endpoint is None:
            return None
        if entry.path.value not in endpoint.addresses:
            self._bad(
                f"the endpoint '{endpoint.name}' has no path '{entry.path.shown}'",
                entry.path,
                meaning(entry.path.value, closest(entry.path.value, endpoint.addresses))
                or f"it is served at {', '.join(endpoint.addresses)}",
            )
        return entry.path.value

    def _event(self, event: SourceText, behind: SenderSet) -> None:
        value = event.value
        printable = value.isascii() and value.isprintable() and value.strip() == value
        if not printable or not 0 < len(value) <= _EVENT_MAX or "*" in value:
            self._bad(f"'{shown(value)}' is not the name of one event", event)
            return
        self._events.check([event], behind)

    def _changed(
        self, entry: SendEntry, payload: JSON, names: PayloadNames | None
    ) -> tuple[JSON, tuple[Change, ...]]:
        """The payload with what `set` says, and that by path."""
        made: list[Change] = []
        base = payload
        for path, node in entry.set or ():
            value = json_value(self.context, node)
            try:
                payload = changes.put(payload, path.value, value)
            except ValueError as reason:
                self._bad(f"nothing can be set there: {reason}", path)
            else:
                made.append((path.value, value))
                if names is not None:
                    names.check_path(path, base)
        return payload, tuple(made)

    def _headers(self, entry: SendEntry, provider: Provider | None) -> dict[str, str | None]:
        ways = provider.definition.ways if provider is not None and not entry.tamper else ()
        each = (names for way in ways for names in (way.place, way.stamp.header))
        proving = {name.lower() for names in each for name in spelled(names)}
        found = {}
        for name, node in entry.headers or ():
            lower = name.value.lower()
            if not HEADER.fullmatch(name.value):
                self.context.error(
                    "bad-header", f"'{name.shown}' cannot be the name of a header", name
                )
            elif lower in proving:
                self._bad(
                    f"the header '{name.shown}' is the sender's signature",
                    name,
                    "a forgery is sent by 'tamper'",
                )
            found[lower] = self._header(node)
        return found

    def _header(self, node: Node) -> str | None:
        """A header's value; null leaves it out."""
        if not isinstance(node, Scalar):
            self.context.error(
                "wrong-type", f"expected text or null, found {described(node)}", node
            )
        elif not node.value.isprintable() or max(node.value, default="") > "\xff":
            self.context.error(
                "bad-header",
                "a header's value is one line of printable characters up to U+00FF",
                node,
            )
        elif not means_nothing(node):
            return node.value
        return None
