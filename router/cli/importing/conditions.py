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
from typing import NamedTuple

import msgspec

from router.cli.importing.hooks_file import Hook
from router.cli.importing.request_values import RequestValues, merged, quoted
from router.cli.importing.trigger_rule import Trigger, fits_text
from router.expressions import NotJson, decode_json

NULL = "<nil>"
"""Null as webhook's text of it."""


class Combined(msgspec.Struct, frozen=True):
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
        part.parts if isinstance(part, Combined) and part.word == word else (part,)
        for part in parts
    )
    kept = tuple(dict.fromkeys(chain.from_iterable(flat)))
    if decided in kept:
        return decided
    return kept[0] if len(kept) == 1 else Combined(word, kept)


every, some = partial(_join, "&&"), partial(_join, "||")


def written(formula: Formula) -> str:
    """As one expression."""
    if isinstance(formula, str):
        return formula
    if formula.word == "||":
        return " || ".join(map(written, formula.parts)) or "1 == 2"
    each = (part if isinstance(part, str) else f"({written(part)})" for part in formula.parts)
    return " && ".join(each) or "1 == 1"


class TriggerReading(NamedTuple):
    """When a rule is true or false, each also surely, with nothing lacking; and when it lacks."""

    holds: Formula = NEVER
    surely_holds: Formula = NEVER
    fails: Formula = NEVER
    surely_fails: Formula = NEVER
    lacks: Formula = NEVER


class Conditions(msgspec.Struct):
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
            return TriggerReading(
                one.fails, one.surely_fails, one.holds, one.surely_holds, one.lacks
            )
        if rule.kind == "or":
            holds, fails = some(one.holds for one in each), every(one.fails for one in each)
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
        there = some(f"exists({path})" for path in paths)
        absent = every(f"!exists({path})" for path in paths)
        holds, fails = self._sides(leaf, merged(paths))
        same, other = some((holds,)), some((fails,))
        if leaf.kind == "regex":
            null = not leaf.parameter.is_text and fits_text(self.hook.text(leaf.given), "null")
            same = every((there, same)) if null else same
        elif self.hook.text(leaf.given) == NULL:
            same = some((every((there, f"{merged(paths)} == null")), same))
            other = every((f"{merged(paths)} != null", other))
        bare = other == fails and fails.partition(" != ")[0] == paths[0]
        surely = other if bare else every((there, other))
        return TriggerReading(same, same, some((absent, other)), surely, absent)

    def _sides(self, leaf: Trigger, place: str) -> tuple[str, str]:
        """
        Equal and unequal: texts, where something else than a text may have this value, and hashes
        of what shows who sends, for rules hold no secrets.
        """
        text = place if leaf.parameter.is_text else f"to_string({place})"
        value = self.hook.text(leaf.given)
        if leaf.kind == "regex":
            pattern = value.replace("'", "\\'")
            return f"matches({text}, '{pattern}')", f"!matches({text}, '{pattern}')"
        if leaf in self.hidden:
            digest = hashlib.sha256(value.encode()).hexdigest()
            text, value = f"sha256({text})", digest
        elif not _is_json(value):
            text = place
        elif value[:1] in "[{":
            self.hook.differs(
                leaf.node,
                "compared with JSON as the sender writes it; webhook sorts its keys",
                "compare the fields one by one",
            )
        return f"{text} == {quoted(value)}", f"{text} != {quoted(value)}"


def _all_of(each: Sequence[TriggerReading]) -> TriggerReading:
    """It fails or lacks by the first that does, where all before it surely hold."""
    holds = every(one.surely_holds for one in each)
    fails = some(part for one in each for part in (one.fails, one.lacks))
    surely_fails: Formula = NEVER
    lacks: Formula = NEVER
    for one in reversed(each):
        surely_fails = some((one.surely_fails, every((one.surely_holds, surely_fails))))
        lacks = some((one.lacks, every((one.surely_holds, lacks))))
    return TriggerReading(holds, holds, fails, surely_fails, lacks)


def _is_json(text: str) -> bool:
    """Whether a number, true, false, a list or an object has this text."""
    with suppress(NotJson):
        return not isinstance(decode_json(text.encode()), str | None)
    return False
