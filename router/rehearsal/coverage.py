"""What the trials of a file have tried: each leaf true, false, in error; each action's ends."""

from collections.abc import Iterator
from typing import Any

import msgspec

from router.expressions.trace import LeafVerdict
from router.rehearsal.explained import TrialExplainer
from router.rehearsal.record import End
from router.rehearsal.run import TrialResult
from router.rules.explain import items_of
from router.rules.explain_words import one_line
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledRule

_VERDICTS: tuple[LeafVerdict, ...] = ("true", "false", "error")
_ENDS: tuple[End, ...] = ("success", "retry", "dead")


class LeafSeen(msgspec.Struct):
    """One leaf of a rule's `match` and how often it was true, false and in error."""

    place: str
    text: str
    true: int = 0
    false: int = 0
    error: int = 0


class RuleSeen(msgspec.Struct):
    """One rule: whether events matched it, its leaves, and how its actions' attempts ended."""

    rule: str
    matched: bool = False
    leaves: list[LeafSeen] = []
    actions: dict[str, set[End]] = {}


class Coverage:
    """
    Adds up trials.

    To be covered are: every rule matched, every leaf true and false, every action succeeded (of
    rules in shadow or paused none). Errors, retries and deaths are shown and not needed: not every
    leaf can err.
    """

    def __init__(self, ruleset: Ruleset, explainer: TrialExplainer) -> None:
        self._explainer = explainer
        self.rules = {rule.id: _unseen(rule) for rule in ruleset.rules}

    def add(self, result: TrialResult) -> None:
        """What one trial has tried."""
        for event in self._explainer.events(result.seen.deliveries):
            for name, reading in event.rules.items():
                for seen, leaf in zip(self.rules[name].leaves, reading.leaves, strict=False):
                    if leaf.verdict in _VERDICTS:
                        setattr(seen, leaf.verdict, getattr(seen, leaf.verdict) + 1)
        for name in result.seen.hits:
            self.rules[name].matched = True
        for (rule, action), ends in result.seen.ends.items():
            if action in self.rules[rule].actions:
                self.rules[rule].actions[action] |= ends

    @property
    def counted(self) -> tuple[int, int]:
        """How much of what is to be covered is, and of how much."""
        rules = self.rules.values()
        points = [rule.matched for rule in rules]
        points += [n > 0 for rule in rules for leaf in rule.leaves for n in (leaf.true, leaf.false)]
        points += ["success" in ends for rule in rules for ends in rule.actions.values()]
        return sum(points), len(points)

    @property
    def percent(self) -> float:
        """The share that is covered; all of nothing is all."""
        covered, of = self.counted
        return 100.0 * covered / of if of else 100.0

    def lines(self) -> Iterator[str]:
        """A table for people: what is missing is in capitals."""
        for rule in self.rules.values():
            yield f"{rule.rule}: {'matched' if rule.matched else 'NEVER MATCHED'}"
            for leaf in rule.leaves:
                counts = (("true", leaf.true), ("false", leaf.false))
                seen = [f"{word} {n}" if n else f"NEVER {word.upper()}" for word, n in counts]
                seen += [f"error {leaf.error}"] if leaf.error else []
                yield f"  {leaf.place:<9} {leaf.text:<44}  {', '.join(seen)}"
            for action, ends in rule.actions.items():
                seen = [end for end in _ENDS if end in ends]
                seen += [] if "success" in ends else ["NO SUCCESS"]
                yield f"  {action:<54}  {', '.join(seen)}"
        covered, of = self.counted
        yield f"coverage: {self.percent:.1f} % ({covered} of {of})"

    def as_json(self) -> dict[str, Any]:
        """The same for programs."""
        covered, of = self.counted
        rules = [
            {
                "rule": rule.rule,
                "matched": rule.matched,
                "leaves": [msgspec.structs.asdict(leaf) for leaf in rule.leaves],
                "actions": {
                    name: {end: end in ends for end in _ENDS} for name, ends in rule.actions.items()
                },
            }
            for rule in self.rules.values()
        ]
        return {"percent": round(self.percent, 1), "covered": covered, "of": of, "rules": rules}


def _unseen(rule: CompiledRule) -> RuleSeen:
    leaves = [
        LeafSeen(f"match[{number}]", one_line(leaf.text))
        for number, item in enumerate(items_of(rule, {}))
        for leaf in item.leaves
    ]
    acting = rule.actions if rule.mode == "live" else ()
    return RuleSeen(rule.id, leaves=leaves, actions={action.id: set() for action in acting})
