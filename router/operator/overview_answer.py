"""What the overview answers: everything at one glance, as values."""

from typing import Literal

import msgspec

from router.model.target import TargetState
from router.operator.node_rows import NodeRow

AttentionKind = Literal[
    "server", "held", "clock", "reload", "store", "secret", "target", "dead", "late", "node",
    "endpoint", "refused", "check",
]  # fmt: skip
"""What is to be looked after: each has a page and a command that look closer."""


class Attention(msgspec.Struct, frozen=True):
    """
    Something that needs a person: what it is in words, and the command that looks closer. `name` is
    the endpoint, target or node that it is about, if it is about one.
    """

    kind: AttentionKind
    text: str
    command: str
    name: str | None = None


class Chart(msgspec.Struct, frozen=True):
    """
    What happened in equal spans of time of `step_s` seconds, the oldest first; the last one is not
    over. `begins_at` is when the first one began. `failed` are attempts, `dead` jobs.
    """

    begins_at: int
    step_s: int
    deliveries: tuple[int, ...]
    refused: tuple[int, ...]
    failed: tuple[int, ...]
    dead: tuple[int, ...]


class Sums(msgspec.Struct, frozen=True):
    """How many in the last hour, and in the last day."""

    hour: int = 0
    day: int = 0


class EndpointActivity(msgspec.Struct, frozen=True):
    """
    What came to an endpoint: genuine deliveries (duplicates and handshakes too) and refused
    requests; `hourly` and `hourly_refused` are these of the last 24 hours, the oldest first.

    `last_at` is about when the last delivery came, null if none was ever counted. `silent`: nothing
    came for longer than its `expect_every`. `provider` is null where the file has no such endpoint.
    """

    name: str
    provider: str | None
    deliveries: Sums
    refused: Sums
    hourly: tuple[int, ...]
    hourly_refused: tuple[int, ...]
    last_at: int | None
    silent: bool = False


class TargetActivity(msgspec.Struct, frozen=True):
    """
    What was called, and how that went: attempts, those of them that failed, and those with which
    their job died; `hourly` and `hourly_failed` are those of the last 24 hours, the oldest first.

    `mean_ms` and `max_ms` are how long attempts of the last hour took, null if there were none.
    `waiting` are its jobs that have not ended and do not run, `standing_dead` its dead letters,
    `due_at` when the first of those that could run is due.
    """

    name: str
    state: TargetState
    attempts: Sums
    failed: Sums
    dead: Sums
    hourly: tuple[int, ...]
    hourly_failed: tuple[int, ...]
    mean_ms: int | None
    max_ms: int | None
    waiting: int
    standing_dead: int
    due_at: int | None


class RefusedSums(msgspec.Struct, frozen=True):
    """Requests refused for a reason; `endpoint` is null where they named none of ours."""

    endpoint: str | None
    reason: str
    refused: Sums


class WaitingWork(msgspec.Struct, frozen=True):
    """Jobs that have not ended, by state; the one that is due the longest, and its target."""

    states: dict[str, int]
    due_at: int | None
    target: str | None


class DeadLetters(msgspec.Struct, frozen=True):
    """How many jobs are dead, and the one of the newest delivery among them: its id and end."""

    count: int
    newest: str | None
    newest_at: int | None


class StoreFill(msgspec.Struct, frozen=True):
    """
    Bytes that the store holds, of `max_size` that it may; at 95 % of it deliveries are refused.

    `grows_by` is how many bytes a day came lately, null while nobody knows, and `full_at` when
    deliveries are refused if that goes on, null if it does not grow.
    """

    bytes: int
    max_size: int
    percent: int
    grows_by: int | None
    full_at: int | None


class RulesInForce(msgspec.Struct, frozen=True):
    """
    The rules that decide, how many they are, and when they came in force. `error` is why the last
    reload failed, at `failed_at`; null: it did not. `findings` counts what `router check`
    finds in them.
    """

    generation: str
    rules: int
    in_force_at: int | None
    error: str | None
    failed_at: int | None
    findings: int = 0


class Overview(msgspec.Struct, frozen=True):
    """
    Everything at one glance, as it was `at`; `attention` is what needs a person, the most urgent
    first. Of endpoints and targets a hundred at most: targets in trouble and what is busiest.
    `nodes` are empty where one router alone has the store.
    """

    at: int
    attention: tuple[Attention, ...]
    hour: Chart
    day: Chart
    endpoints: tuple[EndpointActivity, ...]
    targets: tuple[TargetActivity, ...]
    refusals: tuple[RefusedSums, ...]
    waiting: WaitingWork
    dead: DeadLetters
    nodes: tuple[NodeRow, ...]
    store: StoreFill
    rules: RulesInForce

    @property
    def slowest(self) -> tuple[TargetActivity, ...]:
        """The targets that took the longest on average in the last hour, the slowest first."""
        timed = [target for target in self.targets if target.mean_ms is not None]
        return tuple(sorted(timed, key=lambda target: -(target.mean_ms or 0)))
