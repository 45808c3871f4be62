"""Redacting in small steps beside load: deliveries of which nothing is open any more."""

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from router.clock import Clock
from router.errors import StoreUnavailable, UsageError
from router.log import Log
from router.log.redacting import GIVEN_MIN_BYTES, Redactor
from router.model.delivery import REDACTED_VALUE, Delivery
from router.model.job import ENDED, Attempt, Job
from router.model.packed import body_size
from router.model.settings import Redact
from router.providers import Provider
from router.rules.live import LiveRef, LiveRuleset
from router.rules.redacting import is_redacted, taken_out
from router.store.protocol import OperatorStore
from router.store.removal import RedactionStep, Rewritten
from router.store.values import (
    CLAIM_MS,
    LIMIT_MAX,
    Claimed,
    DeliveryRecord,
    EventEntry,
    FeedQuery,
    Following,
    alone,
)

INTERVAL_S = 1.0
PAUSE_S = 0.02
"""Between two steps while there is more to do: accepting need not wait for long."""
DUE_MAX = 50
BODIES_MAX = 1_048_576
"""Bytes of bodies that one step writes anew; the last one may go beyond."""
LARGE_BODY = 256 * 1024
"""Bytes from which a body is looked through in a thread of its own."""
FACT = "redact"
"""How far the deliveries were looked at, and for what."""
WAIT_MIN_MS, WAIT_MAX_MS, PATIENCE = 1_000, 3_600_000, 4
"""What is still open is looked at again after a quarter of its age, within these bounds."""

Wanted = Mapping[str, Redact]


class RedactionUpkeep:
    """
    Takes out of stored deliveries what today's rules redact, also of those that came before.

    Every delivery is looked at once, in the order of the commits; what is too early then is looked
    at again when its time has come. A step that is broken off is made again.
    """

    def __init__(
        self,
        *,
        store: OperatorStore,
        live: LiveRef,
        clock: Clock,
        log: Log,
        claimed: Claimed = alone,
    ) -> None:
        self._store, self._live, self._clock, self._log = store, live, clock, log
        self._claimed = claimed

    async def run(self) -> None:
        """Step for ever; a store that cannot answer now is called again at the next turn."""
        while True:
            more = False
            try:
                more = await self.step()
            except StoreUnavailable as error:
                self._log.error("redacting could not run", error=str(error))
            await self._clock.sleep(PAUSE_S if more else INTERVAL_S)

    async def step(self) -> bool:
        """Look at some deliveries and write what is due; True: there are more at once."""
        live = self._live.current
        endpoints = live.ruleset.endpoints.items()
        wanted = {name: one.redact for name, one in endpoints if one.redact is not None}
        if not wanted or not await self._claimed("redact", CLAIM_MS):
            return False
        now, step = self._clock.ledger(), _RedactingStep(self._store, live, wanted, self._clock)
        due = await self._store.reads.due_redactions(now, DUE_MAX)
        for id_ in due:
            if step.bytes < BODIES_MAX:
                await step.look_again(id_)
        known, following = await self._following(wanted)
        for stored in following.deliveries:
            await step.look(stored.delivery, stored.history)
        facts = {FACT: {"for": _digest(wanted), "cursor": following.cursor}}
        if facts[FACT] == known and not step.later and not step.rewritten:
            return False
        done = RedactionStep(tuple(step.rewritten), step.later, facts)
        if count := await self._store.redact(done, now=now):
            self._log.info("redacted", deliveries=count)
        return following.more or len(due) == DUE_MAX or step.bytes >= BODIES_MAX

    async def _following(self, wanted: Wanted) -> tuple[object, Following]:
        """How far it has come, as the store knows it, and the deliveries from there on."""
        known = (await self._store.reads.recall(FACT)).get(FACT) or {}
        cursor = known.get("cursor") if known.get("for") == _digest(wanted) else None
        query = FeedQuery(cursor, endpoints=frozenset(wanted), limit=LIMIT_MAX, history=True)
        try:
            return known, await self._store.reads.following(query)
        except UsageError:  # a place in another kind of store: this ledger has moved
            anew = msgspec.structs.replace(query, cursor=None)
            return known, await self._store.reads.following(anew)


def _digest(wanted: Wanted) -> str:
    """Of what is redacted, and when: if it changes, every delivery is looked at again."""
    return hashlib.sha256(msgspec.json.encode(sorted(wanted.items()))).hexdigest()


