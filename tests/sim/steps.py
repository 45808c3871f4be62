"""The named steps of a delivery's life at which a process may die; a history of what happened."""

from collections import Counter
from typing import NamedTuple

from router.model.job import Attempt, Job, Outcome

VERBS = (
    "accept", "lease", "settle", "results", "recover", "revive", "cancel", "hold", "regroup",
    "begin_replay", "replay_step",
)  # fmt: skip
STEPS = (
    *(f"{side} {verb}" for verb in VERBS for side in ("before", "after")),
    "before hand-over",
    "after hand-over",
    "before action",
    "in action",
    "after action",
)
"""
Before a verb: it never reaches the store. After it: it is committed, and nobody hears of it. An
attempt is recorded by the lease, or by the accept that hands a job over.
"""


class Began(NamedTuple):
    """An action that starts. `key` is the idempotency key it sends."""

    at: int
    boot: str
    attempt: int
    lease: str
    key: str


class Retried(NamedTuple):
    """A retry as it was stored: after how much, with which delays charged before, for what."""

    job: str
    delay_ms: int
    charged: int
    outcome: Outcome | None


class History:
    """What a life under one seed showed; `wrong` is what contradicted a promise at once."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.begun: dict[str, list[Began]] = {}
        self.ends: dict[str, list[str]] = {}
        self.revived: Counter[str] = Counter()
        self.reclaimed: Counter[str] = Counter()
        self.given_back: Counter[str] = Counter()
        self.retries: list[Retried] = []
        self.crashes: list[str] = []
        self.met: Counter[str] = Counter()
        self.due: dict[str, int] = {}
        self.paces: dict[tuple[str, str], list[int]] = {}
        self.jobs: dict[str, Job] = {}
        self.attempts: dict[str, list[Attempt]] = {}
        self.bodies: dict[str, bytes] = {}
        self.outcomes: dict[tuple[str, int], Outcome] = {}
        self.made_by: dict[str, str] = {}
        self.unsure = 0

    def broken(self, number: int, text: str) -> None:
        """A promise does not hold."""
        self.wrong.append(f"I{number}: {text}")

    def put_to_the_test(self, number: int) -> None:
        """A promise had its chance to be broken."""
        self.met[f"I{number}"] += 1
