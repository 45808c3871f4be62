"""A difference for reading: what the rules say, then by rule what it did, with a few examples."""

from collections.abc import Iterator, Sequence
from itertools import chain

from router.cli.output import counted, timestamp
from router.expressions import JSON, encode_json
from router.expressions.changes import Change
from router.legible import cut, visible
from router.rehearsal.diff import CallChange, Difference, Effect

EXAMPLES_SHOWN = 3
CHANGES_SHOWN = 8
_VALUE_MAX = 60
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


def difference_lines(found: Difference) -> Iterator[str]:
    """All rules; of the effects the first few of each kind."""
    yield f"old  {found.old}"
    yield f"new  {found.new}"
    if found.rules:
        yield from ("", "rules")
    for rule in found.rules:
        yield f"  {_SIGNS[rule.kind]} {rule.rule}  {rule.kind}"
        yield from (f"      {_line(change)}" for change in rule.changes)
    if found.settings:
        yield from ("", "settings", *(f"  {_line(change)}" for change in found.settings))
    yield from ("", _summary(found))
    by_rule: dict[str, list[Effect]] = {}
    for effect in found.effects:
        by_rule.setdefault(effect.rule, []).append(effect)
    for name in sorted(by_rule):
        yield from _rule(name, by_rule[name])


def _summary(found: Difference) -> str:
    touched = len({effect.delivery for effect in found.effects})
    skipped = f", {len(found.skipped)} that no rule sees" if found.skipped else ""
    deliveries, events = counted(found.deliveries, "delivery"), counted(found.events, "event")
    compared = f"{deliveries} ({events}) compared{skipped}"
    if not found.rules and not found.settings and not touched:
        return f"no difference; {compared}"
    return f"{compared}: {touched or 'none'} would differ"


def _rule(name: str, effects: Sequence[Effect]) -> Iterator[str]:
    yield from ("", name)
    for kind in dict.fromkeys((e.kind, e.shadow) for e in effects):
        some = [e for e in effects if (e.kind, e.shadow) == kind]
        where = " in shadow" if kind[1] else ""
        yield f"  {kind[0]}{where}: {counted(len(some), 'event')}"
        yield from chain.from_iterable(map(_example, some[:EXAMPLES_SHOWN]))
        if len(some) > EXAMPLES_SHOWN:
            yield f"    … and {len(some) - EXAMPLES_SHOWN} more: --json lists all"


def _example(effect: Effect) -> Iterator[str]:
    place = f" #{effect.index}" if effect.index else ""
    when = timestamp(effect.received_at)
    yield f"    {effect.delivery}{place}  {visible(effect.event)}  {when}"
    yield from chain.from_iterable(map(_call, effect.calls))


def _call(call: CallChange) -> Iterator[str]:
    if call.kind != "changed":
        yield f"      {_SIGNS[call.kind]} {call.action}  {call.kind}"
        return
    for change in call.changes[:CHANGES_SHOWN]:
        yield f"      {_line(change, f'{call.action}: ')}"
    if len(call.changes) > CHANGES_SHOWN:
        yield f"      … and {len(call.changes) - CHANGES_SHOWN} more places: --json lists them"


def _line(change: Change, prefix: str = "") -> str:
    path = visible(change.path)
    if change.added:
        return f"+ {prefix}{path}: {_short(change.new)}"
    if change.removed:
        return f"- {prefix}{path}: {_short(change.old)}"
    return f"~ {prefix}{path}: {_short(change.old)} → {_short(change.new)}"


def _short(value: JSON) -> str:
    return cut(visible(encode_json(value).decode("utf-8")), _VALUE_MAX)
