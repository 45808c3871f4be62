"""Rules of the live file, beside what the store knows of them."""

from collections.abc import Mapping

import msgspec

from router.model.job import OPEN, JobState
from router.model.settings import DAY_MS
from router.operator.answers import RuleCounters, RuleRow
from router.rules.ruleset import Ruleset
from router.rules.specs import CompiledRule
from router.store.values import RuleCount

QUIET_DAYS = 30
"""A rule that has not matched for so long is worth a word."""

JobCounts = Mapping[str, Mapping[JobState, int]]


def rule_rows(
    ruleset: Ruleset, jobs: JobCounts, counts: Mapping[str, RuleCount], now: int
) -> tuple[RuleRow, ...]:
    """The rules in file order, then those that are gone but have open jobs."""
    known = [_rule(rule, jobs.get(rule.id, {}), counts.get(rule.id), now) for rule in ruleset.rules]
    present = {rule.id for rule in ruleset.rules}
    orphans = [
        RuleRow(rule, "orphan", _plain(states), counted(counts.get(rule)), None)
        for rule, states in sorted(jobs.items())
        if rule not in present and any(n for state, n in states.items() if state in OPEN)
    ]
    return (*known, *orphans)


def _rule(
    rule: CompiledRule, states: Mapping[JobState, int], count: RuleCount | None, now: int
) -> RuleRow:
    return RuleRow(
        rule=rule.id,
        mode=rule.mode,
        jobs=_plain(states),
        counted=counted(count),
        note=note_of(rule, count, now),
        about=rule.about,
        sources=rule.sources,
        events=rule.events,
        otherwise=rule.otherwise,
        actions=tuple(action.id for action in rule.actions),
    )


def _plain(states: Mapping[JobState, int]) -> dict[str, int]:
    return {str(state): number for state, number in states.items()}


def counted(count: RuleCount | None) -> RuleCounters | None:
    """What was counted of a rule."""
    if count is None:
        return None
    known = msgspec.structs.asdict(count) | {"since": count.counted_since}
    return msgspec.convert(known, RuleCounters)


def note_of(rule: CompiledRule, count: RuleCount | None, now: int) -> str | None:
    """What is worth a look, if anything."""
    if count is None:
        return None
    if rule.mode == "shadow" and count.shadowed:
        return f"shadow: would have matched {count.shadowed}"
    if count.evaluated and count.errored >= count.evaluated:
        return "always errors: `router explain` says why"
    since = count.last_matched_at or count.counted_since
    if since <= now - QUIET_DAYS * DAY_MS:
        matched = "has not" if count.last_matched_at else "never"
        return f"{matched} matched in {QUIET_DAYS} days"
    return None
