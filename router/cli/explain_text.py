"""
An explanation for reading: what matched, what nearly did, what erred, and the rest in short.

Of a rule: its conditions, a mark under each part, what was found, what it lacked.
"""

from collections.abc import Iterator, Sequence

from router.cli.explain_input import Explanation
from router.cli.output import aged, flags_text
from router.expressions.trace import Leaf
from router.legible import visible
from router.model.delivery import full_name
from router.rules import explain_words as words
from router.rules.explain import (
    MATCHED,
    EventReading,
    ItemReading,
    Passed,
    RuleReading,
    near_misses,
)
from router.rules.explain_words import passed_words, short
from router.rules.redacting import GONE
from router.rules.smallest_change import SmallestChange
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


_COLUMN = 42
_MARKED_MAX = 120
_INDENT = 16


def rule_lines(r: RuleReading) -> Iterator[str]:
    """The rule with all its leaves, and the smallest change that would have matched."""
    yield f"  {r.rule.id}  {verdict(r)}"
    sources = "all" if r.rule.sources is None else ", ".join(r.rule.sources)
    yield f"    T from      {sources}"
    yield f"    T events    {', '.join(r.rule.events) if r.rule.events else 'every event'}"
    for position, item in enumerate(r.items):
        yield from _item(f"match[{position}]", item)
    if r.ungrouped:
        yield f"    {words.NO_TURN}"
    yield from _changes(r.changes)


def verdict(r: RuleReading) -> str:
    """Its status in words."""
    mode = "" if r.rule.mode == "live" or r.status in MATCHED else f" ({r.rule.mode})"
    if r.status in MATCHED:
        return MATCHED[r.status]
    if r.status == "redacted":
        return f"UNKNOWN{mode}: {GONE} ({', '.join(r.gone)})"
    if r.status == "error":
        return f"ERROR, which is no match{mode}"
    total = len(r.leaves)
    return f"NOT MATCHED{mode}  {r.failed} of {total} {'leaf' if total == 1 else 'leaves'} failed"


def one_line(text: str) -> str:
    """Text of one or more lines as one, for a terminal."""
    return visible(words.one_line(text))


def _item(label: str, item: ItemReading) -> Iterator[str]:
    head = f"    {words.SIGNS[words.verdict_word(item.verdict)]} {label:<9} "
    if words.is_one_leaf(item):
        yield head + _beside(item.leaves[0])
        return
    yield head + one_line(item.source)
    if marks := _marks(item):
        yield " " * _INDENT + marks
    for leaf in item.leaves:
        yield f"{'':14}{words.SIGNS[leaf.verdict]} {_beside(leaf)}"


def _marks(item: ItemReading) -> str:
    """A caret and its number under the beginning of each leaf; those that failed are underlined."""
    line, columns = _collapsed(item.source)
    if len(line) > _MARKED_MAX or visible(line) != line:
        return ""
    marks, base, expression = "", -1, ""
    for leaf in item.leaves:
        if leaf.expression is not expression:  # each item of a group is a text of its own
            expression = leaf.expression
            base = item.source.find(expression, base + 1)
        if base < 0:
            return ""
        start, end = columns[base + leaf.start], columns[base + leaf.end]
        mark = f"^{leaf.number}"
        marks = marks.ljust(start) + (mark.ljust(end - start, "~") if leaf.failed else mark)
    return marks


def _collapsed(text: str) -> tuple[str, list[int]]:
    """The text as `one_line` has it, and where each of its characters (and its end) went."""
    line, columns = "", []
    for character in text:
        columns.append(len(line))
        if not character.isspace():
            line += character
        elif line and not line.endswith(" "):
            line += " "
    return line.rstrip(), [*columns, len(line)]


def _beside(leaf: Leaf) -> str:
    """A leaf and what was found."""
    name = f"{leaf.number} {one_line(leaf.text)}"
    return f"{name:<{_COLUMN}}  {words.leaf_words(leaf)}".rstrip()


# -- the smallest change


def _changes(changes: tuple[SmallestChange, ...]) -> Iterator[str]:
    if len(changes) == 1:
        yield f"    the smallest change: {_change(changes[0])}"
    elif changes:
        yield "    the smallest change, one of:"
        yield from (f"      {change.leaf} {_change(change)}" for change in changes)


def _change(change: SmallestChange) -> str:
    hint = None if change.hint is None else one_line(change.hint)
    return words.change_words(
        one_line(change.of), one_line(change.needs), change.found, hint, words.short
    )
