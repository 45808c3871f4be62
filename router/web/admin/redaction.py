"""What a caller without bodies sees: the shape of work, nothing that came in or was sent."""

from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

from router.kinds import CODES
from router.model.delivery import Delivery
from router.model.job import Attempt, Job
from router.model.operations import Cause
from router.operator.answers import HIDDEN, OneDelivery, RefusalList

T = TypeVar("T")


def redacted(found: T) -> T:
    """
    An answer without the values of headers and query, and without what jobs and attempts quote;
    however deep it holds them.
    """
    kept: Any = found
    match found:
        case tuple():
            kept = tuple(map(redacted, found))
        case Delivery() | OneDelivery():
            gone: dict[str, Any] = {"body": b""} if isinstance(found, Delivery) else {}
            gone["query"] = HIDDEN if found.query else ""
            gone["headers"] = tuple((name, HIDDEN) for name, _ in found.headers)
            kept = replace(_inner(found), **gone)
        case Job():
            waits_for = (HIDDEN,) * len(found.waits_for)
            kept = replace(found, reason=_word(found.reason), waits_for=waits_for)
        case Attempt():
            codes = {n: v for n in CODES if isinstance(v := found.result.get(n), int)}
            kept = replace(found, reason=_word(found.reason), result=codes)
        case Cause():
            kept = replace(found, reason=found.reason.partition(":")[0])
        case RefusalList():
            hidden = [{**refusal, "hint": None} for refusal in found.refusals]
            kept = replace(found, refusals=hidden)
        case Struct():
            kept = _inner(found)
    return cast("T", kept)


def _inner(found: Struct) -> Struct:
    return replace(found, **{name: redacted(value) for name, value in asdict(found).items()})


def _word(reason: str | None) -> str | None:
    """A reason begins with fixed words; what follows a colon may quote a payload or an answer."""
    word, colon, _ = (reason or "").partition(":")
    return f"{word}: {HIDDEN}" if colon else reason
