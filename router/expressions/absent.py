"""The two outcomes that are not JSON values, absent and failed, and what lazy roots look like."""

from typing import Any, Final

import msgspec

JSON = Any
"""A JSON value: None, bool, int, Decimal, str, list of JSON, or dict of str to JSON."""


class _Absent:
    """There is no such field. It exists once, as ABSENT, and never leaves this package."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final[Any] = _Absent()


class Failed(msgspec.Struct, frozen=True):
    """A condition that could not be decided; `reason` says why, for people."""

    reason: str


class Lazy:
    """An object whose fields are computed when they are read."""

    def take(self, name: str) -> JSON:
        """The field's value or ABSENT. Raises EvaluationError."""
        raise NotImplementedError

    def everything(self) -> dict[str, JSON]:
        """All fields at once."""
        raise NotImplementedError
