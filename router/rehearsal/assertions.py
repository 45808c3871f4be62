"""Expected against seen: a line for each difference."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import pairwise

from router.expressions import NotJson, decode_json
from router.intake.reply import Reply
from router.kinds import KINDS
from router.kinds.kind import ActionCall
from router.legible import cut
from router.model.measures import duration_text
from router.model.trial import ActionKey, ExpectedAnswer, ExpectedCall, Trial
from router.rehearsal.differences import NOTHING, SHOWN_MAX, mismatches, picture
from router.rehearsal.explained import ExplainedEvent, TrialExplainer, explanation, obstacles
from router.rehearsal.record import TrialRecord

DELAY_OFF_MS = 50
"""What a delay may be off: attempts begin in a turn of the loop, not at an instant."""


class Assertions:
    """Compares one trial's expectations with what came of it."""

    def __init__(self, trial: Trial, seen: TrialRecord, explainer: TrialExplainer) -> None:
        self._trial = trial
        self._expect = trial.expect
        self._seen = seen
        self._explainer = explainer
        self._shown: set[str] = set()

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
        yield from _answers(expect.answers, seen.answers)
        for word, names, came in (
            ("matched", expect.matched, seen.matched),
            ("shadow", expect.shadow, seen.shadow),
        ):
            if names is not None:
                yield from self._rules(word, names, set(came))
        for rule, reason in expect.because.items():
            yield from self._because(rule, reason)
        for key, call in expect.calls.items():
            yield from self._calls(key, call)
        yield from _order(expect.order, seen)
        for word, keys, jobs in (
            ("dead", expect.dead, seen.dead),
            ("cancelled", expect.cancelled, seen.cancelled),
        ):
            if keys is not None:
                yield from _ended(word, keys, jobs)
        yield from self._unused()

    def _rules(self, word: str, expected: frozenset[str], came: set[str]) -> Iterator[str]:
        if expected == came:
            return
        yield f"{word}: expected {_listed(expected)}, got {_listed(came)}"
        for rule in (*sorted(expected - came), *sorted(came - expected)):
            yield from self._explained(rule)

    def _explained(self, rule: str) -> Iterator[str]:
        """What each event made of a rule, once in a test."""
        if rule not in self._shown:
            self._shown.add(rule)
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
        yield from self._explained(rule)

    def _calls(self, key: ActionKey, expected: ExpectedCall) -> Iterator[str]:
        calls = self._seen.calls.get(key, [])
        place = f"calls.{_key(key)} (line {expected.line})"
        wanted = "at least 1" if expected.times is None else str(expected.times)
        if (expected.times is None and not calls) or expected.times not in (None, len(calls)):
            yield f"{place}: times: expected {wanted}, got {len(calls)}{self._why(key)}"
            yield from self._explained(key[0])
        yield from _fields(place, expected, calls)
        if expected.delays_ms is not None:
            for begun in self._seen.begun.get(key, {}).values():
                if (wrong := _delays(expected.delays_ms, begun)) is not None:
                    yield f"{place}: {wrong}"
                    break

    def _why(self, key: ActionKey) -> str:
        """What became of a job that was called too seldom."""
        for word, jobs in (("dead", self._seen.dead), ("cancelled", self._seen.cancelled)):
            if key in jobs:
                return f"; the job is {word}: {cut(jobs[key], SHOWN_MAX)}"
        return ""

    def _unused(self) -> Iterator[str]:
        """Replies that nobody was given: the test is not about what it says."""
        for key, answers in self._trial.replies.items():
            count = len(self._seen.calls.get(key, ()))
            if count == 0 and not self._is_told(key):
                yield f"replies.{_key(key)}: nothing was answered by it{self._why(key)}"
                yield from self._explained(key[0])
            elif 0 < count < len(answers):
                yield f"replies.{_key(key)}: {len(answers)} are listed, {count} of them were used"

    def _is_told(self, key: ActionKey) -> bool:
        """Whether the test itself says what the action does: nothing, or how often it is called."""
        expect, rule = self._expect, key[0]
        if rule in expect.because or key in {*(expect.dead or ()), *(expect.cancelled or ())}:
            return True
        if expect.matched is not None and rule not in expect.matched:
            return True
        return key in expect.calls


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


