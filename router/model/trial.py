"""One item of `tests:`: what is sent, how the world answers, what must come of it."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from router.model.delivery import JSON

ActionKey = tuple[str, str]
"""A rule's id and an action's id."""


class Sending(msgspec.Struct, frozen=True):
    """
    Deliveries to send, really signed: `repeat` of them, each with an id of its own and
    `every_ms` apart, and each sent twice with the same bytes when `redeliver` is set.

    `payload` is one event, or for a sender of batches also a list of them; what `set` has put into
    it, by path, also stands over the id that is made; an `exact` one keeps its own ids. `headers`
    are set over those of the sender, in lower case; None leaves one out. `path` is one of the
    endpoint's addresses, None: the usual one.
    """

    endpoint: str
    event: str
    payload: JSON
    path: str | None = None
    set: tuple[tuple[str, JSON], ...] = ()
    exact: bool = False
    headers: Mapping[str, str | None] = {}
    tamper: Literal["signature", "body"] | None = None
    redeliver: bool = False
    repeat: int = 1
    every_ms: int = 0

    @property
    def requests(self) -> int:
        """How many requests it makes."""
        return self.repeat * (2 if self.redeliver else 1)


class RepeatStep(msgspec.Struct, frozen=True):
    """The same bytes as the request before, `repeat` times more, `every_ms` apart."""

    repeat: int = 1
    every_ms: int = 0

    @property
    def requests(self) -> int:
        """How many requests it makes."""
        return self.repeat


class Advance(msgspec.Struct, frozen=True):
    """Time passes: what is due meanwhile runs, each at its own time."""

    by_ms: int
    requests: int = 0


class HandshakeStep(msgspec.Struct, frozen=True):
    """What the endpoint's sender asks before it sends, `requests` questions."""

    endpoint: str
    requests: int


Step = Sending | RepeatStep | Advance | HandshakeStep


class SimulatedAnswer(msgspec.Struct, frozen=True):
    """
    What an action's attempt meets, success if nothing is said: `reply` in the terms of its kind (a
    status, an exit code, what a plugin raises), or no answer at all. `after_s` is what the target
    (Retry-After) or the plugin (`Retry(after=…)`) asks for. `contents` are further parts of the
    answer, by the keys of its kind.
    """

    reply: int | str | None = None
    error: Literal["network", "timeout"] | None = None
    after_s: float | None = None
    contents: Mapping[str, Any] = {}


class ExpectedValue(msgspec.Struct, frozen=True):
    """
    What stands in place of an expected value: `equals` this and nothing more, `contains` it,
    `matches` this pattern, is there at all (`any`) or is not (`absent`).
    """

    how: Literal["equals", "contains", "matches", "any", "absent"]
    value: Any = None


class ExpectedCall(msgspec.Struct, frozen=True):
    """
    What every call of an action must look like; `fields` holds only what the file names, under
    the file's own keys, with matchers in it. `times` None: at least once. `delays_ms` are those
    between the attempts of each job; one alone stands for all.
    """

    times: int | None
    fields: Mapping[str, Any]
    line: int
    delays_ms: tuple[int, ...] | int | None = None


class ExpectedAnswer(msgspec.Struct, frozen=True):
    """What the sender must be answered; what is None is not judged."""

    status: int | None = None
    headers: Mapping[str, Any] | None = None
    json: Any = None
    text: Any = None


class Snapshot(msgspec.Struct, frozen=True):
    """What was sent when somebody last looked, as `snapshot_of` gives it; None: nobody has yet."""

    sent: JSON = None


class Expected(msgspec.Struct, frozen=True):
    """
    What must come of a trial; None: not judged. `status` and `answers`: one for all, or one for
    each. `order`: the first call of each of these comes before that of the next.

    `because` names, for rules that must not match, what stood first in the way: an item of
    `match` by its number (`match[0]`), the text of one or of a leaf of one, or a part of the
    rule's head (`skipped: event`).
    """

    status: tuple[int, ...] | None = None
    matched: frozenset[str] | None = None
    shadow: frozenset[str] | None = None
    because: Mapping[str, str] = {}
    dead: frozenset[ActionKey] | None = None
    cancelled: frozenset[ActionKey] | None = None
    calls: Mapping[ActionKey, ExpectedCall] = {}
    answers: tuple[ExpectedAnswer, ...] = ()
    order: tuple[ActionKey, ...] = ()
    snapshot: Snapshot | None = None


class Trial(msgspec.Struct, frozen=True):
    """
    One test; `file` and `line` are where it stands, `clock` Unix milliseconds. `real`: its shell
    and python actions are to run.
    """

    name: str
    file: str
    line: int
    sends: tuple[Step, ...]
    replies: Mapping[ActionKey, tuple[SimulatedAnswer, ...]]
    expect: Expected
    clock: int | None = None
    real: bool = False
