"""What `explain` explains: a stored delivery by the rules that decided it, or a payload at hand."""

import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from router.cli.ledger import read_store
from router.cli.output import note, visible
from router.cli.place import Place
from router.clock import SystemClock
from router.errors import NotFound, UsageError
from router.model.delivery import Delivery, Event, InboundRequest
from router.providers import Provider, ReadEvent, Reading
from router.replay import as_request
from router.rules.explain import Explainer, RuleReading
from router.rules.ruleset import Ruleset
from router.rules.scope import delivery_roots, event_scope
from router.store.protocol import DeliveryRecord, Generation

if TYPE_CHECKING:
    from router.store.reader import SqliteReader

_Stored = tuple[DeliveryRecord, Generation | None]


class EventReading(msgspec.Struct, frozen=True):
    """One event and every rule beside it. `known`: a copy of an earlier one, so never routed."""

    event: Event
    known: bool
    rules: tuple[RuleReading, ...]


class Explanation(msgspec.Struct, frozen=True):
    """
    A delivery, explained. `record` is None if it is not stored. `by` says which rules were used.

    `reason` says why no rule was asked at all; then `events` is empty.
    """

    delivery: Delivery
    record: DeliveryRecord | None
    generation: str
    by: str
    events: tuple[EventReading, ...]
    reason: str | None = None


def explain_stored(place: Place, identity: str, number: int | None) -> Explanation:
    """
    A stored delivery, by the generation that decided it, or by a file named with `-f`.

    Raises:
        NotFound: there is no such delivery, event or generation.
        UsageError: the rules file cannot be read.
        ConfigError: it is wrong.
    """
    place, ruleset = place.working()
    stored = _stored(ruleset.server.store, identity)
    if stored is None:
        raise NotFound(f"no delivery {identity!r} is here; `router deliveries` lists them")
    record, kept = stored
    if _is_given("rules"):
        by = f"{place.rules}, not those that decided"
    else:
        ruleset = _then(kept, record, place, ruleset)
        by = f"generation {ruleset.generation[:16]}, which decided"
    reading = _provider(ruleset, record.delivery).read(as_request(record.delivery))
    return _explained(record.delivery, record, reading, ruleset, by, number)


def explain_payload(place: Place, payload: str, endpoint: str, event: str) -> Explanation:
    """
    A body that need not have arrived, as this endpoint's sender would send it, by the file's rules.

    Raises:
        UsageError: the endpoint or the file is not there.
        ConfigError: the rules file is wrong.
    """
    ruleset = place.ruleset()
    if endpoint not in ruleset.endpoints:
        from router.yaml_source.suggest import Suggester

        hint = Suggester().hint(endpoint, ruleset.endpoints)
        known = ", ".join(ruleset.endpoints) or "none"
        raise UsageError(f"no endpoint {endpoint!r}; {hint or f'the file has: {known}'}")
    found = ruleset.endpoints[endpoint]
    provider = ruleset.providers[found.provider]
    request = _request(provider, event, _whole(provider, _bytes(payload)), found.addresses[0])
    reading = provider.read(request)
    _say_other_name(event, reading)
    delivery = _delivery(request, endpoint, found.provider, reading, ruleset)
    return _explained(delivery, None, reading, ruleset, f"{place.rules}", None)


# -- stored


def _stored(store: str, identity: str) -> _Stored | None:
    whole = identity if identity.startswith("dlv_") else f"dlv_{identity}"

    async def reading(reader: "SqliteReader") -> _Stored | None:
        record = await reader.delivery(whole)
        if record is None:
            return None
        return record, await reader.generation(record.delivery.generation)

    return read_store(store, reading, absent=None)


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def _then(
    kept: Generation | None, record: DeliveryRecord, place: Place, present: Ruleset
) -> Ruleset:
    """The rules that decided."""
    wanted = record.delivery.generation
    if wanted == present.generation:
        return present
    hint = f"`-f {place.rules}` explains it by the present file"
    if kept is None:
        raise NotFound(f"the store no longer has generation {wanted[:16]}, which decided; {hint}")
    from router.wiring.generations import read_generation

    dev = bool(kept.context.get("dev", place.dev))
    loaded = read_generation(kept, path=place.rules, environ=place.environ, dev=dev)
    if loaded.ruleset is None:
        first = next(d for d in loaded.diagnostics if d.severity == "error")
        raise NotFound(
            f"generation {wanted[:16]}, which decided, cannot be read any more "
            f"(line {first.line}: {first.message}); {hint}"
        )
    ruleset: Ruleset = msgspec.structs.replace(loaded.ruleset, generation=wanted)
    return ruleset


