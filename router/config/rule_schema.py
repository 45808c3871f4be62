"""`rules`, `retries` and `actions` as Structs: one class a mapping, one field a key."""

from typing import Annotated, Literal

import msgspec

from router.config.spelling import (
    ID,
    NAME,
)
from router.config.units import Duration, Fraction
from router.yaml_source import (
    Entry,
    Node,
    OpenEntry,
    SourceText,
    Table,
    doc,
    most,
    named,
    needs,
    none,
    one,
)

SCHEDULE_MAX = 100
"""Delays of a retry policy."""
LIMIT_MAX = 10_000
"""Runs of a group at once."""


@named(
    "this condition",
    shorthand="test",
    rules=(one("not", "any"),),
    example="each condition as one text: \"payload.status == 'paid'\"",
)
class ConditionEntry(Entry):
    """One item of `match`: an expression, or `not` one, or `any` of several."""

    test: Annotated[SourceText | None, doc("An expression; true or the rule does not match.")] = (
        None
    )
    negated: Annotated["ConditionEntry | None", doc("A condition that must be false.")] = (
        msgspec.field(default=None, name="not")
    )
    any_of: Annotated[
        "list[ConditionEntry] | None", doc("Conditions of which one must be true.", min_length=1)
    ] = msgspec.field(default=None, name="any")


@named("this retry policy", shorthand="name", required=("schedule",))
class RetryEntry(Entry):
    """A retry policy; a lone text is the name of one."""

    name: Annotated[
        SourceText | None, doc("The name of a policy: standard, short, none, or one of `retries`.")
    ] = None
    schedule: Annotated[
        list[Duration] | None,
        doc(
            "The delays between attempts; attempts = length + 1.",
            ["5s", "1m", "10m"],
            max_length=SCHEDULE_MAX,
        ),
    ] = None
    jitter: Annotated[Fraction | None, doc("How much each delay varies, from 0 to 1.", 0.2)] = None


@named("this action", rules=(needs("with", "use"),))
class ActionEntry(OpenEntry):
    """One step of a rule: exactly one kind."""

    id: Annotated[
        SourceText | None,
        doc("Unique in its rule; left out: the kind of action.", "erp", pattern=NAME.pattern),
    ] = None
    retry: Annotated[
        RetryEntry | None,
        doc("When to try again: a policy's name, or one written here. Default by kind of action."),
    ] = None
    on_interrupt: Annotated[
        Literal["rerun", "dead"] | None,
        doc("After the router itself died in the middle: rerun (default) or give up."),
    ] = None
    use: Annotated[
        SourceText | None, doc("The name of a shared action to take the rest from.", "tell_desk")
    ] = None
    given: Annotated[
        Table[Node] | None,
        doc(
            "Values for a shared action, read there as with.NAME.",
            {"text": "Order {{ payload.name }}"},
        ),
    ] = msgspec.field(default=None, name="with")
    after: Annotated[
        Node | None,
        doc(
            "Actions of this rule to wait for: an id, a list, or {ID: dead} for a failure.",
            "erp",
            {"erp": "dead"},
        ),
    ] = None
    when: Annotated[
        SourceText | None,
        doc(
            "An expression; evaluated as the action starts, false cancels it.",
            "results.erp.status == 201",
        ),
    ] = None


@named("this shared action", rules=(none("id", "use", "after", "when"),))
class SharedActionEntry(ActionEntry):
    """One entry of `actions`: a step that rules use by its name; `with` are its defaults."""


@named("'concurrency'", required=("group",))
class ConcurrencyEntry(Entry):
    """A rule's `concurrency`: runs that give `group` the same value take turns."""

    group: Annotated[
        SourceText | None,
        doc(
            "An expression; runs with the same value are one group.", "payload.repository.full_name"
        ),
    ] = None
    limit: Annotated[int | None, doc("Runs of a group at once. Default 1.", ge=1, le=LIMIT_MAX)] = (
        None
    )
    on_busy: Annotated[
        Literal["queue", "latest", "drop"] | None,
        doc("What a further run does: queue (default), latest or drop."),
    ] = None
    on_dead: Annotated[
        Literal["continue", "halt"] | None,
        doc("Whether a group goes on after a dead job. Default continue."),
    ] = None


@named(
    "this rule",
    required=("id", "from", "actions"),
    rules=(most("otherwise", "match", value=True),),
)
class RuleEntry(Entry):
    """One entry of `rules`."""

    id: Annotated[
        SourceText | None,
        doc(
            "Unique and stable: it names jobs, counters and tests.",
            "paid-orders-to-erp",
            pattern=ID.pattern,
        ),
    ] = None
    about: Annotated[
        SourceText | None, doc("What the rule is for.", "Large paid orders reach the ERP")
    ] = None
    mode: Annotated[
        Literal["live", "shadow", "paused"] | None,
        doc("live (default), shadow: counted, never acts, or paused: its jobs wait."),
    ] = None
    per: Annotated[
        Literal["event", "delivery"] | None,
        doc("event (default), or delivery: one run for a whole batch."),
    ] = None
    sources: Annotated[
        list[SourceText] | None, doc("An endpoint, a list of them, or all.", "shop", min_length=1)
    ] = msgspec.field(default=None, name="from")
    events: Annotated[
        list[SourceText] | None,
        doc(
            "Names or patterns: orders/paid, orders/*, push. Left out: every event.",
            "orders/paid",
            ["orders/*"],
            min_length=1,
        ),
    ] = None
    match: Annotated[
        list[ConditionEntry] | None,
        doc(
            "One condition, or a list of which all must hold.",
            "payload.test == false",
            [{"not": "payload.test"}],
            min_length=1,
        ),
    ] = None
    otherwise: Annotated[
        bool | None, doc("Only when no live rule that names this endpoint matched.")
    ] = None
    actions: Annotated[
        list[ActionEntry] | None,
        doc(
            "What happens: one action, or a list.",
            {"http": "https://erp.example.net/orders"},
            {"log": "{{ event }}"},
            min_length=1,
        ),
    ] = None
    retry: Annotated[RetryEntry | None, doc("Default retry policy of the rule's actions.")] = None
    concurrency: Annotated[ConcurrencyEntry | None, doc("Runs of one group take turns.")] = None
