"""Expected against seen: a line for each difference."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from router.expressions import encode_json
from router.expressions.compare import same
from router.kinds import KINDS
from router.legible import cut
from router.model.trial import ActionKey, Expected, ExpectedCall
from router.rehearsal.explained import ExplainedEvent, TrialExplainer, explanation, obstacles
from router.rehearsal.record import TrialRecord


class Assertions:
    """Compares one trial's expectations with what came of it."""

    def __init__(self, expect: Expected, seen: TrialRecord, explainer: TrialExplainer) -> None:
        self._expect = expect
        self._seen = seen
        self._explainer = explainer

    @cached_property
    def _events(self) -> tuple[ExplainedEvent, ...]:
        """Read again only where something has to be explained."""
        return tuple(self._explainer.events(self._seen.deliveries))

    def lines(self) -> Iterator[str]:
        """
        A line for each difference, in the order of the keys of `expect`, and below it what explains
        it.
        """
        expect, seen = self._expect, self._seen
        yield from _statuses(expect.status, seen)
        for word, names, came in (
            ("matched", expect.matched, seen.matched),
            ("shadow", expect.shadow, seen.shadow),
        ):
            if names is not None:
                yield from self._rules(word, names, set(came))
        for rule, reason in expect.because.items():
            yield from self._because(rule, reason)
        for key, call in expect.calls.items():
            yield from _calls(key, call, seen)
        for word, keys, jobs in (
            ("dead", expect.dead, seen.dead),
            ("cancelled", expect.cancelled, seen.cancelled),
        ):
            if keys is not None:
                yield from _ended(word, keys, jobs)

    def _rules(self, word: str, expected: frozenset[str], came: set[str]) -> Iterator[str]:
        if expected == came:
            return
        yield f"{word}: expected {_listed(expected)}, got {_listed(came)}"
        for rule in (*sorted(expected - came), *sorted(came - expected)):
            yield from (f"  {line}" for line in explanation(rule, self._events))

    def _because(self, rule: str, reason: str) -> Iterator[str]:
        found: dict[str, None] = {}
        if rule in self._seen.hits:
            yield f"because.{rule}: expected {reason!r}, but it matched"
        else:
            for event in self._events:
                words = obstacles(event.rules[rule]) if event.rules else ()
                if reason in words:
                    return
                found |= dict.fromkeys(words[:2][-1:])
            came = " or ".join(map(repr, found)) or "nothing: no rule was evaluated"
            yield f"because.{rule}: expected {reason!r}, got {came}"
        yield from (f"  {line}" for line in explanation(rule, self._events))


def _statuses(expected: tuple[int, ...] | None, seen: TrialRecord) -> Iterator[str]:
    if expected is None:
        return
    came = seen.statuses
    wanted = list(expected) * len(came) if len(expected) == 1 else list(expected)
    if wanted == came:
        return
    alike = len(set(wanted)) == len(set(came)) == 1
    why = f" ({', '.join(dict.fromkeys(seen.refusals))})" if seen.refusals else ""
    left, right = (wanted[0], came[0]) if alike else (wanted, came)
    yield f"status: expected {left}, got {right}{why}"


def _ended(
    word: str, expected: frozenset[ActionKey], jobs: Mapping[ActionKey, str]
) -> Iterator[str]:
    if expected == set(jobs):
        return
    wanted, came = (_listed(set(map("/".join, keys))) for keys in (expected, jobs))
    yield f"{word}: expected {wanted}, got {came}"
    for key in sorted(set(jobs) - expected):
        yield f"  {_key(key)}: {cut(jobs[key], SHOWN_MAX)}"


