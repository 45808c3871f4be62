"""Rules and their actions, compiled."""

from typing import Literal

import msgspec

from router.expressions import Expression
from router.kinds.templates import JsonSpec, texts_in
from router.model.job import ActionKind, Group, Predecessor
from router.model.retry import RetryPolicy
from router.model.settings import OWN


class CompiledAction(msgspec.Struct, frozen=True):
    """
    One action of a rule. `target` is the name its limits belong to: a target's name, the
    `scheme://host:port` of a bare URL, or `rule/action`. `given` are the parameters of a shared
    action, as JsonSpecs: the root `with` of its own templates. `after` are the actions of the same
    rule that it waits for; `when` is a verdict read as the job starts.
    """

    id: str
    kind: ActionKind
    spec: msgspec.Struct
    target: str
    retry: RetryPolicy
    on_interrupt: Literal["rerun", "dead"] = "rerun"
    after: tuple[Predecessor, ...] = ()
    when: Expression | None = None
    given: tuple[tuple[str, JsonSpec], ...] = ()


class Concurrency(msgspec.Struct, frozen=True):
    """Which runs of a rule take turns: those for which `value` gives the same."""

    value: Expression
    group: Group


class Condition(msgspec.Struct, frozen=True):
    """
    One item of `match`: `test` an expression, or `negate` one condition, or `any_of` several.

    `source` is the text shown by explain.
    """

    source: str
    test: Expression | None = None
    negate: "Condition | None" = None
    any_of: "tuple[Condition, ...] | None" = None


class CompiledRule(msgspec.Struct, frozen=True):
    """
    One rule. `sources` are endpoint names, None for `all`; `events` are globs or `name.action`,
    None for every event; `match` items must all hold.
    """

    id: str
    about: str
    mode: Literal["live", "shadow", "paused"]
    sources: tuple[str, ...] | None
    events: tuple[str, ...] | None
    match: tuple[Condition, ...]
    otherwise: bool
    actions: tuple[CompiledAction, ...]
    per_delivery: bool = False
    concurrency: "Concurrency | None" = None

    def takes(self, endpoint: str) -> bool:
        """Whether it is for this endpoint; `all` are those that senders reach."""
        return endpoint != OWN if self.sources is None else endpoint in self.sources


def results_read(action: CompiledAction) -> frozenset[str]:
    """The actions whose results this one reads, in `when` or in what it sends."""
    parts = texts_in(action.when, action.spec, action.given)
    return frozenset(field for part in parts for root, field in part.uses if root == "results")


def roots_read(action: CompiledAction) -> frozenset[str]:
    """The roots that this one reads, named or not, in `when` or in what it sends."""
    parts = texts_in(action.when, action.spec, action.given)
    return frozenset(root for part in parts for root in part.reads)
