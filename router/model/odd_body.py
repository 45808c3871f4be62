"""A body that gives no events."""

from typing import Literal


class OddBodyError(Exception):
    """
    The body gives no events: it is `unparsed`, or more work than a delivery may cost. The text
    says why.
    """

    def __init__(self, state: Literal["unparsed", "too_complex"], reason: str) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason
