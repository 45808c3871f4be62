"""What upkeep may remove, and what it adds up of each rule. Times are Unix milliseconds."""

import msgspec


class RuleCount(msgspec.Struct, frozen=True):
    """
    What a rule did since `counted_since`: events it was evaluated for, matched (`shadowed`: in
    shadow) and erred on. `last_matched_at` counts shadow matches too.
    """

    rule: str
    evaluated: int
    matched: int
    errored: int
    shadowed: int
    counted_since: int
    last_matched_at: int | None = None


class Pruned(msgspec.Struct, frozen=True):
    """What one step of upkeep removed."""

    deliveries: int
    keys: int
    generations: int


class Retain(msgspec.Struct, frozen=True):
    """
    What upkeep may remove: deliveries whose jobs have all ended before these times.

    A delivery goes when the longest of the times that apply to its jobs' states has passed
    (`cancelled` as `succeeded`; a delivery without jobs as `unmatched`). `finished_before`, when
    set, also removes any finished delivery received before it (the size cap), oldest first.
    Lines of the audit, and replays, go when they are older than `audit_before`.
    """

    succeeded_before: int
    unmatched_before: int
    dead_before: int
    finished_before: int | None = None
    limit: int = 1000
    audit_before: int = 0
