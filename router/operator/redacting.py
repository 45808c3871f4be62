"""A stored delivery with all that came of it, without what `redact` takes out of it."""

import hashlib
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import msgspec

from router.log.redacting import GIVEN_MIN_BYTES, Redactor
from router.model.delivery import REDACTED_VALUE
from router.model.job import Attempt
from router.model.settings import Redact
from router.providers import Provider
from router.rules.redacting import taken_out
from router.store.removal import Rewritten
from router.store.values import DeliveryRecord, EventEntry


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
