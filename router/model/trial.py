"""One item of `tests:`: what is sent, how the world answers, what must come of it."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from router.model.delivery import JSON

ActionKey = tuple[str, str]
"""A rule's id and an action's id."""


class Sending(msgspec.Struct, frozen=True):
    """
    Deliveries to send, really signed: `repeat` of them, each with an id of its own, and each
    sent twice with the same bytes when `redeliver` is set.

    `payload` is one event, or for a sender of batches also a list of them.
    """

    endpoint: str
    event: str
    payload: JSON
    tamper: Literal["signature", "body"] | None = None
    redeliver: bool = False
    repeat: int = 1


class Answer(msgspec.Struct, frozen=True):
    """
    What an action's attempt meets, success if nothing is said. `after_s` is what the target
    (Retry-After) or the plugin (`Retry(after=…)`) asks for.
    """

    status: int | None = None
    exit: int | None = None
    error: Literal["network", "timeout"] | None = None
    raises: Literal["Retry", "Fail"] | None = None
    after_s: float | None = None


class ExpectedCall(msgspec.Struct, frozen=True):
    """
    What every call of an action must look like; `fields` holds only what the file names, under
    the file's own keys. `times` None: at least once.
    """

    times: int | None
    fields: Mapping[str, Any]
    line: int


class Expected(msgspec.Struct, frozen=True):
    """What must come of a trial; None: not judged. `status`: one for all, or one for each."""

    status: tuple[int, ...] | None = None
    matched: frozenset[str] | None = None
    shadow: frozenset[str] | None = None
    dead: frozenset[ActionKey] | None = None
    calls: Mapping[ActionKey, ExpectedCall] = {}


class Trial(msgspec.Struct, frozen=True):
    """One test of the rules file; `line` is where it stands, `clock` Unix milliseconds."""

    name: str
    line: int
    sends: tuple[Sending, ...]
    replies: Mapping[ActionKey, tuple[Answer, ...]]
    expect: Expected
    clock: int | None = None
