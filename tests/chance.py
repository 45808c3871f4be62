"""Chance that a test decides."""

import random

from hypothesis import settings

QUICK = 4


def examples(count: int) -> int:
    """So many under the profile `ci`; a part of them in a run that somebody waits for."""
    return count if settings.get_current_profile_name() == "ci" else count // QUICK


class Always(random.Random):
    """The same number each time: 0 draws the least that can be drawn, 1 the most."""

    def __init__(self, drawn: float) -> None:
        super().__init__(1)
        self._drawn = drawn

    def random(self) -> float:
        """What `uniform` is made of."""
        return self._drawn
