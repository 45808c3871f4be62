"""What an observer is given: small frozen values, made where something happens."""

from collections.abc import Callable

import msgspec


class Observed(msgspec.Struct, frozen=True):
    """Something that happened."""


Observer = Callable[[Observed], None]
"""Called in passing with each value: it must be quick, and raises nothing."""


def unobserved(_happened: Observed) -> None:
    """The observer of those who have none."""
