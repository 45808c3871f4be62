"""
A trigger rule as a condition with the same verdict.

For webhook a rule is true or false, and beside this it may lack a parameter. One that does is
false, but `not` makes it true, and lacking all the same: true for `or` and as the whole rule, false
within `and`. So each rule has four readings: `holds` and `fails`, and both `surely`, with nothing
lacking.
"""

import hashlib
from collections.abc import Callable

from router.cli.importing.formulas import NEVER, Formula, every, some
from router.cli.importing.hooks_file import Hook
from router.cli.importing.proofs import ImportedSender, proved_by
from router.cli.importing.request_values import (
    RequestValues,
    absent,
    merged,
    quoted,
    there,
)
from router.cli.importing.trigger_rule import (
    All,
    AnyOf,
    Equals,
    Fits,
    Not,
    Trigger,
    fits_text,
)
from router.expressions import NotJson, decode_json

NULL = "<nil>"
"""Null as webhook's text of it."""


class Conditions:
    """The conditions of one hook; `names` are those of its sender's secrets."""

    def __init__(
        self, hook: Hook, values: RequestValues, sender: ImportedSender, names: dict[Trigger, str]
    ) -> None:
        self._hook, self._values = hook, values
        self._proved, self._hidden = proved_by(sender, names), sender.hidden

    def holds(self, trigger: Trigger) -> Formula:
        """Whether webhook finds it true."""
        if (proof := self._proved(trigger)) is not None:
            return proof
        if isinstance(trigger, All):
            return every(map(self._surely_holds, trigger.rules))
        if isinstance(trigger, AnyOf):
            return some(map(self.holds, trigger.rules))
        if isinstance(trigger, Not):
            return self._fails(trigger.rule)
        if isinstance(trigger, Equals):
            return self._equal(trigger)
        return self._fit(trigger) if isinstance(trigger, Fits) else NEVER

    def _surely_holds(self, trigger: Trigger) -> Formula:
        return self._surely_fails(trigger.rule) if isinstance(trigger, Not) else self.holds(trigger)

    def _fails(self, trigger: Trigger) -> Formula:
        if isinstance(trigger, All):
            return some(
                some((self.holds(rule.rule), self._lacks(rule.rule)))
                if isinstance(rule, Not)
                else self._fails(rule)
                for rule in trigger.rules
            )
        if isinstance(trigger, AnyOf):
            return every(map(self._fails, trigger.rules))
        if isinstance(trigger, Not):
            return self.holds(trigger.rule)
        if isinstance(trigger, Equals | Fits):
            return some((self._lacks(trigger), self._differs(trigger)))
        return NEVER

    def _surely_fails(self, trigger: Trigger) -> Formula:
        if isinstance(trigger, All):
            return self._in_turn(trigger.rules, self._surely_fails)
        if isinstance(trigger, AnyOf):
            return self._fails(trigger)
        if isinstance(trigger, Not):
            return self._surely_holds(trigger.rule)
        if isinstance(trigger, Equals | Fits):
            paths, differs = self._values.paths(trigger.parameter), self._differs(trigger)
            # A field that is not there is neither equal nor unequal; a function's result is there.
            known = isinstance(differs, str) and [differs.partition(" != ")[0]] == paths
            return differs if known else every((there(paths), differs))
        return NEVER

    def _lacks(self, trigger: Trigger) -> Formula:
        if isinstance(trigger, All):
            return self._in_turn(trigger.rules, self._lacks)
        if isinstance(trigger, Not):
            return self._lacks(trigger.rule)
        if isinstance(trigger, Equals | Fits):
            return absent(self._values.paths(trigger.parameter))
        return NEVER

    def _in_turn(self, rules: tuple[Trigger, ...], found: Callable[[Trigger], Formula]) -> Formula:
        """Whether this is found of one of the rules, and all before it surely hold."""
        if not rules:
            return NEVER
        later = every((self._surely_holds(rules[0]), self._in_turn(rules[1:], found)))
        return some((found(rules[0]), later))

    def _equal(self, leaf: Equals) -> Formula:
        if not (paths := self._values.paths(leaf.parameter)):
            return NEVER
        same = " == ".join(self._compared(leaf, paths))
        if self._hook.text(leaf.value) == NULL:
            return some((every((there(paths), f"{merged(paths)} == null")), same))
        return same

    def _differs(self, leaf: Equals | Fits) -> Formula:
        """Whether a value that is there is another."""
        if not (paths := self._values.paths(leaf.parameter)):
            return NEVER
        if isinstance(leaf, Fits):
            return "!" + self._matches(leaf, paths)
        other = " != ".join(self._compared(leaf, paths))
        if self._hook.text(leaf.value) == NULL:
            return every((f"{merged(paths)} != null", other))
        return other

    def _compared(self, leaf: Equals, paths: list[str]) -> tuple[str, str]:
        """
        Both sides: texts, where something else than a text may have this value, and hashes of what
        shows who sends, for rules hold no secrets.
        """
        value, place = self._hook.text(leaf.value), merged(paths)
        if leaf in self._hidden:
            digest = hashlib.sha256(value.encode()).hexdigest()
            return f"sha256({self._as_text(leaf, place)})", quoted(digest)
        if not _is_json(value):
            return place, quoted(value)
        if value[:1] in "[{":
            self._hook.differs(
                leaf.node,
                "compared with JSON as the sender writes it; webhook sorts its keys",
                "compare the fields one by one",
            )
        return self._as_text(leaf, place), quoted(value)

    def _as_text(self, leaf: Equals | Fits, place: str) -> str:
        return place if leaf.parameter.source in ("header", "url") else f"to_string({place})"

    def _fit(self, leaf: Fits) -> Formula:
        if not (paths := self._values.paths(leaf.parameter)):
            return NEVER
        found = self._matches(leaf, paths)
        if leaf.parameter.source in ("header", "url") or not fits_text(leaf.pattern, "null"):
            return found
        return every((there(paths), found))  # as a text, what is not there is `null`

    def _matches(self, leaf: Fits, paths: list[str]) -> str:
        pattern = "'" + leaf.pattern.replace("'", "\\'") + "'"
        return f"matches({self._as_text(leaf, merged(paths))}, {pattern})"


def _is_json(text: str) -> bool:
    """Whether a number, true, false, a list or an object has this text."""
    try:
        found = decode_json(text.encode())
    except NotJson:
        return False
    return found is not None and not isinstance(found, str)
