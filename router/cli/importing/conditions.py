"""
A trigger rule as a condition with the same verdict.

For webhook a rule is true or false, and beside this it may lack a parameter. One that does is
false, but `not` makes it true, and lacking all the same: true for `or` and as the whole rule, false
within `and`.
"""

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from router.cli.importing.hooks_file import Hook
from router.cli.importing.request_values import RequestValues, merged, quoted
from router.cli.importing.trigger_rule import Trigger, fits_text
from router.expressions import NotJson, decode_json

NULL = "<nil>"
"""Null as webhook's text of it."""


class Combined(NamedTuple):
    """Formulas joined by `&&` or `||`."""

    word: str
    parts: tuple["Formula", ...] = ()


Formula = str | Combined
"""A text is an expression that holds no `&&` or `||` of its own."""

ALWAYS, NEVER = Combined("&&"), Combined("||")


def _join(word: str, parts: Iterable[Formula]) -> Formula:
    """The formula that all or one of these hold, simplified where nothing is lost."""
    decided = NEVER if word == "&&" else ALWAYS
    flat = (
        one.parts if isinstance(one, Combined) and one.word == word else (one,) for one in parts
    )
    kept = tuple(dict.fromkeys(chain.from_iterable(flat)))
    if decided in kept:
        return decided
    return kept[0] if len(kept) == 1 else Combined(word, kept)


_every, _some = partial(_join, "&&"), partial(_join, "||")


def _written(formula: Formula) -> str:
    """As one expression."""
    if isinstance(formula, str):
        return formula
    if formula.word == "||":
        return " || ".join(map(_written, formula.parts)) or "1 == 2"
    each = (one if isinstance(one, str) else f"({_written(one)})" for one in formula.parts)
    return " && ".join(each) or "1 == 1"


def listed(match: Formula) -> str | dict[str, Any] | list[Any]:
    """A condition as a rule writes it."""
    if isinstance(match, str):
        return match
    if match.word == "||":
        return {"any": [_written(part) for part in match.parts]}
    return [listed(part) for part in match.parts]


class TriggerReading(NamedTuple):
    """When a rule is true or false, each also surely, with nothing lacking; and when it lacks."""

    holds: Formula = NEVER
    surely_holds: Formula = NEVER
    fails: Formula = NEVER
    surely_fails: Formula = NEVER
    lacks: Formula = NEVER


class Conditions(NamedTuple):
    """
    The conditions of one hook. `secrets` are the names of those that its matches prove; of `hidden`
    comparisons, which may be secret too, rules hold hashes.
    """

    hook: Hook
    values: RequestValues
    secrets: dict[Trigger, str]
    hidden: list[Trigger]

    def reading(self, rule: Trigger) -> TriggerReading:
        """When webhook finds it true, and when false."""
        if (proof := self._proof(rule)) is not None:
            return TriggerReading(proof, proof)
        if rule.compares:
            return self._compared(rule)
        each = [self.reading(one) for one in rule.rules]
        if rule.kind == "not":
            [one] = each
            return TriggerReading(*one[2:4], *one[:2], one.lacks)
        if rule.kind == "or":
            holds, fails = _some(one.holds for one in each), _every(one.fails for one in each)
            return TriggerReading(holds, holds, fails, fails)
        return _all_of(each) if rule.kind == "and" else TriggerReading()

    def _proof(self, rule: Trigger) -> Formula | None:
        """Whether the sender has proved itself so; None of what proves nothing."""
        known = set(self.secrets.values())
        if rule.kind == "or":  # one of all secrets has been shown
            shown = {self.secrets[one] for one in rule.rules if one in self.secrets}
            return ALWAYS if shown and shown == known else None
        if rule not in self.secrets:
            return None
        return f"delivery.verified_by == '{self.secrets[rule]}'" if len(known) > 1 else ALWAYS

    def _compared(self, leaf: Trigger) -> TriggerReading:
        """
        A value that is there may be another. One that is not there is neither equal nor unequal; as
        a text it is `null`.
        """
        if not (paths := self.values.paths(leaf.parameter)):
            return TriggerReading()
        there = _some(f"exists({path})" for path in paths)
        absent = _every(f"!exists({path})" for path in paths)
        place = merged(paths)
        same, other = holds, fails = self._sides(leaf, place)
        if leaf.kind == "regex":
            if not leaf.parameter.is_text and fits_text(leaf.given, "null"):
                same = _every((there, holds))
        elif leaf.given == NULL:
            same = _some((_every((there, f"{place} == null")), holds))
            other = _every((f"{place} != null", fails))
        bare = other == fails and str(fails).partition(" != ")[0] == paths[0]
        surely = other if bare else _every((there, other))
        return TriggerReading(same, same, _some((absent, other)), surely, absent)

    def _sides(self, leaf: Trigger, place: str) -> tuple[Formula, Formula]:
        """
        Equal and unequal: texts, where something else than a text may have this value, and hashes
        of what shows who sends, for rules hold no secrets.
        """
        text = place if leaf.parameter.is_text else f"to_string({place})"
        value: str = leaf.given
        if leaf.kind == "regex":
            fits = "matches({}, '{}')".format(text, value.replace("'", "\\'"))
            return fits, f"!{fits}"
        if leaf.given.kind:
            self.hook.note(leaf.given.node, "call")
        if leaf in self.hidden:
            text, value = f"sha256({text})", hashlib.sha256(value.encode()).hexdigest()
        elif not _is_json(value):
            text = place
        elif value[:1] in "[{":
            self.hook.note(leaf.node, "json-order")
        return f"{text} == {quoted(value)}", f"{text} != {quoted(value)}"


def _all_of(each: Sequence[TriggerReading]) -> TriggerReading:
    """It fails or lacks by the first that does, where all before it surely hold."""
    holds = _every(one.surely_holds for one in each)
    fails = _some(part for one in each for part in (one.fails, one.lacks))
    surely_fails: Formula = NEVER
    lacks: Formula = NEVER
    for one in reversed(each):
        surely_fails = _some((one.surely_fails, _every((one.surely_holds, surely_fails))))
        lacks = _some((one.lacks, _every((one.surely_holds, lacks))))
    return TriggerReading(holds, holds, fails, surely_fails, lacks)


def _is_json(text: str) -> bool:
    """Whether a number, true, false, a list or an object has this text."""
    with suppress(NotJson):
        return not isinstance(decode_json(text.encode()), str | None)
    return False
