"""Rules and their actions, compiled."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from router.expressions import Expression, Template
from router.kinds.templates import JsonSpec
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
    uses = {use for part in _written(action) for use in part.uses}
    return frozenset(field for root, field in uses if root == "results")


def roots_read(action: CompiledAction) -> frozenset[str]:
    """The roots that this one reads, in `when` or in what it sends."""
    return frozenset(root for part in _written(action) for root in part.roots)


def _written(action: CompiledAction) -> Iterator[Expression | Template]:
    pending: list[Any] = [action.when, action.spec, action.given]
    while pending:
        part = pending.pop()
        if isinstance(part, Template | Expression):
            yield part
        elif isinstance(part, msgspec.Struct):
            pending += msgspec.structs.astuple(part)
        elif isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, list | tuple):
            pending += part
