"""An explanation for reading: what matched, what nearly did, what erred, and the rest in short."""

from collections.abc import Iterator, Sequence

from router.cli.explain_input import Explanation
from router.cli.explain_leaves import rule_lines, verdict
from router.cli.flags import flags_text
from router.cli.output import aged
from router.legible import visible
from router.model.delivery import full_name
from router.rules.explain import MATCHED, EventReading, Passed, RuleReading, near_misses
from router.rules.explain_words import passed_words, short
from router.web.pages.shown import dedupe, verified

EVENTS_SHOWN = 5
NEAR_SHOWN = 5
OTHERS_SHOWN = 20


def explanation_lines(found: Explanation, *, whole: bool) -> Iterator[str]:
    """`whole`: every rule with all its leaves, as when one was named."""
    yield from _head(found)
    if found.reason is not None:
        yield from ("", f"no rule was evaluated: {found.reason}")
    for event in found.events[:EVENTS_SHOWN]:
        yield from _event(event, whole)
    more = len(found.events) - EVENTS_SHOWN
    if more > 0:
        yield from ("", f"… and {more} more events: name one with --event, or use --json")


def _head(found: Explanation) -> Iterator[str]:
    d, record = found.delivery, found.record
    if record is not None:
        yield f"delivery  {d.id}, received {aged(d.received_at)}"
    yield f"endpoint  {d.endpoint} ({d.provider})"
    if record is not None:
        yield f"verified  {verified(d)}"
        last = f", the last {aged(record.last_seen_at)}" if record.last_seen_at else ""
        yield f"dedupe    {dedupe(record)}{last}"
    if d.flags:
        yield f"flags     {flags_text(d.flags)}"
    if found.answer is not None:
        yield f"answer    {found.answer}"
    yield f"rules     {found.by}"


# -- one event


def _event(e: EventReading, whole: bool) -> Iterator[str]:
    name = full_name(e.event.name, e.event.action)
    yield from ("", f"event {e.event.index}: {visible(name)} {e.event.id}".rstrip())
    if e.known:
        yield "  a duplicate event: it was not routed; these are the results it would have had"
    if not e.rules:
        yield "  no rules"
    matched = [r for r in e.rules if r.status in MATCHED]
    near = near_misses(e.rules)
    shown, distant = (near, []) if whole else (near[:NEAR_SHOWN], near[NEAR_SHOWN:])
    errors = [r for r in e.rules if r.status == "error"]
    unknown = [r for r in e.rules if r.status == "redacted"]
    yield from _group("matched", matched)
    yield from _group("what they decided on is redacted", unknown)
    yield from _group("near misses, the nearest first", shown)
    yield from _group("errors", errors)
    skipped = [r for r in distant if r.passed is not None]
    yield from _short("skipped by the index", skipped, whole)
    listed = {r.rule.id for r in (*matched, *unknown, *shown, *errors, *skipped)}
    others = {r.rule.id: r for r in (*distant, *e.rules) if r.rule.id not in listed}
    yield from _short("others", list(others.values()), whole)


def _group(title: str, readings: Sequence[RuleReading]) -> Iterator[str]:
    if readings:
        yield from ("", title)
    for reading in readings:
        yield from rule_lines(reading)
        if reading.passed is not None:
            yield f"    skipped by the index: {_passed(reading.passed)}"


def _short(title: str, readings: Sequence[RuleReading], whole: bool) -> Iterator[str]:
    if readings:
        yield from ("", title)
    for reading in readings if whole else readings[:OTHERS_SHOWN]:
        yield f"  {reading.rule.id}  {_briefly(reading)}"
    if len(readings) > OTHERS_SHOWN and not whole:
        yield f"  … and {len(readings) - OTHERS_SHOWN} more: --rule ID shows one, --json all"


def _briefly(r: RuleReading) -> str:
    sources = ", ".join(r.rule.sources or ("all",))
    not_evaluated = {
        "quiet": f"otherwise: skipped, because {', '.join(r.quieted_by)} matched",
        "not for this event": f"not for this event: wants {', '.join(r.rule.events or ())}",
        "not for this endpoint": f"not for this endpoint: from {sources}",
    }
    evaluated = verdict(r) if r.passed is None else _passed(r.passed)
    return not_evaluated.get(r.status, evaluated)


def _passed(p: Passed) -> str:
    return passed_words(p.need, p.there, p.found, short)
