"""An explanation for reading: what matched, what nearly did, what erred, and the rest in short."""

from collections.abc import Iterator, Sequence

from router.cli.explaining import EventReading, Explanation
from router.cli.output import moment, visible
from router.expressions import JSON, Failed, encode_json
from router.expressions.trace import Found, Leaf
from router.rules.explain import ItemReading, Passed, RuleReading, near_misses

EVENTS_SHOWN = 5
NEAR_SHOWN = 5
OTHERS_SHOWN = 20
_VALUE_MAX = 80
_COLUMN = 44
_SIGNS = {"true": "T", "false": "F", "error": "E", "not evaluated": "-"}
_MATCHED = {
    "matched": "MATCHED",
    "shadow": "MATCHED in shadow: it does not act",
    "paused": "MATCHED while paused: its jobs wait",
}


def explanation_lines(found: Explanation, *, whole: bool) -> Iterator[str]:
    """`whole`: every rule with all its leaves, as when one was asked for."""
    yield from _head(found)
    if found.reason is not None:
        yield ""
        yield f"no rule was asked: {found.reason}"
    for event in found.events[:EVENTS_SHOWN]:
        yield from _event(event, whole)
    more = len(found.events) - EVENTS_SHOWN
    if more > 0:
        yield ""
        yield f"… and {more} more events: name one with --event, or use --json"


def _head(found: Explanation) -> Iterator[str]:
    d, record = found.delivery, found.record
    if record is not None:
        yield f"delivery  {d.id}, received {moment(d.received_at)}"
    yield f"endpoint  {d.endpoint} ({d.provider})"
    if record is not None:
        by = "not at all: the endpoint is unsigned"
        yield f"verified  {by if d.verified_by is None else f'by secret {d.verified_by!r}'}"
        yield f"copies    {_copies(record.duplicates)}"
    yield f"rules     {found.by}"


def _copies(duplicates: int) -> str:
    return f"{duplicates} more came and were dropped" if duplicates else "none: it came once"


# -- one event


def _event(e: EventReading, whole: bool) -> Iterator[str]:
    name = e.event.name if e.event.action is None else f"{e.event.name}.{e.event.action}"
    yield ""
    yield f"event {e.event.index}: {visible(name)} {e.event.id}".rstrip()
    if e.known:
        yield "  a copy of an event known before: it was not routed; what follows is what if"
    if not e.rules:
        yield "  there are no rules"
    matched = [r for r in e.rules if r.status in _MATCHED]
    near = near_misses(e.rules)
    shown, distant = (near, []) if whole else (near[:NEAR_SHOWN], near[NEAR_SHOWN:])
    errors = [r for r in e.rules if r.status == "error"]
    yield from _group("matched", matched)
    yield from _group("near misses, the nearest first", shown)
    yield from _group("errors", errors)
    others = [r for r in e.rules if r.status not in _MATCHED and r not in near and r not in errors]
    yield from _others([*distant, *others], whole)


def _group(title: str, readings: Sequence[RuleReading]) -> Iterator[str]:
    if readings:
        yield ""
        yield title
    for reading in readings:
        yield from _rule(reading)


def _others(readings: Sequence[RuleReading], whole: bool) -> Iterator[str]:
    if readings:
        yield ""
        yield "others"
    for reading in readings if whole else readings[:OTHERS_SHOWN]:
        yield f"  {reading.rule.id}  {_briefly(reading)}"
    if len(readings) > OTHERS_SHOWN and not whole:
        yield f"  … and {len(readings) - OTHERS_SHOWN} more: --rule ID shows one, --json all"


def _briefly(r: RuleReading) -> str:
    match r.status:
        case "quiet":
            return f"otherwise: kept quiet by {', '.join(r.quieted_by)}"
        case "not for this event":
            return f"not for this event: wants {', '.join(r.rule.events or ())}"
        case "not for this endpoint":
            return f"not for this endpoint: from {', '.join(r.rule.sources or ())}"
    return _verdict(r)


# -- one rule


def _rule(r: RuleReading) -> Iterator[str]:
    yield f"  {r.rule.id}  {_verdict(r)}"
    sources = "all" if r.rule.sources is None else ", ".join(r.rule.sources)
    yield f"    T from      {sources}"
    yield f"    T events    {', '.join(r.rule.events) if r.rule.events else 'every event'}"
    for position, item in enumerate(r.items):
        yield from _item(f"match[{position}]", item)
    if r.passed is not None:
        yield f"    the index passed over it: {_passed(r.passed)}"
    pivots = [leaf for leaf in r.leaves if leaf.number in r.pivots and leaf.verdict != "error"]
    if pivots:
        wishes = [_wish(leaf) for leaf in pivots]
        yield f"    it would match if {', or '.join(wishes)}"


def _verdict(r: RuleReading) -> str:
    mode = "" if r.rule.mode == "live" or r.status in _MATCHED else f" ({r.rule.mode})"
    if r.status in _MATCHED:
        return _MATCHED[r.status]
    if r.status == "error":
        return f"ERROR, which is no match{mode}"
    total = len(r.leaves)
    failed = sum(leaf.failed for leaf in r.leaves)
    return f"NOT MATCHED{mode}  {failed} of {total} {'leaf' if total == 1 else 'leaves'} failed"


def _item(label: str, item: ItemReading) -> Iterator[str]:
    verdict = "error" if isinstance(item.verdict, Failed) else str(item.verdict).lower()
    head = f"    {_SIGNS[verdict]} {label:<9} "
    [*leaves] = item.leaves
    if len(leaves) == 1 and leaves[0].text == item.source.strip():
        yield head + _beside(leaves[0])
        return
    yield head + _one_line(item.source)
    for leaf in leaves:
        yield f"{'':14}{_SIGNS[leaf.verdict]} {_beside(leaf)}"


def _beside(leaf: Leaf) -> str:
    """A leaf and what was found."""
    if leaf.verdict == "not evaluated":
        return f"{_one_line(leaf.text):<{_COLUMN}}  not evaluated"
    said = [_said(found) for found in leaf.found if found.type != "error"]
    why = visible(leaf.reason) if leaf.reason is not None else ""
    seen = ", ".join(words for words in said if words != why)
    told = "; ".join(part for part in (seen, why) if part)
    return f"{_one_line(leaf.text):<{_COLUMN}}  {told}".rstrip()


def _said(found: Found) -> str:
    name = _one_line(found.text)
    if found.type == "absent":
        return f"{name} is not there"
    if found.type == "null":
        return f"{name} = null"
    return f"{name} = {_short(found.value)} ({found.type})"


def _passed(passed: Passed) -> str:
    wanted = " or ".join(_short(value) for value in passed.wanted)
    found = f"is {_short(passed.found)}" if passed.there else "is not there"
    return f"{'.'.join(passed.path)} {found}, the rule wants {wanted}"


def _wish(leaf: Leaf) -> str:
    """What would have to be otherwise for this leaf to help."""
    node = leaf.node
    if node is not None and node.kind == "compare" and leaf.wanted is (node.value == "=="):
        left, right = node.children
        if left.kind == "literal":
            left, right = right, left
        if right.kind == "literal" and node.value in ("==", "!="):
            name, literal = (leaf.expression[n.start : n.end] for n in (left, right))
            return f"{_one_line(name)} were {_one_line(literal)}"
    return f"{_one_line(leaf.text)} {'held' if leaf.wanted else 'did not hold'}"


def _short(value: JSON) -> str:
    """One line of JSON, cut."""
    text = visible(encode_json(value).decode("utf-8"))
    return text if len(text) <= _VALUE_MAX else f"{text[:_VALUE_MAX]}…"


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
