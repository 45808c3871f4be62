"""Chance that a test decides."""

import random


class Always(random.Random):
    """The same number each time: 0 draws the least that can be drawn, 1 the most."""

    def __init__(self, drawn: float) -> None:
        super().__init__(1)
        self._drawn = drawn

    def random(self) -> float:
        """What `uniform` is made of."""
        return self._drawn
