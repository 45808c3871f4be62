"""
Every exception of the router, and the Diagnostic value.

An exception exists only where some caller acts differently on it:

    RouterError
    ├── ConfigError          the rules file is wrong: show every diagnostic, exit 1
    ├── ExpressionError      one expression or template is wrong: config turns it into a diagnostic
    ├── EvaluationError      failed on this event: no match, or the job is dead
    ├── RenderError          an action's parameters cannot be built from this event: the job is dead
    ├── SecretMissing        a secret is empty or absent: refuse to start
    ├── StoreUnavailable     ours, outcome perhaps unknown: 503, the sender sends again
    ├── StoreRefused         the store cannot be opened: refuse to start
    │   └── StoreAbsent      there is none yet: a reader answers as from an empty one
    ├── NotFound             an operator named something that is not there: exit 1
    │   └── AmbiguousId        or several things at once: more of the id is needed
    ├── Forbidden            the caller's token may not do that: exit 1
    ├── ConditionBusy        an operator's condition waits for others: ask again later
    ├── ConditionEnded       an operator's condition took too long, or too much memory
    └── UsageError           a command's words are wrong: exit 2
    EgressRefused            an address that may not be called (an OSError, to survive the client)
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Literal

import msgspec

Severity = Literal["error", "warning"]

NO_DESCRIPTOR = frozenset({errno.EMFILE, errno.ENFILE})
"""Numbers of an OSError that say nothing about the file: we have no descriptor left for it."""


class Fix(msgspec.Struct, frozen=True):
    """
    The one right answer to a finding: `text` is to be written in place of what stands in a line of
    its file, from `column` to before `end_column`.
    """

    line: int
    column: int
    end_column: int
    text: str


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """
    One thing to say about a rules file.

    `line` and `column` start at 1 and count characters; `width` is how many characters the caret
    underlines. `hint` is the way to mend it ("did you mean 'when'?"), `fix` the same as a change
    if only one is right, `source` the line itself, `rule` the rule that it stands in, if any.
    """

    code: str
    message: str
    file: str = ""
    line: int = 1
    column: int = 1
    width: int = 1
    severity: Severity = "error"
    hint: str | None = None
    source: str | None = None
    fix: Fix | None = None
    rule: str | None = None


class RouterError(Exception):
    """Whatever the router raises on purpose. `word` names the class where errors are data."""

    word: ClassVar[str] = "failed"


class ConfigError(RouterError):
    """The rules file is wrong; `diagnostics` holds everything found in one run."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(f"{len(diagnostics)} problem(s) in the rules file")
        self.diagnostics = diagnostics


class ExpressionError(RouterError):
    """An expression or template is wrong at characters `start` to `end` (offsets from 0)."""

    def __init__(
        self, code: str, message: str, start: int, end: int, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end
        self.hint = hint


class EvaluationError(RouterError):
    """An expression could not be evaluated on this event; the text says why."""


class RenderError(RouterError):
    """An action's parameters cannot be rendered; `place` names the parameter (`http.path`)."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(f"{place}: {message}")
        self.place = place


class SecretMissing(RouterError):
    """A named secret is not set or empty; the text names the variable or file, never a value."""


class StoreUnavailable(RouterError):
    """The store could not commit. The outcome is unknown; answer 503 and let the sender retry."""

    word = "store_unavailable"


class StoreRefused(RouterError):
    """The store cannot be opened: another server, newer schema, damage; the text says which."""

    word = "store_refused"


class StoreAbsent(StoreRefused):
    """There is no store yet: nothing has been received."""


class NotFound(RouterError):
    """Nothing has this name or id."""

    word = "not_found"


class AmbiguousId(NotFound):
    """The beginning of an id fits several things, or is too short to tell."""

    word = "ambiguous"


class Forbidden(RouterError):
    """The caller may not do that; the text says who, and what."""

    word = "forbidden"


class ConditionBusy(RouterError):
    """Others are evaluated before this condition, for longer than it waits."""

    word = "condition_busy"


class ConditionEnded(RouterError):
    """Evaluating a condition took too long, or too much memory; the text says how far it came."""

    word = "condition_ended"


class CannotListen(RouterError):
    """An address is in use, not permitted, or not of this machine; the text names it."""


class UsageError(RouterError):
    """A command was called with words that do not fit."""

    word = "usage"


class EgressRefused(OSError):
    """
    A connection that the egress rules do not allow: `host` and `why` are a sentence. `lasting`: the
    host itself is refused, not what a resolver says of it.
    """

    def __init__(self, host: str, why: str, *, lasting: bool) -> None:
        super().__init__(f"{host} {why}")
        self.host, self.why, self.lasting = host, why, lasting


BY_WORD = {e.word: e for e in (StoreUnavailable, StoreRefused, NotFound, AmbiguousId, UsageError)}
"""The errors that an operator's call can end with, as they cross the wire."""


@contextmanager
def os_errors_refused(what: str, fix: str = "") -> Iterator[None]:
    """An OSError becomes a UsageError: `cannot read rules.yaml: Permission denied`."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{what}: {error.strerror or error}{fix}") from None