def _answers(expected: tuple[ExpectedAnswer, ...], came: list[Reply]) -> Iterator[str]:
    each = expected * len(came) if len(expected) == 1 else expected
    told: set[str] = set()
    for number, (wanted, reply) in enumerate(zip(each, came, strict=False), 1):
        for line in _answer(wanted, reply):
            if line not in told:
                yield f"answer{f' {number}' if len(came) > 1 else ''}.{line}"
            told.add(line)


def _answer(expected: ExpectedAnswer, came: Reply) -> Iterator[str]:
    if expected.status not in (None, came.status):
        yield f"status: expected {expected.status}, got {came.status}"
    if expected.headers is not None:
        wanted = {name.lower(): value for name, value in expected.headers.items()}
        yield from mismatches("headers", wanted, _headers(came), subset=True)
    if expected.json is not None:
        try:
            body = decode_json(came.body)
        except NotJson:
            body = came.body.decode("utf-8", "replace")
        yield from mismatches("json", expected.json, body, subset=True)
    if expected.text is not None:
        body = came.body.decode("utf-8", "replace")
        yield from mismatches("text", expected.text, body, subset=False)


def _headers(reply: Reply) -> dict[str, str]:
    named = {name.decode(): value.decode("latin-1") for name, value in reply.headers}
    named["content-type"] = reply.content_type
    if reply.retry_after is not None:
        named["retry-after"] = str(reply.retry_after)
    if reply.challenge is not None:
        named["www-authenticate"] = reply.challenge.decode("latin-1")
    return named


def _fields(place: str, expected: ExpectedCall, calls: list[ActionCall]) -> Iterator[str]:
    shown: set[str] = set()
    for number, call in enumerate(calls, 1):
        for name, value in expected.fields.items():
            field = KINDS[call.kind].calls[name]
            lower = field.lower and isinstance(value, dict)
            wants = {k.lower(): v for k, v in value.items()} if lower else value
            came = field.read(call)
            there = NOTHING if came is None and field.form == "text" else came
            found = mismatches(name, wants, there, subset=field.form in ("table", "json"))
            new = [line for line in found if line not in shown]
            for line in new:
                yield f"{place}: {f'call {number}: ' if len(calls) > 1 else ''}{line}"
            structured = field.form == "json" and isinstance(value, dict | list)
            if new and structured and name not in shown:
                yield from (f"  {line}" for line in picture(value, came))
                shown.add(name)
            shown.update(new)


def _delays(expected: tuple[int, ...] | int, begun: list[int]) -> str | None:
    """Why the delays between these times are not those, None if they are."""
    came = [later - earlier for earlier, later in pairwise(begun)]
    wanted = [expected] * len(came) if isinstance(expected, int) else list(expected)
    near = len(wanted) == len(came) and all(
        abs(one - other) <= DELAY_OFF_MS for one, other in zip(wanted, came, strict=True)
    )
    if near:
        return None
    seconds = [round(one / 1_000) * 1_000 or one for one in came]
    left, right = (", ".join(map(duration_text, each)) for each in (wanted, seconds))
    return f"delays: expected [{left}], got [{right}]"


def _order(expected: tuple[ActionKey, ...], seen: TrialRecord) -> Iterator[str]:
    came = [key for key in seen.calls if key in expected]
    if list(expected) != came:
        wanted, got = (", ".join(map(_key, keys)) for keys in (expected, came))
        yield f"order: expected [{wanted}], got [{got}]"


def _listed(names: frozenset[str] | set[str]) -> str:
    return f"[{', '.join(sorted(names))}]"


def _key(key: ActionKey) -> str:
    return "/".join(key)
