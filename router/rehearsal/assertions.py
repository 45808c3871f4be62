"""Expected against seen: a line for each difference."""

from collections.abc import Iterator, Mapping
from functools import cached_property

from router.kinds import KINDS
from router.model.trial import ActionKey, Expected, ExpectedCall, Trial
from router.rehearsal.explained import ExplainedEvent, TrialExplainer, explanation, obstacles
from router.rehearsal.mismatch import cut, mismatches, picture
from router.rehearsal.record import TrialRecord


def failures(trial: Trial, seen: TrialRecord, explainer: TrialExplainer) -> tuple[str, ...]:
    """Everything that is not as expected, in the order of the keys of `expect`."""
    return tuple(Assertions(trial.expect, seen, explainer).lines())


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
        """A line for each difference, and below it what explains it."""
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
        yield f"{word}: expected {_listed(expected)}, came {_listed(came)}"
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
            yield f"because.{rule}: expected {reason!r}, came {came}"
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
    yield f"status: expected {left}, came {right}{why}"


def _ended(
    word: str, expected: frozenset[ActionKey], jobs: Mapping[ActionKey, str]
) -> Iterator[str]:
    if expected == set(jobs):
        return
    names = _listed({_key(k) for k in expected}), _listed({_key(k) for k in jobs})
    yield f"{word}: expected {names[0]}, came {names[1]}"
    for key in sorted(set(jobs) - expected):
        yield f"  {_key(key)}: {cut(jobs[key])}"


def _calls(key: ActionKey, expected: ExpectedCall, seen: TrialRecord) -> Iterator[str]:
    calls = seen.calls.get(key, [])
    place = f"calls.{_key(key)} (line {expected.line})"
    wanted = "at least 1" if expected.times is None else str(expected.times)
    if (expected.times is None and not calls) or expected.times not in (None, len(calls)):
        dead = f"; the job is dead: {cut(seen.dead[key])}" if key in seen.dead else ""
        yield f"{place}: times: expected {wanted}, came {len(calls)}{dead}"
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