class _RedactingStep:
    """One step: what is written anew, and what is looked at again, when."""

    def __init__(
        self, store: OperatorStore, live: LiveRuleset, wanted: Wanted, clock: Clock
    ) -> None:
        self._store, self._live, self._wanted, self._clock = store, live, wanted, clock
        self.rewritten: list[Rewritten] = []
        self.later: dict[str, int | None] = {}
        self.bytes = 0

    async def look_again(self, id_: str) -> None:
        """At one that was too early."""
        self.later[id_] = None
        if (record := await self._store.reads.delivery(id_)) is not None:
            await self.look(record.delivery, record.jobs)

    async def look(self, delivery: Delivery, jobs: Iterable[Job]) -> None:
        redact = self._wanted.get(delivery.endpoint)
        if redact is None or delivery.damaged or is_redacted(delivery, redact):
            return
        if (at := self._when(delivery, tuple(jobs), redact)) is not None:
            self.later[delivery.id] = at
            return
        record = await self._store.reads.delivery(delivery.id)
        if record is None or record.delivery.damaged:
            return
        self.bytes += (size := body_size(delivery))
        if size > LARGE_BODY:
            self.rewritten.append(await asyncio.to_thread(self._rewritten, record, redact))
        else:
            self.rewritten.append(self._rewritten(record, redact))

    def _rewritten(self, record: DeliveryRecord, redact: Redact) -> Rewritten:
        live, endpoint = self._live, record.delivery.endpoint
        provider = live.ruleset.providers[live.ruleset.endpoints[endpoint].provider]
        hides = endpoint in live.hidden.keys
        return rewritten(record, redact, provider, self._clock.now(), hides_keys=hides)

    def _when(self, delivery: Delivery, jobs: tuple[Job, ...], redact: Redact) -> int | None:
        """The ledger time at which it is to be looked at again; None: its time has come."""
        now, offset = self._clock.ledger(), self._clock.offset
        received = delivery.received_at - offset
        if any(job.state not in ENDED for job in jobs):
            wait = (now - received) // PATIENCE
            return now + min(max(wait, WAIT_MIN_MS), WAIT_MAX_MS)
        ended = max([received, *(job.ended_at - offset for job in jobs if job.ended_at)])
        return None if ended + redact.after_ms <= now else ended + redact.after_ms


def rewritten(
    record: DeliveryRecord, redact: Redact, provider: Provider, at: int, *, hides_keys: bool
) -> Rewritten:
    """
    What the store is to have of it from `at` (wall time) on. The values that were at these paths,
    of four characters and more, are taken out of outputs, results and reasons, too. `hides_keys`:
    its dedupe keys held some of them.
    """
    delivery, values, _ = taken_out(record.delivery, redact, provider, at)
    outputs = CleanOutputs(values)
    reasons = {job.id: outputs.text(job.reason) for job in record.jobs if job.reason}
    keys = _hidden(record.events, delivery.endpoint) if hides_keys else {}
    return Rewritten(
        delivery,
        tuple([_with_keys(event, keys) for event in record.events]),
        jobs=len(record.jobs),
        tried=len(record.attempts),
        reasons={
            j.id: reasons[j.id] for j in record.jobs if reasons.get(j.id) not in (None, j.reason)
        },
        attempts=tuple(outputs.changed(record.attempts)),
        keys=keys,
        clean=outputs.text,
    )


def _hidden(events: Iterable[EventEntry], endpoint: str) -> dict[bytes, bytes]:
    """Keys that are no digests, as planning makes them from now on."""
    plain, guard = endpoint.encode() + b"\0", endpoint.encode() + b"\0body\0"
    return {
        key: hashlib.sha256(key).digest()
        for event in events
        for key in event.keys
        if key.startswith(plain) and not key.startswith(guard)
    }


def _with_keys(event: EventEntry, keys: dict[bytes, bytes]) -> EventEntry:
    return msgspec.structs.replace(event, keys=tuple([keys.get(key, key) for key in event.keys]))


class CleanOutputs:
    """Takes values out of what actions left: texts as they stand there, and numbers."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = {value for value in values if len(value) >= GIVEN_MIN_BYTES}
        self._texts = Redactor(GIVEN_MIN_BYTES, encoded=True, mask=REDACTED_VALUE)
        self._texts.register(self._values)
        self.text = self._texts.text

    def changed(self, attempts: Iterable[Attempt]) -> Iterator[Attempt]:
        """The attempts of which something is taken out, without it."""
        for attempt in attempts:
            clean = msgspec.structs.replace(
                attempt,
                reason=attempt.reason and self.text(attempt.reason),
                result=self._texts.json_value(self._numbers(attempt.result)),
            )
            if clean != attempt:
                yield clean

    def _numbers(self, value: Any) -> Any:
        """A JSON value without the numbers that were taken out."""
        if isinstance(value, dict):
            return {key: self._numbers(one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._numbers(one) for one in value]
        counts = isinstance(value, int | Decimal) and not isinstance(value, bool)
        return REDACTED_VALUE if counts and str(value) in self._values else value