def _provider(ruleset: Ruleset, delivery: Delivery) -> Provider:
    if delivery.provider not in ruleset.providers:
        raise NotFound(f"these rules have no provider {delivery.provider!r}, which sent it")
    return ruleset.providers[delivery.provider]


# -- not stored


def _bytes(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None


def _whole(provider: Provider, body: bytes) -> bytes:
    """One event stands for a batch of one where the sender sends batches."""
    return b"[" + body + b"]" if provider.splits and body.lstrip()[:1] == b"{" else body


def _request(provider: Provider, event: str, body: bytes, address: str) -> InboundRequest:
    now = SystemClock().now()
    try:
        headers = provider.sign(
            event=event,
            body=body,
            key=provider.invent_secret(secrets.token_bytes).sign,  # nobody verifies it
            delivery_id=secrets.token_hex(16),
            now_ms=now,
        )
        sent = tuple((n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in headers)
    except ValueError as error:  # UnicodeEncodeError is one too
        raise UsageError(f"{event!r} cannot be an event's name here: {error}") from None
    return InboundRequest("POST", address.encode("latin-1"), b"", sent, body, "", now)


def _say_other_name(event: str, reading: Reading) -> None:
    """Some senders name the event, or its action, in the body; then the body is believed."""
    names = {n for e in reading.events for n in (e.name, f"{e.name}.{e.action}")}
    if names and event not in names:
        first = reading.events[0]
        said = f"{first.name}.{first.action}" if first.action else first.name
        note(f"by its payload this is {visible(said)}, not {visible(event)}")


def _delivery(
    request: InboundRequest, endpoint: str, provider: str, reading: Reading, ruleset: Ruleset
) -> Delivery:
    return Delivery(
        id="",
        endpoint=endpoint,
        provider=provider,
        received_at=request.received_at,
        method=request.method,
        path=request.raw_path.decode("latin-1"),
        query="",
        headers=tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in request.headers),
        body=request.body,
        verified_by=None,
        state=reading.state,
        event_count=len(reading.events),
        generation=ruleset.generation,
    )


# -- both


def _explained(
    delivery: Delivery,
    record: DeliveryRecord | None,
    reading: Reading,
    ruleset: Ruleset,
    by: str,
    number: int | None,
) -> Explanation:
    reason = _unrouted(delivery, reading)
    events: tuple[EventReading, ...] = ()
    if reason is None:
        if number is not None and not 0 <= number < len(reading.events):
            raise NotFound(
                f"it has no event {number}: they count from 0 to {len(reading.events) - 1}"
            )
        chosen = reading.events if number is None else reading.events[number : number + 1]
        events = _events(delivery, record, chosen, ruleset)
    return Explanation(delivery, record, ruleset.generation, by, events, reason)


def _unrouted(delivery: Delivery, reading: Reading) -> str | None:
    """Why no rule is asked about it."""
    if reading.state != "routed":
        return f"{reading.state}: {visible(reading.reason or 'its body cannot be read')}"
    if delivery.state in ("unparsed", "too_complex"):
        return f"{delivery.state}: it was stored without asking any rule"
    return None


def _events(
    delivery: Delivery,
    record: DeliveryRecord | None,
    chosen: tuple[ReadEvent, ...],
    ruleset: Ruleset,
) -> tuple[EventReading, ...]:
    explainer = Explainer(ruleset)
    shared = delivery_roots(delivery, ruleset.variables)
    ids = {entry.index: entry.id for entry in record.events} if record else {}
    found = []
    for read in chosen:
        event = Event(
            ids.get(read.index, ""),
            read.index,
            read.name,
            read.action,
            read.payload,
            read.raw,
            read.fields,
        )
        scope = event_scope(shared, delivery, event, ruleset.defines)
        rules = explainer.explain(delivery.endpoint, event, scope)
        found.append(EventReading(event, record is not None and read.index not in ids, rules))
    return tuple(found)