def _calls(key: ActionKey, expected: ExpectedCall, seen: TrialRecord) -> Iterator[str]:
    calls = seen.calls.get(key, [])
    place = f"calls.{_key(key)} (line {expected.line})"
    wanted = "at least 1" if expected.times is None else str(expected.times)
    if (expected.times is None and not calls) or expected.times not in (None, len(calls)):
        dead = f"; the job is dead: {cut(seen.dead[key], SHOWN_MAX)}" if key in seen.dead else ""
        yield f"{place}: times: expected {wanted}, got {len(calls)}{dead}"
    shown: set[str] = set()
    for number, call in enumerate(calls, 1):
        for name, value in expected.fields.items():
            field = KINDS[call.kind].calls[name]
            wants = {k.lower(): v for k, v in value.items()} if field.lower else value
            came = field.read(call)
            found = mismatches(name, wants, came, subset=field.form in ("table", "json"))
            new = [line for line in found if line not in shown]
            for line in new:
                yield f"{place}: {f'call {number}: ' if len(calls) > 1 else ''}{line}"
            structured = field.form == "json" and isinstance(value, dict | list)
            if new and structured and name not in shown:
                yield from (f"  {line}" for line in picture(value, came))
                shown.add(name)
            shown.update(new)


def _listed(names: frozenset[str] | set[str]) -> str:
    return f"[{', '.join(sorted(names))}]"


def _key(key: ActionKey) -> str:
    return "/".join(key)


SHOWN_MAX = 200
LINES_MAX = 60
NOTHING = object()
_STEP = "  "


def mismatches(path: str, expected: Any, came: Any, *, subset: bool) -> Iterator[str]:
    """A line for each place where they differ; keys that are not expected do not count."""
    if subset and isinstance(expected, dict) and isinstance(came, dict):
        for name, value in expected.items():
            yield from mismatches(f"{path}.{name}", value, came.get(name, NOTHING), subset=True)
    elif isinstance(expected, list) and isinstance(came, list) and len(expected) == len(came):
        for i, (left, right) in enumerate(zip(expected, came, strict=True)):
            yield from mismatches(f"{path}[{i}]", left, right, subset=subset)
    elif came is NOTHING or not same(expected, came):
        yield f"{path}: expected {shown(expected)}, got {shown(came)}"


def picture(expected: Any, came: Any) -> list[str]:
    """
    Both as JSON, one line over the other: `-` what was expected, `+` what came in its place.

    Of what came but was not expected only the number of keys is shown.
    """
    lines = list(_pictured(expected, came, "", ""))
    more = len(lines) - LINES_MAX
    return [*lines[:LINES_MAX], f"  … {more} more lines"] if more > 0 else lines


def _pictured(expected: Any, came: Any, indent: str, label: str) -> Iterator[str]:
    inner = indent + _STEP
    if isinstance(expected, dict) and isinstance(came, dict):
        yield f"  {indent}{label}{{"
        for name, value in expected.items():
            yield from _pictured(value, came.get(name, NOTHING), inner, f"{_text(name)}: ")
        more = len(came.keys() - expected.keys())
        if more:
            yield f"  {inner}… {more} more {'key' if more == 1 else 'keys'}"
        yield f"  {indent}}}"
    elif isinstance(expected, list) and isinstance(came, list):
        yield f"  {indent}{label}["
        for i in range(max(len(expected), len(came))):
            left, right = (side[i] if i < len(side) else NOTHING for side in (expected, came))
            yield from _pictured(left, right, inner, "")
        yield f"  {indent}]"
    else:
        yield from _line(expected, came, indent + label)


def _line(expected: Any, came: Any, head: str) -> Iterator[str]:
    if NOTHING not in (expected, came) and same(expected, came):
        yield f"  {head}{shown(came)}"
        return
    for sign, value in (("-", expected), ("+", came)):
        if value is not NOTHING:
            yield f"{sign} {head}{shown(value)}"


def shown(value: Any) -> str:
    """A value in a line of JSON, cut."""
    return "nothing" if value is NOTHING else cut(_text(value), SHOWN_MAX)


def _text(value: Any) -> str:
    return encode_json(value).decode("utf-8")
