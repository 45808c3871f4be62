"""What `explain` explains: a stored delivery by the rules that decided it, or a payload at hand."""

import secrets

import msgspec

from router.cli.files import read_named
from router.cli.generations import ruleset_of
from router.cli.operator_access import ask
from router.cli.options import Options, endpoint_among, is_given
from router.cli.output import note
from router.cli.remote import Questions
from router.clock import SystemClock
from router.errors import NotFound, UsageError
from router.legible import visible
from router.model.delivery import Delivery, InboundRequest, as_request
from router.providers import Provider, Reading
from router.rules.answers import answer_scope
from router.rules.explain import EventReading, Explainer, unrouted
from router.rules.explain_words import short
from router.rules.ruleset import Ruleset
from router.store.values import DeliveryRecord, Generation


class Explanation(msgspec.Struct, frozen=True):
    """
    A delivery, explained; its `provider` is the name that its endpoint gives the sender. `record`
    is None if it is not stored. `by` says which rules were used.

    `reason` says why no rule was evaluated at all; then `events` is empty. `answer`: what the
    endpoint's `answer` makes of it, if it is made of the request.
    """

    delivery: Delivery
    record: DeliveryRecord | None
    generation: str
    by: str
    events: tuple[EventReading, ...]
    reason: str | None = None
    answer: str | None = None


def explain_stored(place: Options, identity: str, number: int | None) -> Explanation:
    """
    A stored delivery, by the generation that decided it, or by a file named with `-f`.

    Raises:
        NotFound: there is no such delivery, event or generation.
        UsageError: the rules file cannot be read.
        ConfigError: it is wrong.
    """
    if identity.startswith("job_"):
        raise UsageError(f"explain takes a delivery; `router show {identity}` tells that of a job")
    wanted = identity if identity.startswith("dlv_") else f"dlv_{identity}"
    by_file = is_given("rules")
    record, kept = ask(
        place,
        lambda questions: _stored(questions, wanted, decided=not by_file),
        counted="/api/deliveries?limit=1",
    )
    delivery = record.delivery
    if by_file:
        ruleset = place.beside()[1]
        same = ruleset.generation == delivery.generation
        by = f"{place.rules}, {'which' if same else 'not those that'} decided"
    else:
        ruleset = _then(delivery.generation, kept, place)
        by = f"generation {ruleset.generation[:16]}, which decided"
    provider = ruleset.provider_shown_as(delivery.endpoint, delivery.provider)
    if provider is None:
        raise NotFound(f"these rules have no provider {delivery.provider!r}, which sent it")
    delivery = msgspec.structs.replace(delivery, provider=provider.name)
    reading = provider.read_stored(delivery)
    return _explained(delivery, record, reading, ruleset, by, number)


def explain_payload(place: Options, payload: str, endpoint: str, event: str) -> Explanation:
    """
    A body that need not have arrived, as this endpoint's sender would send it, by the file's rules.

    Raises:
        UsageError: the endpoint or the file is not there.
        ConfigError: the rules file is wrong.
    """
    ruleset = place.ruleset()
    endpoint_among(ruleset.endpoints, endpoint)
    delivery, reading = _as_arriving(ruleset, endpoint, event, read_named(payload))
    _say_other_name(event, reading)
    return _explained(delivery, None, reading, ruleset, f"{place.rules}", None)


# -- stored


async def _stored(
    questions: Questions, identity: str, *, decided: bool
) -> tuple[DeliveryRecord, Generation | None]:
    """A delivery; with `decided` also the generation that did, if it is still kept."""
    record = await questions.show(identity)
    try:
        return record, await questions.generation(record.delivery.generation) if decided else None
    except NotFound:
        return record, None


def _then(wanted: str, kept: Generation | None, place: Options) -> Ruleset:
    """The rules that decided."""
    hint = f"`-f {place.rules}` explains it by the present file"
    if kept is None:
        raise NotFound(f"the store no longer has generation {wanted[:16]}, which decided; {hint}")
    try:
        return ruleset_of(kept, place)
    except NotFound as error:
        raise NotFound(f"{error}; {hint}") from None


# -- not stored


def _as_arriving(
    ruleset: Ruleset, endpoint: str, event: str, body: bytes
) -> tuple[Delivery, Reading]:
    """
    The delivery it would become at this endpoint, and what is read of it.

    Raises:
        UsageError: `event` cannot be an event's name there.
    """
    found = ruleset.endpoints[endpoint]
    provider = ruleset.providers[found.provider]
    # One event stands for a batch of one where the sender sends batches.
    whole = b"[" + body + b"]" if provider.splits and body.lstrip()[:1] == b"{" else body
    request = _request(provider, event, whole, found.addresses[0])
    reading = provider.read(request)
    delivery = Delivery(
        id="",
        endpoint=endpoint,
        provider=found.provider,
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
    return delivery, reading


def _request(provider: Provider, event: str, body: bytes, address: str) -> InboundRequest:
    now = SystemClock().now()
    try:
        made = provider.prove(
            event=event,
            body=body,
            key=provider.invent_secret(secrets.token_bytes).sign,  # nobody verifies it
            delivery_id=secrets.token_hex(16),
            now_ms=now,
            address=address,
        )
        sent = tuple((n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in made.headers)
    except ValueError as error:  # UnicodeEncodeError is one too
        raise UsageError(f"{event!r} cannot be an event's name here: {error}") from None
    return InboundRequest(
        "POST", address.encode("latin-1"), made.query.encode("ascii"), sent, made.body, "", now
    )


def _say_other_name(event: str, reading: Reading) -> None:
    """Some senders name the event, or its action, in the body; then the body is believed."""
    names = {n for e in reading.events for n in (e.name, f"{e.name}.{e.action}")}
    if names and event not in names:
        first = reading.events[0]
        said = f"{first.name}.{first.action}" if first.action else first.name
        note(f"by its payload this is {visible(said)}, not {visible(event)}")


# -- both


def _explained(
    delivery: Delivery,
    record: DeliveryRecord | None,
    reading: Reading,
    ruleset: Ruleset,
    by: str,
    number: int | None,
) -> Explanation:
    shown = ruleset.provider_name(delivery.endpoint, delivery.provider)
    named = msgspec.structs.replace(delivery, provider=shown)
    answer = _answered(delivery, reading, ruleset)
    if (reason := unrouted(delivery, reading)) is not None:
        return Explanation(named, record, ruleset.generation, by, (), visible(reason), answer)
    if number is not None and not 0 <= number < len(reading.events):
        raise NotFound(
            f"it has no event {number}: its events are numbered from 0 to {len(reading.events) - 1}"
        )
    chosen = reading.events if number is None else reading.events[number : number + 1]
    ids = None if record is None else {e.index: e.id for e in record.events}
    events = Explainer(ruleset).events(delivery, chosen, ids)
    return Explanation(named, record, ruleset.generation, by, events, None, answer)


def _answered(delivery: Delivery, reading: Reading, ruleset: Ruleset) -> str | None:
    """The answer in one line, and why it is not the first one."""
    if (made := ruleset.answers.get(delivery.endpoint)) is None:
        return None
    payload = ruleset.providers[delivery.provider].payload(as_request(delivery), reading)
    found, reasons = made.answer(answer_scope(delivery, payload))
    said = "the usual one" if found is None else f"{found.status} {short(found.body[0])}"
    return visible("; ".join((said, *reasons)))
